//go:build models

package modelruns

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// program is the towpath binary under test, built once.
func program(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "towpath")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/towpath")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building towpath: %v\n%s", err, out)
	}
	return bin
}

// course is one run of the course template, in a folder of its own.
type course struct {
	dir string
	env []string
}

func newCourse(t *testing.T, bin string, env ...string) *course {
	t.Helper()
	c := &course{dir: filepath.Join(t.TempDir(), "course"), env: env}
	if out, err := c.towpath(bin, "init", "--template", "course", c.dir); err != nil {
		t.Fatalf("init: %v\n%s", err, out)
	}
	return c
}

func (c *course) towpath(bin string, args ...string) (string, error) {
	cmd := exec.Command(bin, args...)
	cmd.Env = append(os.Environ(), c.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run runs every stage and shows what the program says as it says it.
func (c *course) run(t *testing.T, bin string, args ...string) (last map[string]any, err error) {
	t.Helper()
	cmd := exec.Command(bin, append([]string{"run", c.dir, "--all", "--json"}, args...)...)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e map[string]any
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			t.Errorf("a line on standard output is not JSON: %.200s", lines.Text())
			continue
		}
		last = e
		if e["type"] == "output_written" || e["type"] == "exit" {
			t.Logf("%v %v %v", e["type"], e["stage"], e["exit"])
		}
	}
	return last, cmd.Wait()
}

var (
	objective = regexp.MustCompile(`^\d+[.)] +\S`)
	address   = regexp.MustCompile(`library:[^\s)>\]"'` + "`" + `,;]+`)
	module    = regexp.MustCompile(`(?m)^## +(.+?)\s*$`)
)

// verify holds the parts of a finished course to what they claim to be.
func (c *course) verify() error {
	read := func(stage, file string) string {
		b, _ := os.ReadFile(filepath.Join(c.dir, "pipeline", stage, "output", file))
		return strings.TrimSpace(string(b))
	}
	objectives := read("01-scope", "objectives.md")
	n := 0
	for _, line := range strings.Split(objectives, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if !objective.MatchString(line) {
			return fmt.Errorf("objectives.md has a line that is no numbered objective: %q", line)
		}
		n++
	}
	if n < 3 || n > 6 {
		return fmt.Errorf("objectives.md has %d objectives", n)
	}
	notes := read("02-research", "notes.md")
	cited := address.FindAllString(notes, -1)
	if len(cited) < n {
		return fmt.Errorf("notes.md cites %d addresses for %d objectives", len(cited), n)
	}
	for _, a := range cited {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimRight(a, "."), "library:"), "#")
		if info, err := os.Stat(filepath.Join(c.dir, "library", filepath.FromSlash(name))); err != nil || info.IsDir() {
			return fmt.Errorf("notes.md cites %s, which the library does not have", a)
		}
	}
	outline := module.FindAllStringSubmatch(read("03-outline", "outline.md"), -1)
	if len(outline) < 2 {
		return fmt.Errorf("outline.md has %d modules", len(outline))
	}
	draft := module.FindAllStringSubmatch(read("04-draft", "draft.md"), -1)
	if len(draft) < len(outline) {
		return fmt.Errorf("draft.md has %d sections for %d modules", len(draft), len(outline))
	}
	have := map[string]int{}
	for _, d := range draft {
		have[d[1]]++
	}
	for _, m := range outline {
		if have[m[1]] != 1 {
			return fmt.Errorf("the module %q has %d sections in draft.md", m[1], have[m[1]])
		}
	}
	return nil
}

// keep copies a course that failed where a person can look at it.
func (c *course) keep(t *testing.T) {
	to := os.Getenv("TOWPATH_KEEP")
	if to == "" {
		return
	}
	to = filepath.Join(to, fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), time.Now().Unix()))
	_ = filepath.WalkDir(c.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(c.dir, p)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o777)
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o666)
	})
	t.Logf("kept at %s", to)
}

func (c *course) complete(t *testing.T, bin string, args ...string) {
	t.Helper()
	start := time.Now()
	last, err := c.run(t, bin, args...)
	if err == nil {
		err = c.verify()
	}
	if err != nil {
		c.keep(t)
		t.Fatalf("%v; the last event was %v", err, last)
	}
	t.Logf("complete in %s", time.Since(start).Round(time.Second))
}

func TestCourseThroughTheLocalModel(t *testing.T) {
	bin := program(t)
	newCourse(t, bin).complete(t, bin, "--model", "local/qwen2.5-coder-1.5b")
}
