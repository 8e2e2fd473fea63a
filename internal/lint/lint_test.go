package lint

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"towpath/internal/workspace"
)

// tree is a workspace: path, text, path, text, ...
func tree(pairs ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return m
}

func load(t testing.TB, fsys fs.FS) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Load(fsys, ".", workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func run(t testing.TB, fsys fs.FS, opt Options) []workspace.Problem {
	t.Helper()
	return Run(fsys, load(t, fsys), opt)
}

// contract writes a contract from its sections: heading, body, heading, body.
func contract(sections ...string) string {
	var b strings.Builder
	b.WriteString("# Stage\n")
	for i := 0; i < len(sections); i += 2 {
		fmt.Fprintf(&b, "\n## %s\n%s\n", sections[i], sections[i+1])
	}
	return b.String()
}

// plain is a workspace with nothing to report: two stages.
func plain() fstest.MapFS {
	return tree(
		"CLAUDE.md", "Who.\n",
		"CONTEXT.md", "Routing.\n",
		"_config/voice.md", "Plain.\n",
		"pipeline/01-a/CONTEXT.md", contract("Inputs", "- input.md\n- ../../_config/voice.md", "Process", "Go.", "Outputs", "- a.md -> output/"),
		"pipeline/01-a/input.md", "Idea.\n",
		"pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md", "Process", "Go on.", "Outputs", "- b.md -> output/"),
	)
}

func show(list []workspace.Problem) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "%s %s %s\n", p.Severity, p.Code, p.Error())
	}
	return b.String()
}

func TestACleanWorkspaceHasNothingToReport(t *testing.T) {
	t.Parallel()
	if list := run(t, plain(), Options{}); len(list) != 0 {
		t.Errorf("reported:\n%s", show(list))
	}
	for _, name := range []string{"course-research", "course-rust"} {
		list := run(t, os.DirFS("../../testdata/fixtures/"+name), Options{Servers: map[string][]string{
			"search-server": {"search"}, "browser-server": {"fetch_snippet", "fetch_urls", "fetch_structure", "extract", "summarize"}}})
		if len(list) != 0 {
			t.Errorf("%s:\n%s", name, show(list))
		}
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Line.\n", 201)
	for _, c := range []struct {
		name     string
		change   func(m fstest.MapFS)
		opt      Options
		severity workspace.Severity
		code     string
		file     string
		line     int
		says     []string // in message or mend
	}{
		{name: "no process", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md", "Outputs", "- b.md -> output/")),
			severity: workspace.Error, code: "no-process", file: "pipeline/02-b/CONTEXT.md", says: []string{"Process"}},
		{name: "no outputs", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md", "Process", "Go.")),
			severity: workspace.Error, code: "no-outputs", file: "pipeline/02-b/CONTEXT.md", says: []string{"Outputs"}},
		{name: "an input that nobody makes", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md\n- notes.md", "Process", "Go.", "Outputs", "- b.md -> output/")),
			severity: workspace.Error, code: "missing-input", file: "pipeline/02-b/CONTEXT.md", line: 5, says: []string{"notes.md", "optional"}},
		{name: "an output that the earlier stage does not declare", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/aa.md", "Process", "Go.", "Outputs", "- b.md -> output/")),
			severity: workspace.Error, code: "missing-input", file: "pipeline/02-b/CONTEXT.md", line: 4, says: []string{"01-a", "a.md"}},
		{name: "input from a later stage", change: set("pipeline/01-a/CONTEXT.md", contract("Inputs", "- input.md\n- ../../_config/voice.md\n- ../03-c/output/c.md", "Process", "Go.", "Outputs", "- a.md -> output/"),
			"pipeline/03-c/CONTEXT.md", contract("Process", "Go.", "Outputs", "- c.md -> output/")),
			severity: workspace.Error, code: "later-input", file: "pipeline/01-a/CONTEXT.md", line: 6, says: []string{"later stage 03-c"}},
		{name: "a cycle", change: set("pipeline/01-a/CONTEXT.md", contract("Inputs", "- input.md\n- ../../_config/voice.md\n- ../02-b/output/b.md", "Process", "Go.", "Outputs", "- a.md -> output/")),
			severity: workspace.Error, code: "cycle", file: "pipeline/01-a/CONTEXT.md", line: 6, says: []string{"cycle", "01-a -> 02-b -> 01-a"}},
		{name: "a stage that reads its own output", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md\n- output/b.md", "Process", "Go.", "Outputs", "- b.md -> output/")),
			severity: workspace.Error, code: "cycle", file: "pipeline/02-b/CONTEXT.md", line: 5, says: []string{"own output"}},
		{name: "unknown server", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md", "Tools", "find-server: find", "Process", "Go.", "Outputs", "- b.md -> output/")),
			opt: Options{Servers: map[string][]string{"search-server": {"search"}}}, severity: workspace.Error, code: "unknown-server", file: "pipeline/02-b/CONTEXT.md", line: 7, says: []string{`"find-server"`, "search-server"}},
		{name: "unknown tool", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md", "Tools", "search-server: serch", "Process", "Go.", "Outputs", "- b.md -> output/")),
			opt: Options{Servers: map[string][]string{"search-server": {"search"}}}, severity: workspace.Error, code: "unknown-tool", file: "pipeline/02-b/CONTEXT.md", line: 7, says: []string{`"serch"`, "search"}},
		{name: "unresolved placeholder", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md", "Process", "Go.\nFor {{reader}}.", "Outputs", "- b.md -> output/")),
			severity: workspace.Error, code: "placeholder", file: "pipeline/02-b/CONTEXT.md", line: 8, says: []string{"{{reader}}", "[vars]"}},
		{name: "an item without a for-each", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md", "Process", "Write {{item}}.", "Outputs", "- b.md -> output/")),
			severity: workspace.Error, code: "placeholder", file: "pipeline/02-b/CONTEXT.md", line: 7, says: []string{"{{item}}", "For each"}},
		{name: "one file twice", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md", "Process", "Go.", "Outputs", "- b.md -> output/\n- B.md -> output/")),
			severity: workspace.Error, code: "output-twins", file: "pipeline/02-b/CONTEXT.md", line: 11, says: []string{"B.md"}},
		{name: "unreadable encoding of an input", change: set("_config/voice.md", "caf\xe9\n"),
			severity: workspace.Error, code: "encoding", file: "pipeline/01-a/CONTEXT.md", line: 5, says: []string{"_config/voice.md", "UTF-8"}},
		{name: "unreadable encoding of a contract", change: set("pipeline/02-b/CONTEXT.md", "\xff\xfe#\x00"),
			severity: workspace.Error, code: "encoding", file: "pipeline/02-b/CONTEXT.md", line: 1, says: []string{"UTF-8"}},
		{name: "a section that is not there", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md\n- ../../_config/voice.md#Tone", "Process", "Go.", "Outputs", "- b.md -> output/")),
			severity: workspace.Error, code: "no-section", file: "pipeline/02-b/CONTEXT.md", line: 5, says: []string{`"Tone"`}},
		{name: "a path that leaves the repository", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md\n- `../../../secret.md`", "Process", "Go.", "Outputs", "- b.md -> output/")),
			severity: workspace.Error, code: "outside", file: "pipeline/02-b/CONTEXT.md", line: 5, says: []string{"secret.md"}},
		{name: "on fail names a later stage", change: set("pipeline/01-a/CONTEXT.md", contract("Inputs", "- input.md\n- ../../_config/voice.md", "Process", "Go.", "Outputs", "- a.md -> output/", "Verify", "- words: 1..9", "On fail", "02-b")),
			severity: workspace.Error, code: "on-fail", file: "pipeline/01-a/CONTEXT.md", line: 17, says: []string{"02-b", "earlier"}},
		{name: "a source without items", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md", "For each", "part in list.md", "Process", "Go.", "Outputs", "- b.md -> output/"), "pipeline/02-b/list.md", "Only prose here.\n"),
			severity: workspace.Error, code: "no-items", file: "pipeline/02-b/CONTEXT.md", line: 7},

		{name: "a long contract", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md", "Process", strings.Repeat("Go.\n", 75), "Outputs", "- b.md -> output/")),
			severity: workspace.Warning, code: "long-contract", file: "pipeline/02-b/CONTEXT.md", line: 81, says: []string{"85 lines", "80"}},
		{name: "context over budget", change: set("_config/voice.md", strings.Repeat("word ", 200)), opt: Options{Budget: 150},
			severity: workspace.Warning, code: "over-budget", file: "pipeline/01-a/CONTEXT.md", line: 1, says: []string{"_config/voice.md", "150"}},
		{name: "a long reference", change: set("_config/voice.md", long),
			severity: workspace.Warning, code: "long-reference", file: "_config/voice.md", line: 201, says: []string{"201 lines"}},
		{name: "unused config", change: set("_config/old.md", "Old.\n"),
			severity: workspace.Warning, code: "unused-config", file: "_config/old.md"},
		{name: "duplicate number", change: set("pipeline/02-c/CONTEXT.md", contract("Process", "Go.", "Outputs", "- c.md -> output/")),
			severity: workspace.Warning, code: "duplicate-number", file: "pipeline/02-c/CONTEXT.md", says: []string{"02-b"}},
		{name: "case-only match", change: set("pipeline/01-a/CONTEXT.md", contract("Inputs", "- input.md\n- ../../_config/Voice.md", "Process", "Go.", "Outputs", "- a.md -> output/")),
			severity: workspace.Warning, code: "case-only", file: "pipeline/01-a/CONTEXT.md", line: 5, says: []string{"_config/voice.md"}},
		{name: "stop without verify", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md", "Tools", "none", "Process", "Go.", "Outputs", "- b.md -> output/", "Stop", "- rounds: 3", "Memory", "none", "Trigger", "none")),
			severity: workspace.Warning, code: "stop-without-verify", file: "pipeline/02-b/CONTEXT.md", line: 16},
		{name: "only judges", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md", "Process", "Go.", "Outputs", "- b.md -> output/", "Verify", "- warn: words: 1..9\n- judge: it is clear")),
			severity: workspace.Warning, code: "judges-only", file: "pipeline/02-b/CONTEXT.md", says: []string{"code decides"}},
		{name: "a loop that leaves out a part", change: set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md", "Process", "Go.", "Outputs", "- b.md -> output/", "Verify", "- words: 1..9", "Stop", "- rounds: 3")),
			severity: workspace.Warning, code: "loop-part", file: "pipeline/02-b/CONTEXT.md", line: 15, says: []string{"Trigger", "Tools", "Memory"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := plain()
			c.change(m)
			list := run(t, m, c.opt)
			i := slices.IndexFunc(list, func(p workspace.Problem) bool { return p.Code == c.code && p.Severity == c.severity })
			if i < 0 {
				t.Fatalf("not reported; reported are:\n%s", show(list))
			}
			p := list[i]
			if p.File != c.file || c.line > 0 && p.Line != c.line {
				t.Errorf("it is at %s:%d, want %s:%d", p.File, p.Line, c.file, c.line)
			}
			for _, s := range c.says {
				if !strings.Contains(p.Message+" "+p.Mend, s) {
					t.Errorf("%q does not say %q", p.Error(), s)
				}
			}
			if len(list) > 1 {
				t.Errorf("more is reported:\n%s", show(list))
			}
		})
	}
}

func set(pairs ...string) func(fstest.MapFS) {
	return func(m fstest.MapFS) {
		for name, f := range tree(pairs...) {
			m[name] = f
		}
	}
}

func TestProblemsAreSortedAndOnceEach(t *testing.T) {
	t.Parallel()
	m := plain()
	set("pipeline/01-a/CONTEXT.md", "# Nothing\n", "_config/z.md", "z", "_config/y.md", "y",
		"pipeline/02-b/CONTEXT.md", contract("Inputs", "- x.md\n- y.md", "Process", "{{a}} {{b}} {{a}}", "Outputs", "- b.md -> output/"))(m)
	list := run(t, m, Options{})
	if !slices.IsSortedFunc(list, func(a, b workspace.Problem) int {
		if a.File != b.File {
			return strings.Compare(a.File, b.File)
		}
		return a.Line - b.Line
	}) {
		t.Errorf("not sorted:\n%s", show(list))
	}
	for i, p := range list[1:] {
		if p == list[i] {
			t.Errorf("twice: %s", p.Error())
		}
	}
	data, err := json.Marshal(list)
	if err != nil || !strings.Contains(string(data), `"severity":"error"`) {
		t.Errorf("as JSON: %s, %v", data, err)
	}
}

// TestTwoStagesThatWriteOneFile: places outside a stage's own output/ are the
// only way to it, so the nouns are made by hand.
func TestTwoStagesThatWriteOneFile(t *testing.T) {
	t.Parallel()
	m := plain()
	w := load(t, m)
	w.Stages[1].Contract.Outputs[0].Path = "shared/Result.md"
	w.Stages[0].Contract.Outputs = append(w.Stages[0].Contract.Outputs, workspace.Output{Name: "result.md", Path: "shared/result.md", Line: 14})
	list := Run(m, w, Options{})
	if len(list) != 1 || list[0].Code != "output-twice" || list[0].File != "pipeline/02-b/CONTEXT.md" || !strings.Contains(list[0].Message, "01-a writes too (pipeline/01-a/CONTEXT.md:14)") {
		t.Errorf("reported:\n%s", show(list))
	}
}
