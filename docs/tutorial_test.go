package docs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	seconds = regexp.MustCompile(`\b(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?s\b`)
	stamp   = regexp.MustCompile(`\b\d{8}T\d{6}Z\b`)
	waiting = regexp.MustCompile(`(?m)^\S+: (?:(?:model|output): |loading |reading the prompt).*\n`)
)

// steady leaves out of an output what is another at each run: how long things
// took, and the lines that say that a model is being waited for.
func steady(s string) string {
	s = waiting.ReplaceAllString(s, "")
	return stamp.ReplaceAllString(seconds.ReplaceAllString(s, "TIME"), "STAMP")
}

// TestTutorialIsWhatHappens does every step of the tutorial in an empty folder.
// Blocks of sh are run, in blocks of console each command must print what
// stands below it. The model's words come from a recording; with -update they
// are asked of the real model, and page and recording are written anew.
func TestTutorialIsWhatHappens(t *testing.T) {
	const page = "tutorial.md"
	recording, err := filepath.Abs(filepath.Join("testdata", "tutorial.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	s := newShell(t, "DOCS_REPLAY="+recording, "TOWPATH_MODEL=local/qwen2.5-coder-1.5b")
	if *update {
		if err := os.RemoveAll(recording); err != nil {
			t.Fatal(err)
		}
		s.env = append(s.env, "DOCS_REPLAY=", "DOCS_RECORD="+recording, "TOWPATH_CACHE=")
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		s.env = append(s.env, "HOME="+home)
	}
	text := read(t, page)
	lines := strings.SplitAfter(text, "\n")
	steps := 0
	for _, b := range fences(text) {
		switch b.info {
		case "sh":
			if out, err := s.run(b.body); err != nil || out != "" {
				t.Fatalf("%s:%d: %v\n%s", page, b.line, err, out)
			}
			steps++
		case "console":
			got := s.console(t, page, b)
			steps++
			if *update {
				for i := b.start; i < b.end; i++ {
					lines[i] = ""
				}
				lines[b.start] = got
				continue
			}
			if diff := cmp.Diff(steady(b.body), steady(got)); diff != "" {
				t.Fatalf("%s:%d: go test ./docs -run Tutorial -update writes it anew\n%s", page, b.line, diff)
			}
		}
	}
	if steps < 15 {
		t.Errorf("%d blocks were run", steps)
	}
	if *update {
		if err := os.WriteFile(page, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// console runs the commands of a block, and gives the block with what they
// print now.
func (s *shell) console(t *testing.T, page string, b block) string {
	t.Helper()
	var got strings.Builder
	for line := range strings.SplitSeq(b.body, "\n") {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		out, err := s.run(command)
		var exit *exec.ExitError
		if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 4) { // waits for a person
			t.Fatalf("%s:%d: %s: %v\n%s", page, b.line, command, err, out)
		}
		if *update {
			out = waiting.ReplaceAllString(out, "")
		}
		got.WriteString(line + "\n" + out)
		if out != "" && !strings.HasSuffix(out, "\n") {
			got.WriteString("\n")
		}
	}
	return got.String()
}
