package workspace

import (
	"strings"
	"testing"
)

func showOutputs(c Contract) string {
	var out []string
	for _, o := range c.Outputs {
		s := strings.TrimPrefix(o.Path, "pipeline/02-work/")
		if o.Outside {
			s += " outside"
		}
		if o.Folder {
			s += " folder"
		}
		if o.Optional {
			s += " ?"
		}
		if o.Description != "" {
			s += " (" + o.Description + ")"
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

func TestEveryFormOfAnOutput(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"- objectives.md -> output/":                              "output/objectives.md",
		"- `notes.md` → output/":                                  "output/notes.md",
		"objectives.md -> output/":                                "output/objectives.md",
		"- a.md, b.md -> output/":                                 "output/a.md; output/b.md",
		"- `a.md` and `b.md`":                                     "output/a.md; output/b.md",
		"- a.md -> output/\n- b.json -> output/":                  "output/a.md; output/b.json",
		"- output/a.md — what was found":                          "output/a.md (what was found)",
		"- output/a.md - what was found":                          "output/a.md (what was found)",
		"- `output/a.md`: what was found":                         "output/a.md (what was found)",
		"- `a.md` (the findings) -> output/":                      "output/a.md (the findings) -> output/)",
		"- `plan.md` -> `output/plan.md`":                         "output/plan.md",
		"- `plan.md` → Stage 02 input":                            "output/plan.md (Stage 02 input)",
		"- stages/x.md":                                           "stages/x.md outside",
		"- pipeline/02-work/output/a.md":                          "output/a.md",
		"- **Report:** `output/report.md`, one page":              "output/report.md (Report: one page)",
		"- (optional) `extra.md` -> output/":                      "output/extra.md ?",
		"- {{n}}-{{item}}.md -> output/":                          "output/{{n}}-{{item}}.md",
		"- My report.md -> output/":                               "output/My report.md",
		"- sections/a.md -> output/":                              "output/sections/a.md",
		"- ../../content/a.md":                                    "content/a.md outside",
		"- Updates to `_config/voice.md` and `_config/words.md`":  "_config/voice.md outside (Updates to `_config/voice.md` and `_config/words.md`); _config/words.md outside (Updates to `_config/voice.md` and `_config/words.md`)",
		"- `output/` — the drafts":                                "output folder (the drafts)",
		"- A short summary of what was found":                     "",
		"- output/a.md\n- **Review gate**: a person reads `b.md`": "output/a.md",
		"- none": "",
		"Update [scope](output/scope.md), or name a new one.":                                                                     "output/scope.md",
		"See `shared/catalog.md`:\n- `{slug}-flows.md`":                                                                           "output/{slug}-flows.md",
		"| Artifact | Location | Format |\n|---|---|---|\n| Notes | `output/notes.md` | Markdown |\n| Site | Production | live |": "output/notes.md (Notes — Markdown)",
		"| File | Location | Purpose |\n|---|---|---|\n| `report.md` | `output/` | for people |":                                  "output/report.md (for people)",
		"| File | Location |\n|---|---|\n| report.md | pipeline/02-work/output/ |":                                                "output/report.md",
		"| Output | Path |\n|---|---|\n| Brief | `pipeline/02-work/output/brief.md` |\n| Counter | Inside `brief.md` § Counter |": "output/brief.md (Brief)",
		"| File | Contents |\n|---|---|\n| `output/a.md` | all |\n| `output/b.md` | rest |":                                       "output/a.md (all); output/b.md (rest)",
	} {
		_, st, _ := oneStage(t, "## Process\nGo.\n\n## Outputs\n"+body+"\n")
		if got := showOutputs(st.Contract); got != want {
			t.Errorf("%q is read as %q, want %q", body, got, want)
		}
	}
}

func TestOutputsThatNeedLeaveAreProblems(t *testing.T) {
	t.Parallel()
	for body, code := range map[string]string{
		"- ../../content/a.md":               "output-outside",
		"- ../../../../../etc/passwd":        "output-outside",
		"- output/../../03-next/output/x.md": "output-outside",
		"- output/":                          "output-folder",
		"- Notes.md\n- notes.md":             "output-twins",
		"- caf\u00e9.md\n- cafe\u0301.md":    "output-twins",
	} {
		_, st, _ := oneStage(t, "## Process\nGo.\n\n## Outputs\n"+body+"\n")
		p := st.Contract.Problems
		if len(p) != 1 || p[0].Code != code || p[0].Severity != Error || p[0].Line < 5 {
			t.Errorf("%q: %v, want one %s", body, p, code)
		}
	}
}

func TestWhatStandsBelowAnOutputDescribesIt(t *testing.T) {
	t.Parallel()
	_, st, _ := oneStage(t, "## Process\nGo.\n\n## Outputs\n- a.md -> output/\n  - a title\n  - `b.md` is named in it\n- c.md -> output/\n")
	c := st.Contract
	if len(c.Outputs) != 2 || c.Outputs[0].Description != "  - a title\n  - `b.md` is named in it" && c.Outputs[0].Description != "- a title\n  - `b.md` is named in it" {
		t.Errorf("%+v", c.Outputs)
	}
	if c.Process != "Go.\n" {
		t.Errorf("%q", c.Process)
	}
}

func TestAnOutputPerItem(t *testing.T) {
	t.Parallel()
	_, st, _ := oneStage(t, "## Process\nGo.\n## Outputs\n- part-{{n}}.md -> output/\n- all.md -> output/\n")
	if o := st.Contract.Outputs; !o[0].PerItem() || o[1].PerItem() {
		t.Errorf("%+v", o)
	}
}
