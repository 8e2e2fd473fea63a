package prompt

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"towpath/internal/workspace"
)

// tree is a workspace at the root of a tree: path, text, path, text, ...
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

func stage(t testing.TB, w *workspace.Workspace, name string) *workspace.Stage {
	t.Helper()
	st, err := w.Stage(name)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func build(t testing.TB, fsys fs.FS, name string, opt Options) *Context {
	t.Helper()
	w := load(t, fsys)
	c, err := Build(fsys, w, stage(t, w, name), opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// two is a workspace of two stages; the second reads of every layer.
func two() fstest.MapFS {
	return tree(
		"CLAUDE.md", "# Who\n\nYou are here.\n",
		"CONTEXT.md", "# Routing\n\nTwo stages.\n",
		"_config/voice.md", "# Voice\n\nPlain.\n",
		"_config/guide.md", "# Guide\n\n## Voice\n\nWarm.\n\n## Layout\n\nWide.\n",
		"pipeline/01-a/CONTEXT.md", "# A\n\n## Inputs\n- input.md\n\n## Process\nMake it.\n\n## Outputs\n- a.md -> output/\n",
		"pipeline/01-a/input.md", "The idea.\n",
		"pipeline/01-a/output/a.md", "# Result\n\nUse {{item}} and {{unknown}}.\n",
		"pipeline/02-b/CONTEXT.md", `# B

## Inputs
- Layer 4 (working): ../01-a/output/a.md
- Layer 3 (reference): ../../_config/voice.md
- Layer 3 (reference): ../../_config/guide.md#Layout
- Layer 4 (working): notes.md, optional

## Process
Work on {{stage}}.

## Outputs
- b.md -> output/
`,
	)
}

func TestOrderAndBytes(t *testing.T) {
	t.Parallel()
	c := build(t, two(), "02-b", Options{})
	system := `## CLAUDE.md

# Who

You are here.

## CONTEXT.md

# Routing

Two stages.

# Reference files: constraints to follow in all that you write

## _config/voice.md

# Voice

Plain.

## _config/guide.md § Layout

## Layout

Wide.`
	user := `# B

Work on 02-b.

## pipeline/01-a/output/a.md

# Result

Use {{item}} and {{unknown}}.

Reply with the full content of b.md and nothing else: your reply is saved word for word, so put no remarks before or after it and no code fence around it.`
	if c.System != system {
		t.Errorf("system text:\n%s\nwant:\n%s", c.System, system)
	}
	if c.User != user {
		t.Errorf("user text:\n%s\nwant:\n%s", c.User, user)
	}
	var parts []string
	for _, p := range c.Parts {
		parts = append(parts, fmt.Sprintf("%d %s", p.Layer, p.Title()))
	}
	want := []string{"0 CLAUDE.md", "1 CONTEXT.md", "3 _config/voice.md", "3 _config/guide.md § Layout", "2 pipeline/02-b/CONTEXT.md", "4 pipeline/01-a/output/a.md"}
	if !slices.Equal(parts, want) {
		t.Errorf("parts %q, want %q", parts, want)
	}
	files := slices.Sorted(maps.Keys(c.Files))
	want = []string{"CLAUDE.md", "CONTEXT.md", "_config/guide.md", "_config/voice.md", "pipeline/01-a/output/a.md", "pipeline/02-b/CONTEXT.md"}
	if !slices.Equal(files, want) {
		t.Errorf("files %q, want %q", files, want)
	}
	if c.Hash != hashOf(c.System, c.User) || c.Files["_config/voice.md"] != hash([]byte("# Voice\n\nPlain.\n")) {
		t.Error("hashes are not those of the bytes")
	}
	w := load(t, two())
	alone, err := Files(two(), w, stage(t, w, "02-b"))
	if err != nil || !maps.Equal(alone, c.Files) {
		t.Errorf("Files gives %v, %v; Build gives %v", alone, err, c.Files)
	}
}

func TestAnItemsPromptEndsWithWhatItNeeds(t *testing.T) {
	t.Parallel()
	fsys := two()
	fsys["pipeline/02-b/CONTEXT.md"].Data = []byte("## Inputs\n- ../01-a/output/a.md\n\n## For each\npart in list.md, with summaries\n\n## Process\nWrite {{n}} of {{total}}: {{item}}.\n\n## Outputs\n- b.md -> output/\n")
	fsys["pipeline/02-b/list.md"] = &fstest.MapFile{Data: []byte("## One\n\nx\n\n## Two {{n}}\n\ny\n")}
	it := &workspace.Item{N: 2, Title: "Two {{n}}", Text: "## Two {{n}}\n\ny\n", Line: 5, File: "pipeline/02-b/list.md"}
	c := build(t, fsys, "02-b", Options{Item: it, Total: 2,
		Earlier:   []Summary{{"One", "It was said."}, {"Zero", ""}},
		Rejection: &Rejection{Output: "Old text.\n", Reason: "Too {{n}} short.\n"}})
	want := `Write 2 of 2: Two {{n}}.

## pipeline/01-a/output/a.md

# Result

Use {{item}} and {{unknown}}.

The part to work on, 2 of 2, stands between the lines:

---

## Two {{n}}

y

---

## Already covered: do not repeat

- One: It was said.
- Zero

## Your earlier output, which was sent back

Old text.

## Why it was sent back: mend this

Too {{n}} short.

Do not give the earlier output again. Write a new one in which what it was sent back for is mended. Reply with this part's part of b.md and nothing else: your reply is saved word for word, so put no remarks before or after it and no code fence around it.`
	if c.User != want {
		t.Errorf("user text:\n%s\nwant:\n%s", c.User, want)
	}
	if c.Files["pipeline/02-b/list.md"] == "" {
		t.Error("the source of the items does not count for staleness")
	}
	w := load(t, fsys)
	if _, err := Build(fsys, w, stage(t, w, "02-b"), Options{}); !errors.Is(err, ErrNoItem) {
		t.Errorf("a for-each without an item: %v", err)
	}
}

func TestBracesInInputsStay(t *testing.T) {
	t.Parallel()
	c := build(t, two(), "02-b", Options{Vars: map[string]string{"unknown": "REPLACED", "item": "REPLACED"}})
	if !strings.Contains(c.User, "Use {{item}} and {{unknown}}.") {
		t.Errorf("an input was substituted:\n%s", c.User)
	}
}

func TestPlaceholderWithoutValueIsRefusedBeforeTheCall(t *testing.T) {
	t.Parallel()
	fsys := two()
	fsys["pipeline/01-a/CONTEXT.md"].Data = []byte("## Process\nWrite for {{reader}}.\n\n## Outputs\n- a.md -> output/\n")
	w := load(t, fsys)
	_, err := Build(fsys, w, stage(t, w, "01-a"), Options{})
	var pe *PlaceholderError
	if !errors.As(err, &pe) || len(pe.List) != 1 || pe.List[0].Line != 2 || !strings.HasPrefix(err.Error(), "pipeline/01-a/CONTEXT.md:2: ") {
		t.Fatalf("got %v", err)
	}
	c, err := Build(fsys, w, stage(t, w, "01-a"), Options{Vars: map[string]string{"reader": "children"}})
	if err != nil || !strings.HasPrefix(c.User, "Write for children.") {
		t.Errorf("%v, %v", c, err)
	}
}

func TestMissingInputsAreAllNamed(t *testing.T) {
	t.Parallel()
	fsys := two()
	delete(fsys, "pipeline/01-a/output/a.md")
	delete(fsys, "_config/voice.md")
	w := load(t, fsys)
	_, err := Build(fsys, w, stage(t, w, "02-b"), Options{})
	var me *MissingError
	if !errors.As(err, &me) || len(me.List) != 2 {
		t.Fatalf("got %v", err)
	}
	first, second := me.List[0], me.List[1]
	if first.Line != 4 || first.Path != "pipeline/01-a/output/a.md" || first.Maker != "01-a" || !strings.Contains(first.Mend, "run stage 01-a first") {
		t.Errorf("first is %+v", first)
	}
	if second.Line != 5 || second.Maker != "" || second.Mend == "" {
		t.Errorf("second is %+v", second)
	}
	if !strings.Contains(err.Error(), "pipeline/02-b/CONTEXT.md:4: ") || !strings.Contains(err.Error(), "pipeline/02-b/CONTEXT.md:5: ") {
		t.Errorf("the message is %q", err)
	}
}

func TestProbeShowsWhatIsYetToBeMade(t *testing.T) {
	t.Parallel()
	fsys := two()
	delete(fsys, "pipeline/01-a/output/a.md")
	c := build(t, fsys, "02-b", Options{Probe: true})
	var pending []string
	for _, p := range c.Parts {
		if p.Pending != "" {
			pending = append(pending, p.Path+" from "+p.Pending)
		}
	}
	if want := []string{"pipeline/01-a/output/a.md from 01-a"}; !slices.Equal(pending, want) {
		t.Errorf("pending %q, want %q", pending, want)
	}
	if strings.Contains(c.User, "01-a/output") {
		t.Errorf("a pending input has a heading in the prompt:\n%s", c.User)
	}
}

func TestLineEndsAndMarkDoNotChangeThePrompt(t *testing.T) {
	t.Parallel()
	unix := build(t, two(), "02-b", Options{})
	fsys := two()
	for _, f := range fsys {
		f.Data = []byte("\ufeff" + strings.ReplaceAll(string(f.Data), "\n", "\r\n"))
	}
	dos := build(t, fsys, "02-b", Options{})
	if dos.System != unix.System || dos.User != unix.User || dos.Hash != unix.Hash {
		t.Errorf("with CRLF and a mark:\n%q\n%q\nwithout:\n%q\n%q", dos.System, dos.User, unix.System, unix.User)
	}
}

func TestWhatIsNotTextIsRefusedByType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ data, want string }{
		{"%PDF-1.7\n\x00", "a PDF document"},
		{"\x89PNG\r\n\x1a\n", "a PNG image"},
		{"PK\x03\x04rest", "a ZIP archive"},
		{"\xff\xfea\x00", "UTF-16 text"},
		{"caf\xe9", "an encoding other than UTF-8"},
		{"a\x00b", "binary data"},
	} {
		fsys := two()
		fsys["pipeline/01-a/output/a.md"].Data = []byte(c.data)
		w := load(t, fsys)
		_, err := Build(fsys, w, stage(t, w, "02-b"), Options{})
		var fe *FileError
		if !errors.As(err, &fe) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "pipeline/02-b/CONTEXT.md:4: pipeline/01-a/output/a.md ") {
			t.Errorf("%q: %v", c.data, err)
		}
		project := func(name string, data []byte) (string, error) { return "text of " + name, nil }
		ctx, err := Build(fsys, w, stage(t, w, "02-b"), Options{Project: project})
		if err != nil || !strings.Contains(ctx.User, "text of pipeline/01-a/output/a.md") {
			t.Errorf("%q is not projected: %v", c.data, err)
		}
	}
}

func TestAFileOverTheBoundIsRefusedByName(t *testing.T) {
	t.Parallel()
	fsys := two()
	fsys["pipeline/01-a/output/a.md"].Data = []byte(strings.Repeat("x", MaxFile+1))
	w := load(t, fsys)
	_, err := Build(fsys, w, stage(t, w, "02-b"), Options{})
	if err == nil || !strings.Contains(err.Error(), "pipeline/01-a/output/a.md is larger than 8 MiB") {
		t.Fatalf("got %v", err)
	}
	fsys["pipeline/01-a/output/a.md"].Data = []byte(strings.Repeat("x", MaxFile))
	if _, err := Build(fsys, w, stage(t, w, "02-b"), Options{}); err != nil {
		t.Errorf("at the bound: %v", err)
	}
}

func TestASectionThatIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	fsys := two()
	fsys["_config/guide.md"].Data = []byte("# Guide\n\n## Voice\n\nWarm.\n")
	w := load(t, fsys)
	_, err := Build(fsys, w, stage(t, w, "02-b"), Options{})
	if err == nil || !strings.HasPrefix(err.Error(), `pipeline/02-b/CONTEXT.md:6: _config/guide.md has no section "Layout"`) {
		t.Errorf("got %v", err)
	}
}

func TestAMergeConflictInAnInputIsRefused(t *testing.T) {
	t.Parallel()
	fsys := two()
	fsys["pipeline/01-a/output/a.md"].Data = []byte("# R\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n")
	w := load(t, fsys)
	_, err := Build(fsys, w, stage(t, w, "02-b"), Options{})
	if err == nil || !strings.Contains(err.Error(), "pipeline/01-a/output/a.md holds an unresolved merge conflict at line 2") {
		t.Errorf("got %v", err)
	}
	fsys["pipeline/01-a/output/a.md"].Data = []byte("A conflict looks so:\n\n```\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n```\n")
	if _, err := Build(fsys, w, stage(t, w, "02-b"), Options{}); err != nil {
		t.Errorf("a quoted conflict is refused: %v", err)
	}
}

func TestAFileNamedTwiceIsSentOnce(t *testing.T) {
	t.Parallel()
	fsys := two()
	fsys["pipeline/02-b/CONTEXT.md"].Data = []byte("## Inputs\n- ../../CLAUDE.md\n- ../../_config/voice.md\n- ../../_config/\n- CONTEXT.md\n\n## Process\nGo.\n\n## Outputs\n- b.md -> output/\n")
	c := build(t, fsys, "02-b", Options{})
	for _, s := range []string{"You are here.", "Plain.", "Warm.", "Go.", "Two stages."} {
		if n := strings.Count(c.System+c.User, s); n != 1 {
			t.Errorf("%q stands %d times in:\n%s\n%s", s, n, c.System, c.User)
		}
	}
}

func TestSeveralOutputsAreAskedForOneByOne(t *testing.T) {
	t.Parallel()
	fsys := two()
	fsys["pipeline/01-a/CONTEXT.md"].Data = []byte("## Tools\nsearch-server: search\n\n## Process\nGo.\n\n## Outputs\n- a.md -> output/\n- `b.json` — the same as data.\n")
	w := load(t, fsys)
	st := stage(t, w, "01-a")
	c, err := Build(fsys, w, st, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "There are 2 files to write, each asked for in a message of its own: a.md, b.json. When your work with the tools is done, reply with the full content of a.md and nothing else: your reply is saved word for word, so put no remarks before or after it and no code fence around it."
	if !strings.HasSuffix(c.User, "\n\n"+want) {
		t.Errorf("the statement is\n%s\nwant\n%s", c.User, want)
	}
	want = "Now reply with the full content of b.json (the same as data) and nothing else: your reply is saved word for word, so put no remarks before or after it and no code fence around it."
	if got := (Options{}).OutputRequest(st, 2); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSameFilesSamePrompt builds random workspaces twice.
func TestSameFilesSamePrompt(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range r.IntN(40) {
			b.WriteString([]string{"word", "\n", "# H\n", "{{n}}", "```\n", "- x\n", "é", "\r\n", "| a |\n", " "}[r.IntN(10)])
		}
		return b.String()
	}
	for range 50 {
		fsys := two()
		for name, f := range fsys {
			if !strings.HasSuffix(name, "CONTEXT.md") && !strings.HasSuffix(name, "guide.md") {
				f.Data = []byte("x" + text())
			}
		}
		first := build(t, fsys, "02-b", Options{Vars: map[string]string{"a": "1", "b": "2", "c": "3"}})
		for range 3 {
			again := build(t, maps.Clone(fsys), "02-b", Options{Vars: map[string]string{"c": "3", "b": "2", "a": "1"}})
			if again.Hash != first.Hash || again.System != first.System || again.User != first.User || again.Tokens != first.Tokens {
				t.Fatalf("two prompts from the same files:\n%s\n---\n%s", first.User, again.User)
			}
		}
		if whole := Estimate(first.System) + Estimate(first.User); first.Tokens < whole-30 || first.Tokens > whole+60 {
			t.Errorf("counted by parts %d, whole %d", first.Tokens, whole)
		}
	}
}

// TestTheCourseStaysFocused: a typical stage of the course takes 900 to 1,500
// tokens once the earlier stages have left their results.
func TestTheCourseStaysFocused(t *testing.T) {
	t.Parallel()
	fsys := course(t)
	w := load(t, fsys)
	for _, st := range w.Stages {
		opt := Options{}
		if st.Contract.ForEach != nil {
			list, err := w.Items(fsys, st)
			if err != nil || len(list.Items) != 4 {
				t.Fatalf("%s: %d items, %v", st.Name, len(list.Items), err)
			}
			opt.Item, opt.Total = &list.Items[1], len(list.Items)
		}
		c, err := Build(fsys, w, st, opt)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d tokens", st.Name, c.Tokens)
		if c.Tokens < 900 || c.Tokens > 1500 {
			t.Errorf("%s takes %d tokens", st.Name, c.Tokens)
		}
	}
}

// course is the example of the method with results in the earlier stages.
func course(t testing.TB) fs.FS {
	t.Helper()
	m := fstest.MapFS{}
	root := os.DirFS("../../testdata/fixtures/course-research")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		m[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	results := os.DirFS("testdata/course-results")
	for name, to := range map[string]string{"objectives.md": "01-scope", "notes.md": "02-research", "outline.md": "03-outline"} {
		data, err := fs.ReadFile(results, name)
		if err != nil {
			t.Fatal(err)
		}
		m["pipeline/"+to+"/output/"+name] = &fstest.MapFile{Data: data}
	}
	return m
}
