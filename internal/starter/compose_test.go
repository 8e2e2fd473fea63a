package starter

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func chance(b byte) *bytes.Reader { return bytes.NewReader(bytes.Repeat([]byte{b}, 32)) }

// values are what stands behind a key, and the items of a list under it.
func values(t *testing.T, file, key string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	under := false
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		item, isItem := strings.CutPrefix(line, "- ")
		value, isKey := strings.CutPrefix(line, key+":")
		switch {
		case isItem && under:
			out = append(out, strings.Trim(item, `"`))
		case isKey && value != "":
			out = append(out, strings.Trim(value, ` "`))
		default:
			under = isKey
		}
	}
	return out
}

func TestServicesListenOnThisMachineOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	got, err := WriteServices(dir, chance(7))
	want := Written{Made: []string{"services/compose.yaml", "services/searxng/settings.yml", "services/.gitignore"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatal(err, diff)
	}
	compose := filepath.Join(dir, filepath.FromSlash(ComposeFile))
	if diff := cmp.Diff([]string{"127.0.0.1:8090:8080", "127.0.0.1:9500:9377"}, values(t, compose, "ports")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"./searxng:/etc/searxng"}, values(t, compose, "volumes")); diff != "" {
		t.Error(diff)
	}
}

func TestSearXNGIsSetToAnswerPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := WriteServices(dir, chance(0xab)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "services", "searxng", "settings.yml")
	for key, want := range map[string][]string{
		"formats":    {"html", "json"},
		"limiter":    {"false"},
		"secret_key": {hex.EncodeToString(bytes.Repeat([]byte{0xab}, 32))},
	} {
		if diff := cmp.Diff(want, values(t, file, key)); diff != "" {
			t.Error(key, diff)
		}
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o644 {
		t.Errorf("the container could not read it: %v %v", info.Mode(), err)
	}
	ignore, err := os.ReadFile(filepath.Join(dir, "services", ".gitignore"))
	if err != nil || !strings.Contains(string(ignore), "\n/searxng/\n") {
		t.Errorf("the key would get into git: %q %v", ignore, err)
	}
}

func TestServicesAreNeverWrittenOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := WriteServices(dir, chance(1)); err != nil {
		t.Fatal(err)
	}
	compose := filepath.Join(dir, "services", "compose.yaml")
	if err := os.WriteFile(compose, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(dir, "services", "searxng", "settings.yml")
	if err := os.Remove(settings); err != nil { // as in a clone
		t.Fatal(err)
	}
	got, err := WriteServices(dir, chance(2))
	want := Written{Made: []string{"services/searxng/settings.yml"}, Kept: []string{"services/compose.yaml", "services/.gitignore"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if data, _ := os.ReadFile(compose); string(data) != "mine" {
		t.Errorf("the file is %q", data)
	}
}

func TestServicesStayInTheFolder(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "services")); err != nil {
		t.Fatal(err)
	}
	if got, err := WriteServices(dir, chance(1)); err == nil {
		t.Errorf("wrote %v", got)
	}
	if left, _ := os.ReadDir(outside); len(left) != 0 {
		t.Errorf("outside is %v", left)
	}
}

func TestNoKeyIsMadeWithoutChance(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := WriteServices(dir, iotest.ErrReader(os.ErrDeadlineExceeded)); err == nil {
		t.Error("a key was made of nothing")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("there is %v", left)
	}
}
