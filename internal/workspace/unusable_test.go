package workspace

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// TestWhatCannotBeReadIsNotLeftOutSilently: a CLAUDE.md that links out of the
// repository, and a stage that does, were as if they were not there.
func TestWhatCannotBeReadIsNotLeftOutSilently(t *testing.T) {
	t.Parallel()
	link := func(to string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
	}
	for name, c := range map[string]struct {
		path     string
		file     *fstest.MapFile
		severity Severity
		says     string
	}{
		"identity links out":     {"CLAUDE.md", link("/etc/passwd"), Warning, "is a link that leads out of the repository"},
		"identity links nowhere": {"CLAUDE.md", link("NOTES.md"), Warning, "is a link to something that is not there"},
		"routing is a folder":    {"CONTEXT.md/x", &fstest.MapFile{}, Warning, "is a folder"},
		"routing is a pipe":      {"CONTEXT.md", &fstest.MapFile{Mode: fs.ModeNamedPipe | 0o600}, Warning, "is not a regular file"},
		"contract is a folder":   {"pipeline/02-b/CONTEXT.md/x", &fstest.MapFile{}, Error, "the contract of 02-b is a folder"},
		"contract links out":     {"pipeline/02-b/CONTEXT.md", link("/etc/passwd"), Error, "the contract of 02-b is a link that leads out"},
		"stage links out":        {"pipeline/02-b", link("/etc"), Error, "the stage 02-b is a link that leads out"},
		"stage links to itself":  {"pipeline/02-b", link("02-b"), Error, "the stage 02-b is a link that leads back to itself"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := contracts("pipeline/01-a")
			m[c.path] = c.file
			w, err := Load(m, ".", Options{})
			if err != nil || len(w.Problems) != 1 {
				t.Fatalf("error %v, workspace %+v", err, w)
			}
			if p := w.Problems[0]; p.Severity != c.severity || !strings.Contains(p.Message, c.says) {
				t.Errorf("got %+v", p)
			}
		})
	}
	m := contracts("pipeline/01-a")
	m["CLAUDE.md"], m["AGENTS.md"] = link("AGENTS.md"), &fstest.MapFile{Data: []byte("a")}
	if w, err := Load(m, ".", Options{}); err != nil || len(w.Problems) != 0 || w.Identity != "AGENTS.md" {
		t.Errorf("a link within the repository: %+v %v", w, err)
	}
}
