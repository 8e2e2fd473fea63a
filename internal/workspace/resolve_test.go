package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// disk makes a repository on disk: "path=text", or "path>target" for a link.
func disk(t testing.TB, files ...string) (string, fs.FS) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		i := strings.IndexAny(f, "=>")
		p := filepath.Join(dir, filepath.FromSlash(f[:i]))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if f[i] == '=' {
			err = os.WriteFile(p, []byte(f[i+1:]), 0o644)
		} else {
			err = os.Symlink(filepath.FromSlash(f[i+1:]), p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, os.DirFS(dir)
}

const plainContract = "## Process\nGo.\n## Outputs\n- out.md -> output/\n"

// repo is a workspace below a repository's root, with two stages.
func repo(t testing.TB, more ...string) (*Workspace, *Stage, fs.FS) {
	t.Helper()
	_, fsys := disk(t, append([]string{
		"team/ws/pipeline/01-scope/CONTEXT.md=" + plainContract,
		"team/ws/pipeline/02-work/CONTEXT.md=" + plainContract,
	}, more...)...)
	w, err := Load(fsys, "team/ws", Options{})
	if err != nil {
		t.Fatal(err)
	}
	return w, w.Stages[1], fsys
}

func resolve(t testing.TB, w *Workspace, st *Stage, fsys fs.FS, written string) Resolved {
	t.Helper()
	r, err := w.Resolve(fsys, st, Input{Written: written, Line: 3})
	if err != nil {
		t.Fatalf("%s: %v", written, err)
	}
	return r
}

func TestAPathIsTriedFromThreeFolders(t *testing.T) {
	t.Parallel()
	w, st, fsys := repo(t,
		"team/ws/pipeline/02-work/a.md=stage", "team/ws/a.md=workspace", "a.md=repository",
		"team/ws/b.md=workspace", "b.md=repository", "c.md=repository",
		"team/ws/pipeline/01-scope/output/o.md=x", "team/ws/_config/Voice.md=v")
	for written, want := range map[string]struct {
		path string
		base Base
	}{
		"a.md":                          {"team/ws/pipeline/02-work/a.md", BaseStage},
		"b.md":                          {"team/ws/b.md", BaseWorkspace},
		"c.md":                          {"c.md", BaseRepository},
		"team/ws/b.md":                  {"team/ws/b.md", BaseRepository},
		"../01-scope/output/o.md":       {"team/ws/pipeline/01-scope/output/o.md", BaseStage},
		"pipeline/01-scope/output/o.md": {"team/ws/pipeline/01-scope/output/o.md", BaseWorkspace},
		"01-scope/output/o.md":          {"team/ws/pipeline/01-scope/output/o.md", BaseStages},
		"/_config/Voice.md":             {"team/ws/_config/Voice.md", BaseWorkspace},
		"./a.md":                        {"team/ws/pipeline/02-work/a.md", BaseStage},
		"../../../../c.md":              {"c.md", BaseStage},
	} {
		r := resolve(t, w, st, fsys, written)
		if r.Path != want.path || r.Base != want.base || r.Missing || r.CaseOnly || len(r.Files) != 1 {
			t.Errorf("%s: %+v, want %+v", written, r, want)
		}
	}
	r := resolve(t, w, st, fsys, "../../_config/voice.MD")
	if r.Path != "team/ws/_config/Voice.md" || !r.CaseOnly {
		t.Errorf("letter case: %+v", r)
	}
}

func TestWhereAMissingFileIsExpected(t *testing.T) {
	t.Parallel()
	w, st, fsys := repo(t, "team/ws/pipeline/01-scope/output/.gitkeep=")
	for written, path := range map[string]string{
		"../01-scope/output/o.md":       "team/ws/pipeline/01-scope/output/o.md",
		"pipeline/01-scope/output/o.md": "team/ws/pipeline/01-scope/output/o.md",
		"01-scope/output/o.md":          "team/ws/pipeline/01-scope/output/o.md",
		"../01-scope/output/":           "team/ws/pipeline/01-scope/output",
		"../01-scope/output/*.md":       "team/ws/pipeline/01-scope/output/*.md",
	} {
		r := resolve(t, w, st, fsys, written)
		if !r.Missing || r.Maker != w.Stages[0] || r.Path != path || r.Layer != LayerWorking || len(r.Files) != 0 {
			t.Errorf("%s: %+v", written, r)
		}
	}
	if r := resolve(t, w, st, fsys, "nowhere.md"); !r.Missing || r.Maker != nil || r.Path != "team/ws/pipeline/02-work/nowhere.md" {
		t.Errorf("%+v", r)
	}
}

func TestAStagesOwnOutputIsNeverRequired(t *testing.T) {
	t.Parallel()
	w, st, fsys := repo(t)
	if r := resolve(t, w, st, fsys, "output/draft.md"); !r.Missing || !r.Input.Optional || r.Maker != st {
		t.Errorf("%+v", r)
	}
	if r := resolve(t, w, st, fsys, "../01-scope/output/out.md"); r.Input.Optional {
		t.Errorf("%+v", r)
	}
}

func TestTheLayerOfAnInputWithoutOne(t *testing.T) {
	t.Parallel()
	w, st, fsys := repo(t, "team/ws/pipeline/02-work/input.md=i", "team/ws/_config/v.md=v", "team/ws/pipeline/01-scope/output/o.md=o")
	for written, want := range map[string]Layer{"input.md": LayerWorking, "../01-scope/output/o.md": LayerWorking, "../../_config/v.md": LayerReference} {
		if r := resolve(t, w, st, fsys, written); r.Layer != want {
			t.Errorf("%s: layer %d, want %d", written, r.Layer, want)
		}
	}
	r, err := w.Resolve(fsys, st, Input{Written: "../01-scope/output/o.md", Layer: LayerReference, LayerSet: true})
	if err != nil || r.Layer != LayerReference {
		t.Errorf("%+v %v", r, err)
	}
}

func TestFoldersAndGlobsAreSortedByBytes(t *testing.T) {
	t.Parallel()
	w, st, fsys := repo(t, "team/ws/notes/b.md=b", "team/ws/notes/B.md=B", "team/ws/notes/a/z.md=z", "team/ws/notes/a.md=a",
		"team/ws/notes/é.md=e", "team/ws/notes/x.txt=x", "team/ws/notes/{odd}.md=o")
	want := func(written string, names ...string) {
		t.Helper()
		r := resolve(t, w, st, fsys, written)
		var got []string
		for _, f := range r.Files {
			got = append(got, strings.TrimPrefix(f, "team/ws/notes/"))
		}
		if d := cmp.Diff(names, got); d != "" {
			t.Errorf("%s: %s", written, d)
		}
	}
	want("notes/", "B.md", "a.md", "a/z.md", "b.md", "x.txt", "{odd}.md", "é.md")
	want("notes", "B.md", "a.md", "a/z.md", "b.md", "x.txt", "{odd}.md", "é.md")
	want("notes/*.md", "B.md", "a.md", "b.md", "{odd}.md", "é.md")
	want("../../notes/**/*.md", "B.md", "a.md", "a/z.md", "b.md", "{odd}.md", "é.md")
	want("notes/{a,b}.md", "a.md", "b.md")
	want("notes/[ab].md", "a.md", "b.md")
	want("notes/?.txt", "x.txt")
	want("notes/{odd}.md", "{odd}.md")
}

func TestEditorBackupsAreNotReadAsInputs(t *testing.T) {
	t.Parallel()
	w, st, fsys := repo(t, "team/ws/n/01.md=x", "team/ws/n/01.md~=x", "team/ws/n/.01.md.swp=x", "team/ws/n/._01.md=x", "team/ws/n/4913=x",
		"team/ws/n/01.md.kate-swp=x", "team/ws/n/.DS_Store=x", "team/ws/n/Thumbs.db=x", "team/ws/n/#01.md#=x", "team/ws/n/.gitkeep=", "team/ws/n/.git/config=x")
	for _, written := range []string{"n/", "n/*", "n/**"} {
		if r := resolve(t, w, st, fsys, written); len(r.Files) != 1 || r.Files[0] != "team/ws/n/01.md" {
			t.Errorf("%s: %v", written, r.Files)
		}
	}
	for name, want := range map[string]bool{"a.md": false, "a.md~": true, ".a.swp": true, ".a.swo": true, "4913": true, "a.kate-swp": true, "._a": true,
		".DS_Store": true, "thumbs.db": true, "#a#": true, ".#a": true, ".gitkeep": true, "#": false, "~": true, "swp": false, ".env": false} {
		if IgnoredFile(name) != want {
			t.Errorf("IgnoredFile(%q) is %v", name, !want)
		}
	}
}

func TestNamesToFillInMatchTheOneFileThere(t *testing.T) {
	t.Parallel()
	w, st, fsys := repo(t, "team/ws/pipeline/01-scope/output/acme-plan.md=x", "team/ws/runs/a/x.md=1", "team/ws/runs/b/x.md=2")
	for _, written := range []string{"../01-scope/output/[slug]-plan.md", "../01-scope/output/{slug}-plan.md", "../01-scope/output/<slug>-plan.md"} {
		if r := resolve(t, w, st, fsys, written); r.Missing || r.Path != "team/ws/pipeline/01-scope/output/acme-plan.md" {
			t.Errorf("%s: %+v", written, r)
		}
	}
	if r := resolve(t, w, st, fsys, "runs/<run>/x.md"); !r.Missing {
		t.Errorf("two files fit, and one was taken: %+v", r)
	}
}

func TestLinksAreResolvedAndNeverLeadOut(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.md"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, st, fsys := repo(t, "shared/voice.md=v", "shared/more/a.md=a",
		"team/ws/_config>../../shared", "team/ws/v.md>_config/voice.md",
		"team/ws/out.md>"+outside+"/secret.md", "team/ws/up.md>../../../../../../../etc/hosts", "team/ws/dir>"+outside,
		"team/ws/loop.md>loop2.md", "team/ws/loop2.md>loop.md", "team/ws/round/here>.", "team/ws/round/a.md=a", "team/ws/gone.md>nowhere.md",
		"team/ws/mixed/ok.md=k", "team/ws/mixed/bad.md>"+outside+"/secret.md")
	for written, want := range map[string][]string{
		"../../_config/voice.md": {"shared/voice.md"},
		"v.md":                   {"shared/voice.md"},
		"_config/":               {"shared/more/a.md", "shared/voice.md"},
		"_config/*.md":           {"shared/voice.md"},
		"round/":                 {"team/ws/round/a.md"},
		"round/**/*.md":          {"team/ws/round/a.md"},
		"mixed/":                 {"team/ws/mixed/ok.md"},
		"gone.md":                nil,
	} {
		if r := resolve(t, w, st, fsys, written); cmp.Diff(want, r.Files) != "" {
			t.Errorf("%s: %v, want %v", written, r.Files, want)
		}
	}
	for _, written := range []string{"out.md", "up.md", "dir/secret.md", "dir", "loop.md", "../../../../../x.md", "/etc/passwd", "~/notes.md", `C:\notes.md`, "../../../../../../*.md"} {
		_, err := w.Resolve(fsys, st, Input{Written: written, Line: 3})
		var out *OutsideError
		if !errors.As(err, &out) || !strings.HasPrefix(err.Error(), "team/ws/pipeline/02-work/CONTEXT.md:3: ") {
			t.Errorf("%s: %v", written, err)
		}
	}
}

func TestStagesAndContractsBehindLinks(t *testing.T) {
	t.Parallel()
	_, fsys := disk(t, "lib/scope/CONTEXT.md="+plainContract, "ws/stages/01-scope>../../lib/scope", "ws/stages/02-work/CONTEXT.md>../../../lib/scope/CONTEXT.md",
		"ws/AGENTS.md=# Here", "ws/CLAUDE.md>AGENTS.md")
	w, err := Load(fsys, "ws", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Stages) != 2 || w.Stages[0].Name != "01-scope" || w.Stages[1].Contract.Path != "lib/scope/CONTEXT.md" || w.Identity != "ws/AGENTS.md" {
		t.Errorf("%+v", w)
	}
}

func TestUnicodeFormsOfANameAreOne(t *testing.T) {
	t.Parallel()
	w, st, fsys := repo(t, "team/ws/cafe\u0301.md=x")
	if r := resolve(t, w, st, fsys, "caf\u00e9.md"); r.Missing || r.CaseOnly || r.Path != "team/ws/cafe\u0301.md" {
		t.Errorf("%+v", r)
	}
}

func TestAScopeThatTheFileHasIsASection(t *testing.T) {
	t.Parallel()
	w, st, fsys := oneStage(t, "## Inputs\n| File | Scope |\n|---|---|\n| a.md | Tone |\n| a.md | Whatever fits |\n| a.md | Tone and Words section |\n\n## Process\nGo.\n",
		"a.md=# A\n\n## Tone\n\nPlain.\n\n## Words\n\nFew.\n")
	var got []string
	for _, in := range st.Contract.Inputs {
		r, err := w.Resolve(fsys, st, in)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Input.Section)
	}
	if d := cmp.Diff([]string{"Tone", "", "Tone and Words section"}, got); d != "" {
		t.Error(d)
	}
}

func FuzzResolve(f *testing.F) {
	for _, form := range inputForms {
		f.Add(form.entry)
	}
	f.Add("a/../../..//x/*")
	f.Add("[a-]/{,}/**/**")
	m := fstest.MapFS{
		"ws/pipeline/01-a/CONTEXT.md": {Data: []byte(plainContract)},
		"ws/n/a.md":                   {Data: []byte("a")},
		"ws/n/l":                      {Data: []byte("../../.."), Mode: fs.ModeSymlink},
	}
	w, err := Load(m, "ws", Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, written string) {
		r, err := w.Resolve(m, w.Stages[0], Input{Written: written})
		if err != nil {
			return
		}
		for _, p := range append(r.Files, r.Path) {
			if strings.HasPrefix(p, "..") && (p == ".." || strings.HasPrefix(p, "../")) || strings.HasPrefix(p, "/") {
				t.Errorf("%q leads to %q", written, p)
			}
		}
	})
}
