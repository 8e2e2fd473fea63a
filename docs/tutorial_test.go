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

	"towpath/internal/model/local"
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

// TestPagesAreWhatHappens does every step of a page in an empty folder. Blocks of
// sh are run, in blocks of console each command must print what stands below
// it. The model's words come from a recording; with -update they are asked of
// the real model, and page and recording are written anew.
func TestPagesAreWhatHappens(t *testing.T) {
	for page, steps := range map[string]int{"tutorial.md": 15, "coming-from-other-runners.md": 5} {
		t.Run(page, func(t *testing.T) { follow(t, page, steps) })
	}
}

// follow does the steps of one page, which has at least so many blocks.
func follow(t *testing.T, page string, least int) {
	s := pageShell(t, page)
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
				clear(lines[b.start:b.end])
				lines[b.start] = got
				continue
			}
			if diff := cmp.Diff(steady(b.body), steady(got)); diff != "" {
				t.Fatalf("%s:%d: go test ./docs -run Pages -update writes it anew\n%s", page, b.line, diff)
			}
		}
	}
	if steps < least {
		t.Errorf("%d blocks were run", steps)
	}
	if *update {
		if err := os.WriteFile(page, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// pageShell answers model calls from the recording of the tutorial, or makes it.
// No other page calls a model.
func pageShell(t *testing.T, page string) *shell {
	t.Helper()
	const model = "TOWPATH_MODEL=local/qwen2.5-coder-1.5b"
	if page != "tutorial.md" {
		return newShell(t, model)
	}
	recording, err := filepath.Abs(filepath.Join("testdata", "tutorial.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if !*update {
		return newShell(t, model, "DOCS_REPLAY="+recording)
	}
	if err := os.RemoveAll(recording); err != nil {
		t.Fatal(err)
	}
	cache, err := local.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return newShell(t, model, "DOCS_RECORD="+recording, "TOWPATH_CACHE="+cache)
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
