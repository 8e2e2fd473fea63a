package docs

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"towpath/internal/lint"
	"towpath/internal/workspace"
)

// TestContractExamplesAreReadAsThePageSays puts each block "markdown contract"
// of the page into the example workspace as the contract of 02-work. Sections
// that it leaves out are filled in. The block below it is what the program makes
// of it:
//
//	text graph LABEL...   rows of towpath graph with these labels
//	text lint             what towpath lint says of the contract
//	text process          the process text that the model is sent
//	text items            what the for-each runs over
//
// A contract without a lint block has to be free of errors.
func TestContractExamplesAreReadAsThePageSays(t *testing.T) {
	const page = "contracts.md"
	text := read(t, page)
	lines := strings.SplitAfter(text, "\n")
	base := example(t)
	var st *workspace.Stage
	var w *workspace.Workspace
	var problems []string
	var lintLine int
	told, examples := true, 0
	check := func() {
		if !told && len(problems) > 0 && strings.Contains(strings.Join(problems, "\n"), "error") {
			t.Errorf("%s:%d: %q", page, lintLine, problems)
		}
	}
	for _, b := range fences(text) {
		kind, rest, _ := strings.Cut(b.info, " ")
		if kind == "markdown" && rest == "contract" {
			check()
			w, st = load(t, base, b.body)
			problems, lintLine, told = nil, b.line, false
			for _, p := range lint.Run(base, w, lint.Options{Servers: map[string][]string{"search-server": nil, "browser-server": nil, "files": nil}}) {
				if p.File == st.Contract.Path {
					problems = append(problems, fmt.Sprintf("%s: %d: %s; %s", p.Severity, p.Line, p.Message, p.Mend))
				}
			}
			examples++
			continue
		}
		what, labels, _ := strings.Cut(rest, " ")
		var got string
		switch {
		case kind != "text" || st == nil:
			continue
		case what == "graph":
			got = rows(lint.Draw(base, w).Text(), st.Name, strings.Fields(labels))
		case what == "lint":
			told = true
			got = strings.Join(problems, "\n") + "\n"
		case what == "process":
			got = st.Contract.Process
		case what == "items":
			got = items(t, w, base, st)
		default:
			continue
		}
		if *update {
			for i := b.start; i < b.end; i++ {
				lines[i] = ""
			}
			if b.start == b.end {
				lines[b.end] = got + lines[b.end]
			} else {
				lines[b.start] = got
			}
		} else if diff := cmp.Diff(b.body, got); diff != "" {
			t.Errorf("%s:%d: go test ./docs -run Contract -update writes it anew\n%s", page, b.line, diff)
		}
	}
	check()
	if examples < 20 {
		t.Errorf("%d examples", examples)
	}
	if *update {
		if err := os.WriteFile(page, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// example is the workspace that the page shows, as a file system of its own.
func example(t *testing.T) fstest.MapFS {
	t.Helper()
	m := fstest.MapFS{}
	root := os.DirFS("testdata/example")
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, p)
		m[p] = &fstest.MapFile{Data: data, Mode: 0o644}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func load(t *testing.T, m fstest.MapFS, contract string) (*workspace.Workspace, *workspace.Stage) {
	t.Helper()
	const place = "pipeline/02-work/CONTEXT.md"
	parse := func(src string) (*workspace.Workspace, *workspace.Stage) {
		m[place] = &fstest.MapFile{Data: []byte(src), Mode: 0o644}
		w, err := workspace.Load(m, ".", workspace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		st, err := w.Stage("02-work")
		if err != nil {
			t.Fatal(err)
		}
		return w, st
	}
	w, st := parse(contract)
	has := map[string]bool{}
	for _, s := range st.Contract.Sections {
		has[s.Kind] = true
	}
	if !has[workspace.KindProcess] {
		contract += "\n## Process\nDo it.\n"
	}
	if !has[workspace.KindOutputs] {
		contract += "\n## Outputs\n- result.md -> output/\n"
	}
	if !has[workspace.KindProcess] || !has[workspace.KindOutputs] {
		w, st = parse(contract)
	}
	return w, st
}

// rows takes the rows of one stage with certain labels out of a graph.
func rows(graph, stage string, labels []string) string {
	var out strings.Builder
	at := ""
	for line := range strings.SplitSeq(graph, "\n") {
		if !strings.HasPrefix(line, " ") {
			at, _, _ = strings.Cut(line, " ")
			continue
		}
		if at == stage && slices.ContainsFunc(labels, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(line), l+" ") }) {
			out.WriteString(strings.TrimPrefix(line, "  ") + "\n")
		}
	}
	return out.String()
}

func items(t *testing.T, w *workspace.Workspace, fsys fs.FS, st *workspace.Stage) string {
	t.Helper()
	list, err := w.Items(fsys, st)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, it := range list.Items {
		fmt.Fprintf(&out, "%d. %s\n", it.N, it.Title)
	}
	fmt.Fprintf(&out, "found by: %s\n", list.How)
	for _, p := range list.Passed {
		fmt.Fprintf(&out, "passed over: %s\n", p)
	}
	return out.String()
}

// TestTheExampleWorkspaceIsShownWhole holds the tree on the page to the files.
func TestTheExampleWorkspaceIsShownWhole(t *testing.T) {
	page := read(t, "contracts.md")
	for _, p := range slices.Sorted(maps.Keys(example(t))) {
		if name := p[strings.LastIndexByte(p, '/')+1:]; !strings.Contains(page, name) {
			t.Errorf("contracts.md does not show %s", p)
		}
	}
}
