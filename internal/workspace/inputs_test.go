package workspace

import (
	"fmt"
	"strings"
	"testing"
)

// show writes inputs shortly: path#section L4! ? — the layer only if stated,
// ? for optional.
func show(in []Input) string {
	var out []string
	for _, i := range in {
		s := i.Written
		if i.Section != "" {
			s += "#" + i.Section
		}
		if i.Scope != "" {
			s += "~" + i.Scope
		}
		if i.LayerSet {
			s += fmt.Sprintf(" L%d", i.Layer)
		}
		if i.Optional {
			s += " ?"
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

var inputForms = []struct{ entry, want string }{
	{"Layer 4 (working): ../01-scope/output/objectives.md", "../01-scope/output/objectives.md L4"},
	{"Layer 3 (reference): references/tool-use.md", "references/tool-use.md L3"},
	{"L4: input.md", "input.md L4"},
	{"L4 (working):   ../../setup/goal.md — the goal", "../../setup/goal.md L4"},
	{"Layer 3: `_config/change-safety.md`", "_config/change-safety.md L3"},
	{"**Layer 3 (Reference):** `references/standards.md`", "references/standards.md L3"},
	{"Layer 4 (working, optional): output/rejections.md (If present, read it.)", "output/rejections.md L4 ?"},
	{"Layer 3 (skill): [cut](../../skills/cut/SKILL.md)", "../../skills/cut/SKILL.md L3"},
	{"[L3] voice.md", "voice.md L3"},
	{"`voice.md` (L3)", "voice.md L3"},
	{"Working: input.md", "input.md L4"},
	{"Working (this run): ../01-scope/output/objectives.md", "../01-scope/output/objectives.md L4"},
	{"Reference: ../../_config/voice.md", "../../_config/voice.md L3"},
	{"Шар 3 (довідковий): ../../_config/voice.md", "../../_config/voice.md L3"},
	{"Робочий: input.md", "input.md L4"},
	{"Слой 4 (рабочий): input.md", "input.md L4"},
	{"Couche 3 (référence) : ../../_config/voice.md", "../../_config/voice.md L3"},
	{"Capa 4 (trabajo): input.md, opcional", "input.md L4 ?"},
	{"Schicht 3: voice.md", "voice.md L3"},
	{"../../_config/voice.md", "../../_config/voice.md"},
	{"Brief: ../01-scope/output/objectives.md", "../01-scope/output/objectives.md"},
	{"Style guide — `../../_config/voice.md`", "../../_config/voice.md"},
	{"[Voice](../../_config/voice.md) — how it sounds", "../../_config/voice.md"},
	{"[[voice.md]]", "voice.md"},
	{"@../../_config/voice.md", "../../_config/voice.md"},
	{"[ ] `a.md`", "a.md"},
	{"`a.md`, `b/c.md` and `d.md`", "a.md; b/c.md; d.md"},
	{"a.md, b/c.md; d.json", "a.md; b/c.md; d.json"},
	{"`../01-scope/output/a.md` and `b.md` — both", "../01-scope/output/a.md; ../01-scope/output/b.md"},
	{"notes.md, optional", "notes.md ?"},
	{"notes.md (optional)", "notes.md ?"},
	{"(optional) `notes.md`", "notes.md ?"},
	{"`notes.md`, if present", "notes.md ?"},
	{"notes.md, необов'язково", "notes.md ?"},
	{"notes.md (facultatif)", "notes.md ?"},
	{"Layer 3: references/", "references/ L3"},
	{"../01-scope/output/*.md", "../01-scope/output/*.md"},
	{"notes/**/*.md", "notes/**/*.md"},
	{"*.md, notes/*.md", "*.md; notes/*.md"},
	{"guide.md#Voice", "guide.md#Voice"},
	{"`guide.md#voice-and-tone`", "guide.md#voice-and-tone"},
	{"guide.md § Voice", "guide.md#Voice"},
	{"`guide.md` § Voice and tone, `b.md`", "guide.md#Voice and tone; b.md"},
	{"`guide.md` (section: Voice)", "guide.md#Voice"},
	{"[guide](guide.md#Voice%20rules)", "guide.md#Voice rules"},
	{"../03/output/sections/       # one for each topic", "../03/output/sections/"},
	{"../../_config/my voice.md", "../../_config/my voice.md"},
	{"`my voice.md`", "my voice.md"},
	{"[guide](<my files/the guide.md>)", "my files/the guide.md"},
	{`.\references\tool-use.md`, "./references/tool-use.md"},
	{`../\_config/voice\_guide.md`, "../_config/voice_guide.md"},
	{"voice_guide_v2.md and _config/audience_en.md", "voice_guide_v2.md; _config/audience_en.md"},
	{"The approved outline from `../03-outline/output/outline.md`.", "../03-outline/output/outline.md"},
	{"Current request and [progress](../../PROGRESS.md)", "../../PROGRESS.md"},
	{"Token map (`../../_config/token-map.md`) — source of truth", "../../_config/token-map.md"},
	{"Own references → `./references/`", "./references/"},
	{"Mockups: `../01-scope/output/a.html` (dashboard), `b.html`, `c.html`", "../01-scope/output/a.html; ../01-scope/output/b.html; ../01-scope/output/c.html"},
	{"Whatever is in there.txt", "there.txt"},
	{"Notes on Node.js and/or Deno", ""},
	{"Node.js", ""},
	{"and/or", ""},
	{"n/a", ""},
	{"User's topic (from chat)", ""},
	{"https://example.org/a.md", ""},
	{"[site](https://example.org/a.md)", ""},
	{"[below](#notes)", ""},
	{"Layer 4 (working): receipts and bank statements provided by Jamie.", ""},
	{"Supplementary data (if configured in project.json)", ""},
	{"Run `python tools/check.py --all` first", ""},
	{"Do not read `../01-scope/output/objectives.md`", ""},
	{"None", ""},
	{"жодних", ""},
	{"aucun", ""},
	{"—", ""},
}

func TestEveryFormOfAnInput(t *testing.T) {
	t.Parallel()
	for _, f := range inputForms {
		_, st, _ := oneStage(t, "## Inputs\n- "+f.entry+"\n\n## Process\nGo.\n", "there.txt=x", "project.json={}")
		if got := show(st.Contract.Inputs); got != f.want {
			t.Errorf("%q is read as %q, want %q", f.entry, got, f.want)
		}
		if len(st.Contract.Problems) > 0 {
			t.Errorf("%q: %v", f.entry, st.Contract.Problems)
		}
	}
}

func TestInputsInOtherShapes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"lines":                  {"Layer 4 (working): input.md\nLayer 3 (reference): voice.md\n", "input.md L4; voice.md L3"},
		"numbered":               {"1. `input.md`\n2. `voice.md`\n", "input.md; voice.md"},
		"nested":                 {"- Layer 3 (reference):\n  - ../../_config/voice.md\n  - references/a.md\n- Working\n  - input.md\n", "../../_config/voice.md L3; references/a.md L3; input.md"},
		"grouped by headings":    {"### Layer 3 (Reference)\n- voice.md\n\n### Working material (optional)\n- input.md\n", "voice.md L3; input.md L4 ?"},
		"grouped by labels":      {"**Reference:**\n\n- voice.md\n\nWorking this run:\n- input.md\n", "voice.md L3; input.md L4"},
		"sentences":              {"Read `../01-scope/output/objectives.md` and [the voice](../../_config/voice.md). Do not open `../../secret.md`.\n", "../01-scope/output/objectives.md; ../../_config/voice.md"},
		"sentences after a list": {"- input.md\n\nDo NOT load: prior `output/` content,\n`old/notes.md` or `later/x.md`.\n", "input.md"},
		"details below a path":   {"- `input.md`\n  - the `title` and `notes.md` of it\n", "input.md"},
		"the course's table": {"| Source | File/Location | Section/Scope | Why |\n|---|---|---|---|\n| User | (conversation) | Brief | What to do |\n| Stage 1 | `../01-scope/output/objectives.md` | Full file | The goals |\n| Config | ../../_config/voice.md | \"Tone\" + \"Words\" | Style |\n| Reference | references/a.md | Relevant part | x |\n",
			`../01-scope/output/objectives.md; ../../_config/voice.md#"Tone" + "Words" L3; references/a.md~Relevant part L3`},
		"layers":             {"| Layer | File | What to use it for |\n|---|---|---|\n| 4 (working) | `a.md` | x |\n| **Layer 3 (Reference)** | `b.md` | y |\n| L3 | [c](c/c.md) | z |\n", "a.md L4; b.md L3; c/c.md L3"},
		"required":           {"| Input | Source | Format | Required |\n|---|---|---|---|\n| Problem | `a.md` | Markdown | ✅ |\n| Rules | `_config/rules.md` § Limits | Section | yes |\n| Prior art | `b.md` | List | ❌ |\n| Talk | from the operator | List | no |\n", "a.md; _config/rules.md#Limits; b.md ?"},
		"source is the path": {"| Source | What to Load |\n|---|---|\n| `00-intake/output/scope.md` | goals |\n| `backend/src/` | code |\n", "00-intake/output/scope.md; backend/src/"},
		"several in a cell":  {"| File | Why |\n|---|---|\n| `a.md`; [b](b.md), `c/d.json` | x |\n", "a.md; b.md; c/d.json"},
		"groups of tables":   {"Working this run:\n| File | Why |\n|---|---|\n| a.md | x |\n\nReference every run:\n| File | Why |\n|---|---|\n| b.md | x |\n", "a.md L4; b.md L3"},
		"Ukrainian":          {"| Шар | Файл | Розділ | Обов'язково |\n|---|---|---|---|\n| 4 (робочий) | `input.md` | весь файл | так |\n| 3 | `voice.md` | \"Тон\" | ні |\n", "input.md L4; voice.md#\"Тон\" L3 ?"},
		"German":             {"| Ebene | Datei | Pflicht |\n|---|---|---|\n| 3 | `voice.md` | nein |\n", "voice.md L3 ?"},
		"unknown columns":    {"| Name | Stuff |\n|---|---|\n| Goals | ../01-scope/output/objectives.md |\n", "../01-scope/output/objectives.md"},
		"escaped bar":        {"| File | Why |\n|---|---|\n| `a.md` | x \\| y |\n", "a.md"},
		"names to fill in":   {"- `../01-scope/output/[slug]-plan.md`\n- `reels/<slug>/raw/`\n", "../01-scope/output/[slug]-plan.md; reels/<slug>/raw/"},
		"commented out":      {"- input.md\n<!-- - old.md -->\n", "input.md"},
		"fence":              {"```\ntopic: a.md\n```\n", ""},
		"none":               {"None. This is the first stage.\n", ""},
	} {
		_, st, _ := oneStage(t, "## Inputs\n"+c.body+"\n## Process\nGo.\n")
		if got := show(st.Contract.Inputs); got != c.want {
			t.Errorf("%s: %q\nwant %q", name, got, c.want)
		}
	}
}

func TestWhatStandsBesideAPathStaysInTheProcess(t *testing.T) {
	t.Parallel()
	_, st, _ := oneStage(t, "## Inputs\n- Layer 3 (reference): a.md\n- b.md — mind the order\n- Notes on Node.js and/or Deno\n- c.md, optional\n\n## Process\nGo.\n")
	if got, want := st.Contract.Process, "## Inputs\n- b.md — mind the order\n- Notes on Node.js and/or Deno\n\n## Process\nGo.\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if st.Contract.Inputs[1].Note != "mind the order" {
		t.Errorf("%+v", st.Contract.Inputs[1])
	}
}

func FuzzContract(f *testing.F) {
	for _, form := range inputForms {
		f.Add("## Inputs\n- " + form.entry + "\n## Process\nGo.\n## Outputs\n- " + form.entry + "\n")
	}
	f.Add("**Inputs:** a.md\n**Outputs:** b.md -> output/\n")
	f.Add("## Inputs\n| Layer | File |\n|---|---|\n| 4 | `a.md` |\n## For each\nitem in a.md, 2 at a time\n## Verify\n- words: 1..2\n## Stop\n- rounds: 2\n")
	f.Add("---\n---\n---\n# a\n")
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 1<<16 {
			return
		}
		w, st, m := oneStage(t, src)
		for _, in := range st.Contract.Inputs {
			res, err := w.Resolve(m, st, in)
			if err == nil && (strings.HasPrefix(res.Path, "../") || res.Path == "..") {
				t.Errorf("%q leaves the tree: %q", in.Written, res.Path)
			}
		}
		if st.Contract.ForEach != nil {
			_, _ = w.Items(m, st)
		}
		// A section of its own that is not known always stays.
		_, st2, _ := oneStage(t, "## Process\nGo.\n\n## Zebra\n\nkept word\n")
		if !strings.Contains(st2.Contract.Process, "## Zebra\n\nkept word") {
			t.Error("an unknown section got lost")
		}
	})
}
