package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// tree of contracts: every path becomes the folder of one.
func contracts(dirs ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for _, d := range dirs {
		m[d+"/CONTEXT.md"] = &fstest.MapFile{Data: []byte(plainContract)}
	}
	return m
}

func TestEveryLayoutIsRead(t *testing.T) {
	t.Parallel()
	for container, dirs := range map[string][]string{
		"pipeline":        {"pipeline/01-a", "pipeline/02-b", "stages/01-x"},
		"stages":          {"stages/01_a", "stages/02_b"},
		"pipeline/stages": {"pipeline/stages/1-a", "pipeline/stages/2-b", "pipeline/01-x"},
		"workflow/stages": {"workflow/stages/stage-01-a", "workflow/stages/stage-02-b"},
		"phases":          {"phases/01b-a", "phases/02-b"},
		".":               {"01-a", "02-b", "docs"},
	} {
		for _, ws := range []string{".", "teams/one"} {
			m := fstest.MapFS{}
			for name, f := range contracts(dirs...) {
				m[strings.TrimPrefix(ws+"/"+name, "./")] = f
			}
			w, err := Load(m, ws, Options{})
			if err != nil {
				t.Errorf("%s in %s: %v", container, ws, err)
				continue
			}
			if want := joinPath(ws, container); w.Container != want || len(w.Stages) != 2 || !strings.HasSuffix(w.Stages[0].Name, "a") {
				t.Errorf("%s in %s: container %s, %s", container, ws, w.Container, names(w.Stages))
			}
			if found, err := Discover(m, "."); err != nil || len(found) != 1 || found[0] != ws {
				t.Errorf("%s in %s: found %v %v", container, ws, found, err)
			}
		}
	}
}

func TestStagesAreOrderedByNumberLetterName(t *testing.T) {
	t.Parallel()
	m := contracts("pipeline/10-z", "pipeline/2-b", "pipeline/01b-x", "pipeline/01-scope", "pipeline/00-setup", "pipeline/01b-a", "pipeline/Stage 3 - End", "pipeline/proposed", "pipeline/notes-1", "pipeline/2024-05-01")
	w, err := Load(m, ".", Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"00-setup", "01-scope", "01b-a", "01b-x", "2-b", "Stage 3 - End", "10-z"}
	if d := cmp.Diff(want, names(w.Stages)); d != "" {
		t.Error(d)
	}
	if s := w.Stages[2]; s.Number != 1 || s.Letter != "b" || s.ShortName() != "a" {
		t.Errorf("%+v", s)
	}
}

func TestAStageGoesByNumberNameOrFolder(t *testing.T) {
	t.Parallel()
	m := contracts("team/ws/pipeline/01-scope", "team/ws/pipeline/02-research", "team/ws/pipeline/02b-research", "team/ws/pipeline/stage-03-long_name", "team/ws/pipeline/4-draft", "team/ws/pipeline/04-write")
	w, err := Load(m, "team/ws", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"1": "01-scope", "01": "01-scope", "scope": "01-scope", "01-scope": "01-scope", "Scope": "01-scope", "pipeline/01-scope": "01-scope",
		"pipeline/01-scope/": "01-scope", "team/ws/pipeline/01-scope": "01-scope", "01_scope": "01-scope", "1-scope": "01-scope",
		"2": "02-research", "2b": "02b-research", "02B": "02b-research", "3": "stage-03-long_name", "long name": "stage-03-long_name", "stage 3": "stage-03-long_name",
		"write": "04-write",
	} {
		if st, err := w.Stage(name); err != nil || st.Name != want {
			t.Errorf("%q: %v %v, want %s", name, st, err, want)
		}
	}
	var se *StageError
	if _, err := w.Stage("9"); !errors.As(err, &se) || !strings.Contains(err.Error(), "01-scope, 02-research") {
		t.Error(err)
	}
	for _, name := range []string{"4", "research"} {
		if _, err := w.Stage(name); !errors.As(err, &se) || len(se.Several) != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := w.Display("team/ws/pipeline/01-scope/CONTEXT.md"); got != "pipeline/01-scope/CONTEXT.md" {
		t.Error(got)
	}
	if got := w.Display("team/shared/a.md"); got != "team/shared/a.md" {
		t.Error(got)
	}
}

func TestSeveralWorkspacesInOneRepository(t *testing.T) {
	t.Parallel()
	m := contracts("stages/01-own", "workspaces/01-acme/stages/01-a", "workspaces/02-beta/pipeline/01-a", "templates/t/01-a",
		"node_modules/x/stages/01-a", ".cache/stages/01-a", "stages/01-own/output/stages/01-a", "docs/a")
	m["workspaces/01-acme/CONTEXT.md"] = &fstest.MapFile{Data: []byte("# Routing\n")}
	m["workspaces/02-beta/CONTEXT.md"] = &fstest.MapFile{Data: []byte("# Routing\n")}
	found, err := Discover(m, ".")
	if d := cmp.Diff([]string{".", "templates/t", "workspaces/01-acme", "workspaces/02-beta"}, found); d != "" || err != nil {
		t.Error(d, err)
	}
	if found, _ := Discover(m, "workspaces"); len(found) != 2 {
		t.Error(found)
	}
}

func TestFoldersThatAreNoWorkspaceSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	m := fstest.MapFS{"a/pipeline/01-x/notes.md": {Data: []byte("x")}, "b.md": {Data: []byte("x")}}
	for dir, want := range map[string]string{"a": "no numbered stage folders", "b.md": "is a file"} {
		if _, err := Load(m, dir, Options{}); !errors.Is(err, ErrNoWorkspace) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if _, err := Load(m, "nope", Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Load(m, "../x", Options{}); err == nil {
		t.Error("a folder above the root is read")
	}
}

func TestIdentityRoutingAndConfig(t *testing.T) {
	t.Parallel()
	m := contracts("pipeline/01-a")
	m["AGENTS.md"] = &fstest.MapFile{Data: []byte("a")}
	m["context.md"] = &fstest.MapFile{Data: []byte("c")}
	m["_config/b.md"] = &fstest.MapFile{Data: []byte("b")}
	m["_config/a/z.md"] = &fstest.MapFile{Data: []byte("z")}
	m["_config/.DS_Store"] = &fstest.MapFile{Data: []byte("b")}
	w, err := Load(m, ".", Options{})
	if err != nil || w.Identity != "AGENTS.md" || w.Routing != "context.md" || strings.Join(w.Config, " ") != "_config/a/z.md _config/b.md" {
		t.Errorf("%+v %v", w, err)
	}
	m["CLAUDE.md"] = &fstest.MapFile{Data: []byte("caf\xe9")}
	if w, _ = Load(m, ".", Options{}); w.Identity != "CLAUDE.md" || len(w.Problems) != 1 || w.Problems[0].Code != "encoding" {
		t.Errorf("%+v", w)
	}
}

func TestAStageFolderWithoutAContractIsNamed(t *testing.T) {
	t.Parallel()
	m := contracts("pipeline/01-a")
	m["pipeline/02-b/notes.md"] = &fstest.MapFile{Data: []byte("x")}
	w, err := Load(m, ".", Options{})
	if err != nil || len(w.Stages) != 1 || len(w.Problems) != 1 || w.Problems[0].Code != "no-contract" || w.Problems[0].File != "pipeline/02-b" {
		t.Errorf("%+v %v", w, err)
	}
}

func TestFoldersThatDifferOnlyInCaseAreRefused(t *testing.T) {
	t.Parallel()
	m := contracts("pipeline/01-Intro", "pipeline/01-intro")
	w, err := Load(m, ".", Options{})
	if err != nil || len(w.Problems) != 1 || w.Problems[0].Code != "name-twins" || w.Problems[0].Severity != Error {
		t.Errorf("%+v %v", w, err)
	}
	m = contracts("pipeline/01-caf\u00e9", "pipeline/01-cafe\u0301")
	if w, _ = Load(m, ".", Options{}); len(w.Problems) != 1 {
		t.Errorf("%+v", w.Problems)
	}
}

func TestAnUnreadableContractIsAProblem(t *testing.T) {
	t.Parallel()
	m := contracts("pipeline/01-a", "pipeline/02-b")
	w, err := Load(locked{m, "pipeline/02-b/CONTEXT.md"}, ".", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p := w.Stages[1].Contract.Problems; len(p) != 1 || p[0].Code != "unreadable" {
		t.Errorf("%v", p)
	}
	m["pipeline/01-a/CONTEXT.md"] = &fstest.MapFile{Data: []byte(strings.Repeat("word ", 1<<18))}
	if w, _ = Load(m, ".", Options{}); w.Stages[0].Contract.Problems[0].Code != "too-large" {
		t.Errorf("%v", w.Stages[0].Contract.Problems)
	}
}

// locked is a file system in which one file may not be read.
type locked struct {
	fstest.MapFS
	name string
}

func (l locked) Open(name string) (fs.File, error) {
	if name == l.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return l.MapFS.Open(name)
}

func (l locked) ReadFile(name string) ([]byte, error) {
	if name == l.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return l.MapFS.ReadFile(name)
}

func TestTheCourseIsReadWhole(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"course-research", "course-rust"} {
		fsys := os.DirFS("../../testdata/fixtures")
		w, err := Load(fsys, name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"01-scope", "02-research", "03-outline", "04-draft"}, names(w.Stages)); d != "" {
			t.Error(d)
		}
		if w.Identity != name+"/CLAUDE.md" || w.Routing != name+"/CONTEXT.md" || len(w.Config) != 2 || len(w.Problems) != 0 {
			t.Errorf("%+v", w)
		}
		inputs := [][]string{
			{"L4 input.md", "L3 _config/audience.md"},
			{"L4 01-scope", "L3 _config/audience.md", "L3 pipeline/02-research/references/tool-use.md"},
			{"L4 01-scope", "L4 02-research", "L3 _config/audience.md"},
			{"L4 02-research", "L3 _config/voice.md", "L3 _config/audience.md"},
		}
		outputs := []string{"objectives.md", "notes.md", "outline.md", "draft.md"}
		for i, st := range w.Stages {
			c := st.Contract
			if len(c.Problems) != 0 || c.Gate != GateStop || c.ProcessLine == 0 || c.Title != "Stage: "+st.Name {
				t.Errorf("%s: %+v", st.Name, c)
			}
			body, _, _ := strings.Cut(strings.SplitAfter(string(c.Source), "## Process\n")[1], "\n## ")
			if !strings.HasSuffix(c.Process, "\n\n"+strings.TrimSpace(body)+"\n") {
				t.Errorf("%s: the process is not word for word: %q", st.Name, c.Process)
			}
			if len(c.Outputs) != 1 || c.Outputs[0].Path != st.OutputDir()+"/"+outputs[i] {
				t.Errorf("%s: %+v", st.Name, c.Outputs)
			}
			var got []string
			for _, in := range c.Inputs {
				r, err := w.Resolve(fsys, st, in)
				if err != nil {
					t.Fatal(err)
				}
				what := w.Display(r.Path)
				if r.Maker != nil {
					what = r.Maker.Name
				} else if len(r.Files) != 1 {
					t.Errorf("%s: %+v", st.Name, r)
				}
				got = append(got, fmt.Sprintf("L%d %s", r.Layer, strings.TrimPrefix(what, "pipeline/01-scope/")))
			}
			if d := cmp.Diff(inputs[i], got); d != "" {
				t.Errorf("%s: %s", st.Name, d)
			}
		}
		if fe := w.Stages[3].Contract.ForEach; fe == nil || fe.Word != "module" || fe.Source.Written != "../03-outline/output/outline.md" || fe.AtATime != 1 {
			t.Errorf("%+v", fe)
		}
		if tools := w.Stages[1].Contract.Tools; len(tools) != 2 || strings.Join(tools[1].Tools, " ") != "summarize extract fetch_snippet fetch_urls" {
			t.Errorf("%+v", tools)
		}
	}
}

func BenchmarkLoadTenStages(b *testing.B) {
	src, err := os.ReadFile("../../testdata/fixtures/course-research/pipeline/02-research/CONTEXT.md")
	if err != nil {
		b.Fatal(err)
	}
	var files []string
	for i := range 10 {
		files = append(files, fmt.Sprintf("pipeline/%02d-work/CONTEXT.md=%s", i+1, src))
	}
	_, fsys := disk(b, files...)
	for b.Loop() {
		if w, err := Load(fsys, ".", Options{}); err != nil || len(w.Stages) != 10 {
			b.Fatal(err)
		}
	}
}
