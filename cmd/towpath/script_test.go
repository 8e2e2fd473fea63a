package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"towpath/internal/fakeserver"
)

// TestMain lets scripts run this program as towpath.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"towpath":    main,
		"toolserver": func() { os.Exit(fakeserver.ServeTools(os.Args[1], os.Stdin, os.Stdout, os.Stderr)) },
		"unprivileged": func() {
			if err := unprivileged(os.Args[1:]); err != nil {
				fmt.Fprintln(os.Stderr, "unprivileged:", err)
				os.Exit(1)
			}
		},
	})
}

// TestScripts runs the whole program as a person would, one script a case. In
// the scripts there are, besides testscript's own commands:
//
//	server FILE          start a scripted model server; OLLAMA_HOST and SERVER name it
//	service FILE         start a scripted service; CAMOFOX or SEARXNG names it
//	exits CODE CMD...    run a command that must end with the code
//	says TEXT            standard error holds the text (prints: standard output)
//	asked N              the server got N chat calls
//	asked N TEXT         the Nth chat call holds the text
//	awaits N             wait until the server got N chat calls
//	fixture NAME DIR     copy one of testdata/fixtures
//	smalldisk DIR KB     mount a disk of that size; needs the condition [mount]
//	toolserver JSON      (a program) a tool server, scripted by JSON
//	unprivileged CMD...  (a program) run a command that permissions bind, root or not
//	toolserver SCRIPT    (a program) be the scripted tool server of a JSON text
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "scripts"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Condition:           condition,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"server":    startServer,
			"service":   startService,
			"exits":     exits,
			"says":      func(ts *testscript.TestScript, neg bool, args []string) { holds(ts, neg, args, "stderr") },
			"prints":    func(ts *testscript.TestScript, neg bool, args []string) { holds(ts, neg, args, "stdout") },
			"asked":     asked,
			"awaits":    awaits,
			"fixture":   fixture,
			"smalldisk": smallDisk,
		},
	})
}

type serverKey struct{}

// setup gives a script a home of its own and no model server.
func setup(env *testscript.Env) error {
	for _, dir := range []string{"home", ".cache"} {
		if err := os.MkdirAll(filepath.Join(env.WorkDir, dir), 0o755); err != nil {
			return err
		}
	}
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("TOWPATH_CACHE", filepath.Join(env.WorkDir, ".cache"))
	env.Setenv("OLLAMA_HOST", "127.0.0.1:9") // nobody listens there
	fixtures, err := filepath.Abs(filepath.Join("..", "..", "testdata", "fixtures"))
	env.Setenv("FIXTURES", fixtures)
	env.Values[serverKey{}] = new(*fakeserver.Server)
	return err
}

func condition(cond string) (bool, error) {
	if cond == "mount" {
		return mayMount(), nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

func usage(ts *testscript.TestScript, bad bool, text string) {
	if bad {
		ts.Fatalf("usage: %s", text)
	}
}

func server(ts *testscript.TestScript) *fakeserver.Server {
	s := *ts.Value(serverKey{}).(**fakeserver.Server)
	if s == nil {
		ts.Fatalf("no server was started")
	}
	return s
}

func startServer(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) != 1, "server FILE")
	script, err := fakeserver.Load(ts.MkAbs(args[0]))
	ts.Check(err)
	s, err := fakeserver.Start(script)
	ts.Check(err)
	ts.Defer(s.Close)
	*ts.Value(serverKey{}).(**fakeserver.Server) = s
	ts.Setenv("OLLAMA_HOST", s.URL)
	ts.Setenv("SERVER", s.URL)
}

func startService(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) != 1, "service FILE")
	var script fakeserver.Service
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &script))
	s, err := fakeserver.StartService(script)
	ts.Check(err)
	ts.Defer(s.Close)
	name := "SEARXNG"
	if script.Camofox {
		name = "CAMOFOX"
	}
	ts.Setenv(name, s.URL)
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) < 2, "exits CODE CMD...")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func holds(ts *testscript.TestScript, neg bool, args []string, where string) {
	usage(ts, len(args) != 1, "says TEXT")
	text := ts.ReadFile(where)
	if strings.Contains(text, args[0]) == neg {
		ts.Fatalf("%s: %q expected there: %v; it holds:\n%s", where, args[0], !neg, text)
	}
}

func asked(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) < 1 || len(args) > 2, "asked N [TEXT]")
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	chats := server(ts).Chats()
	if len(args) == 1 {
		if (len(chats) == n) == neg {
			ts.Fatalf("the server got %d chat calls, want %d", len(chats), n)
		}
		return
	}
	if n < 1 || n > len(chats) {
		ts.Fatalf("the server got %d chat calls", len(chats))
	}
	var all strings.Builder
	for _, m := range chats[n-1].Messages {
		fmt.Fprintf(&all, "[%s]\n%s\n", m.Role, m.Content)
	}
	if strings.Contains(all.String(), args[1]) == neg {
		ts.Fatalf("call %d: %q expected in it: %v; it was:\n%s", n, args[1], !neg, all.String())
	}
}

func awaits(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) != 1, "awaits N")
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for len(server(ts).Chats()) < n {
		select {
		case <-tick.C:
		case <-late:
			ts.Fatalf("after 30 s the server got %d chat calls, want %d", len(server(ts).Chats()), n)
		}
	}
}

func fixture(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) != 2, "fixture NAME DIR")
	from := filepath.Join(ts.Getenv("FIXTURES"), args[0])
	ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(from)))
}

func smallDisk(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) != 2, "smalldisk DIR KB")
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	unmount, err := mountSmall(dir, args[1])
	ts.Check(err)
	ts.Defer(unmount)
}

// TestEveryScriptSaysWhatItShows keeps scripts readable: each begins with a
// sentence, and is one case.
func TestEveryScriptSaysWhatItShows(t *testing.T) {
	t.Parallel()
	sentence := regexp.MustCompile(`^# [A-Z-][^\n]*\.\n`)
	dir := filepath.Join("..", "..", "testdata", "scripts")
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err == nil && !sentence.Match(data) {
			t.Errorf("%s does not begin with a sentence on what it shows", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
