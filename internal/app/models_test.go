package app

import (
	"os"
	"path/filepath"
	"testing"

	"towpath/internal/settings"
)

func TestWorkspaceThatNamesAFarModelIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		project, user string
		want          bool
	}{
		{`model = "groq/llama"`, "", true},
		{"[use]\ndefault = \"openai/gpt\"", "", true},
		{`model = "far/x"`, "[providers.far]\nurl = \"http://192.0.2.1/v1\"", true},
		{`model = "lmstudio/x"`, "", false},
		{`model = "ollama/x"`, "", false},
		{`model = "local/x"`, "", false},
		{"", `model = "groq/llama"`, false},
	} {
		ws, home := t.TempDir(), t.TempDir()
		for file, text := range map[string]string{filepath.Join(ws, settings.ProjectFile): c.project, filepath.Join(home, settings.UserFile): c.user} {
			if err := os.WriteFile(file, []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s, err := settings.Load(settings.Options{Workspace: ws, UserDir: home, StateDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		id, origin := s.ModelFor("01-a")
		if got := newCatalog(s, Options{}, "").elsewhere(id, origin); got != c.want {
			t.Errorf("%q beside the user's %q: %s of %s is elsewhere: %v", c.project, c.user, id, origin, got)
		}
	}
}
