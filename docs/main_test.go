// Package docs holds nothing but the tests of the pages beside it: what they show
// is run, what they claim is compared, and where they point there is something.
package docs

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"towpath/internal/cli"
	"towpath/internal/model/local"
)

var update = flag.Bool("update", false, "write the pages anew; the tutorial then runs on the real local model")

// TestMain lets commands in pages run this program as towpath.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == local.ChildArg {
		os.Exit(local.ChildMain(os.Args[2:]))
	}
	if filepath.Base(os.Args[0]) == "towpath" {
		os.Exit(towpath())
	}
	os.Exit(m.Run())
}

// towpath is the program. What the environment names as the recording is added
// to every run, so that the pages show commands as a reader types them.
func towpath() int {
	env, err := cli.System()
	if err != nil {
		fmt.Fprintln(os.Stderr, "towpath:", err)
		return 1
	}
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "run" {
		for flag, name := range map[string]string{"--record": "DOCS_RECORD", "--replay": "DOCS_REPLAY"} {
			if file := os.Getenv(name); file != "" {
				args = append(args, flag, file)
			}
		}
	}
	return cli.Main(context.Background(), args, env)
}

// shell runs commands in a folder and gives what they print.
type shell struct {
	dir string
	env []string
}

func newShell(t *testing.T, env ...string) *shell {
	t.Helper()
	root := t.TempDir()
	for _, d := range []string{"bin", "home", "work"} {
		if err := os.Mkdir(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(root, "bin", "towpath")); err != nil {
		t.Fatal(err)
	}
	return &shell{dir: filepath.Join(root, "work"), env: append([]string{
		"PATH=" + filepath.Join(root, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"HOME=" + filepath.Join(root, "home"),
		"TOWPATH_CACHE=" + filepath.Join(root, "cache"),
		"OLLAMA_HOST=127.0.0.1:9", // nobody listens there
	}, env...)}
}

func (s *shell) run(script string) (string, error) {
	cmd := exec.Command("sh", "-c", "{\n"+script+"\n} 2>&1")
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.Output()
	return string(out), err
}

// block is a fenced block of a page.
type block struct {
	info, body string
	line       int // of its fence, from 1
	start, end int // of its body, in lines from 0
}

// fences lists the fenced blocks of a page.
func fences(page string) []block {
	var out []block
	lines := strings.SplitAfter(page, "\n")
	for i := 0; i < len(lines); i++ {
		text := strings.TrimSpace(lines[i])
		ticks := text[:len(text)-len(strings.TrimLeft(text, "`"))]
		if len(ticks) < 3 || strings.Contains(text[len(ticks):], "`") {
			continue
		}
		b := block{info: strings.TrimSpace(text[len(ticks):]), line: i + 1, start: i + 1}
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != ticks; i++ {
			b.body += lines[i]
		}
		b.end = i
		out = append(out, b)
	}
	return out
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
