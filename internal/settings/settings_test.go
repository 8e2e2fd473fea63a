package settings

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// place is a user with a repository that holds a workspace.
type place struct {
	t                 *testing.T
	repo, ws          string
	userDir, stateDir string
	environ           []string
	flags             map[string]string
	commands          []string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, repo: filepath.Join(base, "repo"), userDir: filepath.Join(base, "config"), stateDir: filepath.Join(base, "state")}
	p.ws = filepath.Join(p.repo, "docs", "course")
	for _, d := range []string{p.ws, filepath.Join(p.repo, ".git"), p.userDir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *place) write(name, text string) string {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	return name
}

func (p *place) project(text string) string { return p.write(filepath.Join(p.ws, ProjectFile), text) }
func (p *place) user(text string) string    { return p.write(filepath.Join(p.userDir, UserFile), text) }

func (p *place) try() (*Settings, error) {
	return Load(Options{Workspace: p.ws, Flags: p.flags, Environ: p.environ, UserDir: p.userDir,
		StateDir: p.stateDir, Dir: p.repo, Commands: p.commands})
}

func (p *place) load() *Settings {
	p.t.Helper()
	s, err := p.try()
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// origin is where a key's value in force came from.
func origin(s *Settings, key string) string { return s.values[key].origin.String() }

func TestDefaults(t *testing.T) {
	t.Parallel()
	s := newPlace(t).load()
	if s.Model != "" || *s.Temperature != 0.1 || s.Reply != 2048 || *s.Think || s.Search.MaxResults != 5 {
		t.Errorf("%+v", s)
	}
	if want := (Limits{ToolCalls: 40, Time: 30 * time.Minute, Wait: time.Minute}); s.Limits != want {
		t.Errorf("limits %+v", s.Limits)
	}
	if p, ok := s.Provider("ollama"); !ok || p.URL != "http://127.0.0.1:11434" || p.Kind != "ollama" {
		t.Errorf("ollama %+v", p)
	}
	if len(s.Warnings) != 0 || len(s.Inert) != 0 || s.TrustState != TrustNothing {
		t.Errorf("%v %v %v", s.Warnings, s.Inert, s.TrustState)
	}
}

func TestWhatComesFirstWins(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	check := func(want int, from string) {
		t.Helper()
		s := p.load()
		if s.Reply != want || origin(s, "reply") != from {
			t.Errorf("reply %d from %s, want %d from %s", s.Reply, origin(s, "reply"), want, from)
		}
	}
	check(2048, "default")
	user := p.user("# mine\nreply = 1001\n")
	check(1001, user+":2")
	project := p.project("reply = 1002\n")
	check(1002, project+":1")
	p.environ = []string{"TOWPATH_REPLY="}
	check(1002, project+":1") // an empty variable is not set
	p.environ = []string{"TOWPATH_REPLY=1003"}
	check(1003, "TOWPATH_REPLY")
	p.flags = map[string]string{"reply": "1004"}
	check(1004, "--reply")
}

func TestNearestProjectFileIsReadAlone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	top := p.write(filepath.Join(p.repo, ProjectFile), "reply = 1001\nwindow = 5000\n")
	p.write(filepath.Join(filepath.Dir(p.repo), ProjectFile), "nonsense above the repository")
	if s := p.load(); s.Project != top || s.Reply != 1001 {
		t.Errorf("%s, %d", s.Project, s.Reply)
	}
	near := p.project("reply = 1002\n")
	if s := p.load(); s.Project != near || s.Reply != 1002 || s.Window != 0 {
		t.Errorf("%s: reply %d, window %d", s.Project, s.Reply, s.Window)
	}
}

func TestProjectFileAboveAWorkspaceWithoutRepository(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := os.RemoveAll(filepath.Join(p.repo, ".git")); err != nil {
		t.Fatal(err)
	}
	top := p.write(filepath.Join(p.repo, ProjectFile), "reply = 1001\n")
	if s := p.load(); s.Project != top {
		t.Errorf("read %q", s.Project)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.environ = []string{"TOWPATH_MODEL=ollama/a", "TOWPATH_FETCH_ALLOW=127.0.0.1/32, 10.1.2.3/8,::1", "TOWPATH_SEARCH_LIBRARY=books",
		"TOWPATH_THINK=true", "TOWPATH_TEMPERATURE=0.5", "TOWPATH_MODLE=x", "TOWPATH_SOMETHING_ELSE=x"}
	s := p.load()
	if s.Model != "ollama/a" || !*s.Think || *s.Temperature != 0.5 || s.Search.Library != filepath.Join(p.repo, "books") {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]string{"127.0.0.1/32", "10.0.0.0/8", "::1/128"}, s.Fetch.Allow); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"the variable TOWPATH_MODLE sets nothing; did you mean TOWPATH_MODEL?"}, s.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestOllamaHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"":                       "http://127.0.0.1:11434",
		"0.0.0.0":                "http://127.0.0.1:11434",
		":8080":                  "http://127.0.0.1:8080",
		"192.168.1.5":            "http://192.168.1.5:11434",
		"box:1234":               "http://box:1234",
		"http://box":             "http://box:80",
		"https://box/ollama/":    "https://box:443/ollama",
		"[::1]:9000":             "http://[::1]:9000",
		"[::]":                   "http://127.0.0.1:11434",
		" \"http://box:11434\" ": "http://box:11434",
		"http://0.0.0.0:11434":   "http://127.0.0.1:11434",
	} {
		p := newPlace(t)
		p.user("[providers.ollama]\nparallel = 2\n")
		p.environ = []string{"OLLAMA_HOST=" + host}
		s := p.load()
		if got, _ := s.Provider("ollama"); got.URL != want || got.Parallel != 2 {
			t.Errorf("%q: %+v, want %s", host, got, want)
		}
		if host != "" && origin(s, "providers.ollama.url") != "OLLAMA_HOST" {
			t.Errorf("from %s", origin(s, "providers.ollama.url"))
		}
	}
}

func TestModelForStageToolAndRole(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.project("model = \"ollama/all\"\n[use]\n\"02-research\" = \"ollama/big\"\njudge = \"ollama/judge\"\n")
	check := func(want, from string, names ...string) {
		t.Helper()
		if id, o := p.load().ModelFor(names...); id != want || o != from {
			t.Errorf("%v: %s from %s, want %s from %s", names, id, o, want, from)
		}
	}
	check("ollama/big", file+":3", "02-research", "turn")
	check("ollama/judge", file+":4", "judge")
	check("ollama/all", file+":1", "01-scope")
	p.project("[use]\ndefault = \"ollama/d\"\n")
	check("ollama/d", file+":2", "01-scope")
	p.flags = map[string]string{"model": "ollama/flag"}
	check("ollama/flag", "--model", "02-research")
	p.flags = nil
	p.project("")
	check("", "", "01-scope")
}

func TestParamsOfAModel(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.user("temperature = 0.5\n[models.\"ollama/a\"]\ntemperature = 1\ntools = false\nparallel = 3\nidle = \"9s\"\n")
	s := p.load()
	a, b := s.Params("ollama/a"), s.Params("ollama/b")
	if *a.Temperature != 1 || *a.Tools || a.Parallel != 3 || a.Timeouts.Idle != 9*time.Second || a.Timeouts.Total != 30*time.Minute || a.Reply != 2048 {
		t.Errorf("%+v", a)
	}
	if *b.Temperature != 0.5 || b.Tools != nil || b.Timeouts.Idle != 2*time.Minute || b.Timeouts.Connect != 10*time.Second {
		t.Errorf("%+v", b)
	}
	p.environ = []string{"TOWPATH_TEMPERATURE=0"}
	if got := *p.load().Params("ollama/a").Temperature; got != 0 {
		t.Errorf("a variable does not come first: %v", got)
	}
}

func TestMayWrite(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.user("write = [\"../src\", \"notes/*.md\"]\n")
	s := p.load()
	for path, want := range map[string]bool{
		"docs/src": true, "docs/src/a/b.go": true, "docs/srcs/a.go": false, "docs/course/notes/a.md": true,
		"docs/course/notes/deep/a.md": false, "docs/course/other": false, "docs/src/../secret": false,
	} {
		if got := s.MayWrite(filepath.Join(p.repo, filepath.FromSlash(path))); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestLibraryIsRelativeToItsFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(filepath.Join(p.repo, ProjectFile), "[search]\nlibrary = \"books\"\n")
	if s := p.load(); s.Search.Library != filepath.Join(p.repo, "books") || len(s.Inert) != 0 {
		t.Errorf("%q %v", s.Search.Library, s.Inert)
	}
	if err := os.Symlink("/", filepath.Join(p.repo, "books")); err != nil {
		t.Fatal(err)
	}
	if s := p.load(); s.Search.Library != "" || len(s.Inert) != 1 {
		t.Errorf("through a link: %q %v", s.Search.Library, s.Inert)
	}
	p.environ = []string{"HOME=/home/me"}
	p.write(filepath.Join(p.repo, ProjectFile), "")
	p.user("[search]\nlibrary = \"~/books\"\n")
	if s := p.load(); s.Search.Library != filepath.FromSlash("/home/me/books") {
		t.Errorf("%q", s.Search.Library)
	}
}

func TestUsersFolders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ env, config, state string }{
		{"XDG_CONFIG_HOME=/x/config", "/x/config/towpath/config.toml", ""},
		{"HOME=/home/me", "/home/me/.config/towpath/config.toml", "/home/me/.local/state/towpath"},
		{"XDG_STATE_HOME=/x/state", "", "/x/state/towpath"},
		{"XDG_CONFIG_HOME=relative", "", ""}, // not allowed by the convention
		{"", "", ""},
	} {
		e := newEnvironment(Options{Environ: []string{c.env}})
		if filepath.ToSlash(e.userFile()) != c.config || filepath.ToSlash(e.stateDir()) != c.state {
			t.Errorf("%s: %q, %q", c.env, e.userFile(), e.stateDir())
		}
	}
}
