package workspace

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// oneStage loads a workspace of one stage with a contract, and what else is
// there (paths from the workspace).
func oneStage(t testing.TB, contract string, files ...string) (*Workspace, *Stage, fs.FS) {
	t.Helper()
	return stageWith(t, contract, Options{}, files...)
}

func stageWith(t testing.TB, contract string, opt Options, files ...string) (*Workspace, *Stage, fs.FS) {
	t.Helper()
	m := fstest.MapFS{
		"CLAUDE.md":                    {Data: []byte("# Here\n")},
		"pipeline/01-scope/CONTEXT.md": {Data: []byte("## Process\nScope.\n\n## Outputs\n- objectives.md -> output/\n")},
		"pipeline/02-work/CONTEXT.md":  {Data: []byte(contract)},
	}
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	w, err := Load(m, ".", opt)
	if err != nil {
		t.Fatal(err)
	}
	st, err := w.Stage("02")
	if err != nil {
		t.Fatal(err)
	}
	return w, st, m
}

func kinds(c Contract) string {
	var out []string
	for _, s := range c.Sections {
		if s.Kind == "" {
			out = append(out, "?"+s.Heading)
		} else {
			out = append(out, s.Kind)
		}
	}
	return strings.Join(out, ", ")
}

func TestHeadingsAreReadWhateverTheyWear(t *testing.T) {
	t.Parallel()
	for heading, want := range map[string]string{
		"Inputs":                              KindInputs,
		"2. Inputs (read only these)":         KindInputs,
		"📥 Inputs":                            KindInputs,
		"**INPUTS:**":                         KindInputs,
		"2) `Inputs`":                         KindInputs,
		"II. Inputs":                          KindInputs,
		"Step 3: Process":                     KindProcess,
		"Steps":                               KindProcess,
		"Verify (cross-stage audit)":          KindVerify,
		"Success criteria":                    KindVerify,
		"Audit":                               KindVerify,
		"✅ Verify — before saving":            KindVerify,
		"Hand-off":                            KindHandOff,
		"On  fail":                            KindOnFail,
		"For-each":                            KindForEach,
		"Review gate":                         KindGate,
		"Outputs: what is written":            KindOutputs,
		"Вхідні дані":                         KindInputs,
		"Процес":                              KindProcess,
		"Вихідні дані":                        KindOutputs,
		"Для кожного":                         KindForEach,
		"Уваходныя даныя":                     KindInputs,
		"Працэс":                              KindProcess,
		"Вынікі":                              KindOutputs,
		"Входные данные":                      KindInputs,
		"3. ПРОЦЕСС":                          KindProcess,
		"Критерии приёмки":                    KindVerify,
		"Entrées":                             KindInputs,
		"Processus":                           KindProcess,
		"Sorties":                             KindOutputs,
		"Pour chaque":                         KindForEach,
		"En cas d’échec":                      KindOnFail,
		"Entradas":                            KindInputs,
		"Pasos":                               KindProcess,
		"Salidas":                             KindOutputs,
		"Saídas":                              KindOutputs,
		"Instruções":                          KindProcess,
		"Strumenti":                           KindTools,
		"Uscite":                              KindOutputs,
		"Per ogni":                            KindForEach,
		"Eingaben":                            KindInputs,
		"Ablauf":                              KindProcess,
		"Ausgaben":                            KindOutputs,
		"Für jedes":                           KindForEach,
		"Goal":                                "",
		"Purpose":                             "",
		"Checkpoints":                         "",
		"1. Understand the Requirements":      "",
		"Inputs and what to do with them all": "",
		"":                                    "",
		"🙂":                                   "",
	} {
		if got := newVocabulary(nil).kind(heading); got != want {
			t.Errorf("%q is read as %q, want %q", heading, got, want)
		}
	}
}

func TestSettingsAddWordsForSections(t *testing.T) {
	t.Parallel()
	_, st, _ := stageWith(t, "## Zutaten\n- voice.md\n\n## Kochen\nDo it.\n", Options{
		Synonyms: map[string][]string{"Inputs": {"Zutaten"}, "process": {"Kochen"}},
	})
	if got := kinds(st.Contract); got != "inputs, process" {
		t.Error(got)
	}
}

func TestTheFirstKnownHeadingSetsTheLevel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ src, kinds string }{
		"two":            {"# T\n## Inputs\n- a.md\n### Process\nno\n## Process\nyes\n", "inputs, process"},
		"three":          {"# T\n## Contract\n### Inputs\n- a.md\n### Process\nyes\n## Notes\nx\n", "?Contract, inputs, process, ?Notes"},
		"unknown first":  {"### Why\n\n## Inputs\n- a.md\n### Tools\nno cut\n", "inputs"},
		"setext":         {"Inputs\n------\n- a.md\n\nProcess\n-------\nGo.\n", "inputs, process"},
		"in a fence":     {"```\n## Inputs\n```\n\n## Process\n~~~\n## Outputs\n~~~\n", "process"},
		"in a comment":   {"<!--\n## Tools\nall: all\n-->\n\n## Process\nGo.\n", "process"},
		"in a quote":     {"> ## Inputs\n\n## Process\nGo.\n", "process"},
		"bold":           {"Scope it.\n\n**Inputs:**\n- a.md\n\n**Process**\n\nGo **Inputs** on.\n\n**Outputs:** b.md\n", "inputs, process, outputs"},
		"bold is body":   {"## Process\n\n**Inputs:**\n- a.md\n", "process"},
		"level one":      {"# Inputs\n- a.md\n# Process\nGo.\n", "inputs, process"},
		"numbered twice": {"## 1. ## Inputs\n- a.md\n\n## 2. ## Process\nGo.\n", "inputs, process"},
		"title only":     {"# Process\n\nGo on.\n", ""},
	} {
		_, st, _ := oneStage(t, c.src)
		if got := kinds(st.Contract); got != c.kinds {
			t.Errorf("%s: %s, want %s", name, got, c.kinds)
		}
	}
}

func TestAContractThatIsOneList(t *testing.T) {
	t.Parallel()
	_, st, _ := oneStage(t, "# Stage 02\n\n- Role: You gather.\n- Inputs: `../01-scope/output/o.md`; `_config/policy.md`.\n- Process:\n  1. Collect.\n  2. Sort\n     well.\n- Outputs: `output/evidence.md` — a table.\n- Done when: every claim has a source.\n- Do not: trust pages.\n")
	c := st.Contract
	if got := kinds(c); got != "inputs, process, outputs, verify, ?Do not" {
		t.Error(got)
	}
	if show(c.Inputs) != "../01-scope/output/o.md; _config/policy.md" || showOutputs(c) != "output/evidence.md (a table.)" || len(c.Checks) != 1 || c.Checks[0].Line != 10 {
		t.Errorf("%+v %+v %+v", c.Inputs, c.Outputs, c.Checks)
	}
	if want := "# Stage 02\n\n**Role:** You gather.\n\n1. Collect.\n2. Sort\n   well.\n\n**Do not:** trust pages.\n"; c.Process != want {
		t.Errorf("%q\nwant %q", c.Process, want)
	}
	_, st, _ = oneStage(t, "# Stage 03\n\nInputs: `../01-scope/output/o.md`\nOutput: `output/plan.md`, one page\n\nNote: read well.\n")
	if c := st.Contract; kinds(c) != "inputs, outputs" || show(c.Inputs) != "../01-scope/output/o.md" || showOutputs(c) != "output/plan.md (one page)" || !strings.Contains(c.Process, "Note: read well.") {
		t.Errorf("%s %+v %s %q", kinds(c), c.Inputs, showOutputs(c), c.Process)
	}
	for _, src := range []string{"- Inputs: a.md\n- Note: x\n", "Just text.\n- one\n- two\n"} {
		if _, st, _ := oneStage(t, src); kinds(st.Contract) != "" || st.Contract.Process != src {
			t.Errorf("%q: %s %q", src, kinds(st.Contract), st.Contract.Process)
		}
	}
}

func TestNothingTheAuthorWroteIsLost(t *testing.T) {
	t.Parallel()
	_, st, _ := oneStage(t, `---
owner: me
---
# Stage 02 — Work

One job, and *only* one.

## Purpose

Why it is there.

## Inputs

| Layer | File | Why |
|---|---|---|
| 4 (working) | `+"`../01-scope/output/objectives.md`"+` | the evidence; keep its order |

Load ONLY these files. If `+"`client.md`"+` is a stub, stop.

## Tools
search-server: search
Use Node.js and/or a shell when asked.

## Process
1. First.

   `+"```"+`
   ## Outputs
   `+"```"+`

### Detail
Second.

## Checkpoints
| After | Human |
|---|---|
| 1 | yes |

## Outputs
- notes.md -> output/

Never write anything else.
`)
	c := st.Contract
	want := `# Stage 02 — Work

One job, and *only* one.

## Purpose

Why it is there.

## Inputs

| Layer | File | Why |
|---|---|---|
| 4 (working) | ` + "`../01-scope/output/objectives.md`" + ` | the evidence; keep its order |

Load ONLY these files. If ` + "`client.md`" + ` is a stub, stop.

## Tools
Use Node.js and/or a shell when asked.

## Process
1. First.

   ` + "```" + `
   ## Outputs
   ` + "```" + `

### Detail
Second.

## Checkpoints
| After | Human |
|---|---|
| 1 | yes |

## Outputs
Never write anything else.
`
	if c.Process != want {
		t.Errorf("process text:\n%s\nwant:\n%s", c.Process, want)
	}
	if c.Title != "Stage 02 — Work" || c.ProcessLine != 24 {
		t.Errorf("title %q, process line %d", c.Title, c.ProcessLine)
	}
	if len(c.Inputs) != 1 || len(c.Tools) != 1 || len(c.Outputs) != 1 || len(c.Problems) != 0 {
		t.Errorf("inputs %+v tools %+v outputs %+v problems %v", c.Inputs, c.Tools, c.Outputs, c.Problems)
	}
}

func TestByteOrderMarkAndMixedLineEndsAreRead(t *testing.T) {
	t.Parallel()
	_, st, _ := oneStage(t, "\ufeff---\r\nname: x\r\n---\r\n## Inputs\r\n- Layer 4 (working): ../01-scope/output/objectives.md\r\n\r\n## Process\nGo.\r\n\r## Outputs\r\n- a.md -> output/\r\n")
	c := st.Contract
	if kinds(c) != "inputs, process, outputs" || c.Process != "Go.\n" {
		t.Errorf("%s %q", kinds(c), c.Process)
	}
	if in := c.Inputs; len(in) != 1 || in[0].Written != "../01-scope/output/objectives.md" || in[0].Line != 5 {
		t.Errorf("%+v", in)
	}
}

func TestUnreadableEncodingNamesTheLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		src  string
		line int
	}{
		"UTF-16":  {"\xff\xfe#\x00 \x00", 1},
		"latin 1": {"## Process\n\nCaf\xe9.\n", 3},
		"NUL":     {"## Process\na\x00b\n", 2},
	} {
		_, st, _ := oneStage(t, c.src)
		p := st.Contract.Problems
		if len(p) != 1 || p[0].Code != "encoding" || p[0].Line != c.line || p[0].Severity != Error || !strings.Contains(p[0].Error(), "UTF-8") {
			t.Errorf("%s: %v", name, p)
		}
	}
}

func TestConflictMarkersInAContractAreRefused(t *testing.T) {
	t.Parallel()
	_, st, _ := oneStage(t, "## Process\n<<<<<<< HEAD\nOne.\n=======\nTwo.\n>>>>>>> other\n")
	p := st.Contract.Problems
	if len(p) != 1 || p[0].Code != "merge-conflict" || p[0].Line != 2 || p[0].File != "pipeline/02-work/CONTEXT.md" {
		t.Errorf("%v", p)
	}
	for name, src := range map[string]string{
		"example in a fence": "## Process\nLook for\n```\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n```\n",
		"a setext heading":   "## Process\n\nTitle\n=======\n",
		"no end":             "## Process\n<<<<<<< is how it begins\n",
	} {
		if _, st, _ := oneStage(t, src); len(st.Contract.Problems) != 0 {
			t.Errorf("%s: %v", name, st.Contract.Problems)
		}
	}
}

func TestAFenceInAListItemIsNotCut(t *testing.T) {
	t.Parallel()
	_, st, _ := oneStage(t, "## Process\n- item\n  ```md\n  ## Outputs\n\n  - x.md\n  ```\n- more\n")
	if c := st.Contract; kinds(c) != "process" || !strings.Contains(c.Process, "  - x.md\n  ```\n- more") {
		t.Errorf("%s %q", kinds(c), c.Process)
	}
}

func TestSettingsValuesFillPaths(t *testing.T) {
	t.Parallel()
	_, st, _ := stageWith(t, "## Inputs\n- {{client}}/brief.md\n- {{other}}/x.md\n## Process\n{{client}}\n## Outputs\n- {{client}}-{{n}}.md -> output/\n", Options{Vars: map[string]string{"client": "acme"}})
	c := st.Contract
	if c.Inputs[0].Written != "acme/brief.md" || c.Inputs[1].Written != "{{other}}/x.md" || c.Outputs[0].Name != "acme-{{n}}.md" || c.Process != "{{client}}\n" {
		t.Errorf("%+v %+v %q", c.Inputs, c.Outputs, c.Process)
	}
}
