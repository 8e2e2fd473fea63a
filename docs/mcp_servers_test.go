package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"towpath/internal/settings"
)

// TestServersOfTheGuideAreSettings reads the guide's settings as the program
// does.
func TestServersOfTheGuideAreSettings(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?ms)^```toml\n(.*?)^```").FindAllStringSubmatch(read(t, "mcp-servers.md"), -1)
	var all strings.Builder
	for _, b := range blocks {
		all.WriteString(b[1])
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, settings.UserFile), []byte(all.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := settings.Load(settings.Options{UserDir: dir, Environ: []string{"HOME=" + dir, "TICKETS_TOKEN=a", "CRM_KEY=b"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Servers) != 5 || s.Servers["files"].Command != "npx" || !s.Servers["clock"].Optional || s.Servers["tickets"].Env["TICKETS_TOKEN"].Reveal() != "a" {
		t.Errorf("servers %+v", s.Servers)
	}
	if got := s.Servers["crm"].Unset; len(got) != 1 || got[0] != "CRM_TOKEN" {
		t.Errorf("not set: %q", got)
	}
	if got := s.Servers["wiki"].TokenFile; got != filepath.Join(dir, ".config", "wiki-token") {
		t.Errorf("the token lies in %s", got)
	}
}
