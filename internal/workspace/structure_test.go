package workspace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parseOne(t testing.TB, section string) Contract {
	t.Helper()
	_, st, _ := oneStage(t, "## Process\nGo.\n\n"+section+"\n")
	return st.Contract
}

func TestToolsPerServer(t *testing.T) {
	t.Parallel()
	c := parseOne(t, "## Tools\nsearch-server: search\nbrowser-server: summarize, extract (required)\n- `files`: all\n- mail: send_*\n- Web search, when it helps\n- Primary: the web search tool")
	want := []ToolGrant{
		{Server: "search-server", Tools: []string{"search"}, Line: 5},
		{Server: "browser-server", Tools: []string{"summarize", "extract"}, Required: true, Line: 6},
		{Server: "files", All: true, Line: 7},
		{Server: "mail", Tools: []string{"send_*"}, Line: 8},
	}
	if d := cmp.Diff(want, c.Tools); d != "" {
		t.Error(d)
	}
	if c.Process != "Go.\n\n## Tools\n- Web search, when it helps\n- Primary: the web search tool\n" {
		t.Errorf("%q", c.Process)
	}
	for _, none := range []string{"none", "None.", "- none", "жодних", "Ніяких", "нет", "aucun", "ninguna", "nenhuma", "nessuno", "keine", "—"} {
		if c := parseOne(t, "## Tools\n"+none); len(c.Tools) != 0 || c.Process != "Go.\n" {
			t.Errorf("%q: %v %q", none, c.Tools, c.Process)
		}
	}
}

func TestForEachForms(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]ForEach{
		"module in ../03-outline/output/outline.md":                    {Word: "module", Source: Input{Written: "../03-outline/output/outline.md"}, AtATime: 1},
		"- module in `../03-outline/output/outline.md`":                {Word: "module", Source: Input{Written: "../03-outline/output/outline.md"}, AtATime: 1},
		"each learning objective in ../01-scope/output/objectives.md.": {Word: "learning objective", Source: Input{Written: "../01-scope/output/objectives.md"}, AtATime: 1},
		"module in a.md, 2 at a time":                                  {Word: "module", Source: Input{Written: "a.md"}, AtATime: 2},
		"module in a.md, with summaries":                               {Word: "module", Source: Input{Written: "a.md"}, AtATime: 1, Summaries: true},
		"module in a.md, 3 at a time, with summaries":                  {Word: "module", Source: Input{Written: "a.md"}, AtATime: 3, Summaries: true},
		"module in a.md, with summaries, 3 at a time":                  {Word: "module", Source: Input{Written: "a.md"}, AtATime: 3, Summaries: true},
		"page in notes/*.md":                                           {Word: "page", Source: Input{Written: "notes/*.md"}, AtATime: 1},
		"part in guide.md#Parts":                                       {Word: "part", Source: Input{Written: "guide.md", Section: "Parts"}, AtATime: 1},
		"модуль у ../03-outline/output/outline.md, 2 одночасно, з підсумками": {Word: "модуль", Source: Input{Written: "../03-outline/output/outline.md"}, AtATime: 2, Summaries: true},
		"модуль в a.md, по 2":                                  {Word: "модуль", Source: Input{Written: "a.md"}, AtATime: 2},
		"module dans a.md, 2 à la fois, avec résumés":          {Word: "module", Source: Input{Written: "a.md"}, AtATime: 2, Summaries: true},
		"módulo en a.md, 2 a la vez, con resúmenes":            {Word: "módulo", Source: Input{Written: "a.md"}, AtATime: 2, Summaries: true},
		"Modul in a.md, 2 gleichzeitig, mit Zusammenfassungen": {Word: "Modul", Source: Input{Written: "a.md"}, AtATime: 2, Summaries: true},
		"a.md":                {Source: Input{Written: "a.md"}, AtATime: 1},
		"[module](x) in a.md": {Word: "[module](x)", Source: Input{Written: "a.md"}, AtATime: 1},
	} {
		c := parseOne(t, "## For each\n"+line)
		if c.ForEach == nil {
			t.Errorf("%q is not read: %v", line, c.Problems)
			continue
		}
		want.Line, want.Source.Line = 5, 5
		if d := cmp.Diff(want, *c.ForEach); d != "" {
			t.Errorf("%q: %s", line, d)
		}
		if c.Process != "Go.\n" {
			t.Errorf("%q: %q", line, c.Process)
		}
	}
	c := parseOne(t, "## For each\nWhatever you find.")
	if c.ForEach != nil || len(c.Problems) != 1 || c.Problems[0].Code != "for-each" || c.Problems[0].Line != 4 {
		t.Errorf("%v %v", c.ForEach, c.Problems)
	}
}

func TestChecksOfVerify(t *testing.T) {
	t.Parallel()
	c := parseOne(t, "## Verify\nRun these:\n- run: go test ./...\n- `schema: out.json`\n- count: ^\\d+\\. 4..6\n- warn: each: words: 300..900\n- must not match: hype\n- Sources\n- sources: 1.. per section\n- same facts: ../01-scope/output/objectives.md\n- judge (against ../a.md): it says so\n- [ ] Every objective starts with a verb.\n- Links work in print")
	want := []Check{
		{Kind: "run", Arg: "go test ./...", Line: 6},
		{Kind: "schema", Arg: "out.json", Line: 7},
		{Kind: "count", Arg: `^\d+\. 4..6`, Line: 8},
		{Kind: "words", Arg: "300..900", Warn: true, Each: true, Line: 9},
		{Kind: "must not match", Arg: "hype", Line: 10},
		{Kind: "sources", Line: 11},
		{Kind: "sources", Arg: "1.. per section", Line: 12},
		{Kind: "same facts", Arg: "../01-scope/output/objectives.md", Line: 13},
		{Kind: "judge", Arg: "(against ../a.md) it says so", Line: 14},
		{Kind: "judge", Arg: "Every objective starts with a verb.", Line: 15},
		{Kind: "judge", Arg: "Links work in print", Line: 16},
	}
	if d := cmp.Diff(want, c.Checks); d != "" {
		t.Error(d)
	}
	if c.Process != "Go.\n\n## Verify\nRun these:\n" {
		t.Errorf("%q", c.Process)
	}
	table := parseOne(t, "## Audit\n| Check | Pass Condition |\n|---|---|\n| Length | 300 words |\n| Count | words: 1..2 |")
	if d := cmp.Diff([]Check{{Kind: "judge", Arg: "Length: 300 words", Line: 7}, {Kind: "words", Arg: "1..2", Line: 8}}, table.Checks); d != "" {
		t.Error(d)
	}
	prose := parseOne(t, "## Success\n✓ Two sources\n✓ No hype")
	if d := cmp.Diff([]Check{{Kind: "judge", Arg: "Two sources", Line: 5}, {Kind: "judge", Arg: "No hype", Line: 6}}, prose.Checks); d != "" {
		t.Error(d)
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Gate{
		"stop": GateStop, "approve": GateApprove, "- none": GateNone, "None.": GateNone, "`approve`": GateApprove,
		"Approve — a lawyer reads it": GateApprove, "жодних": GateNone, "схвалення": GateApprove, "keine": GateNone,
		"The human reviews the draft, then goes on.": GateStop, "": GateStop,
	} {
		if c := parseOne(t, "## Gate\n"+text); c.Gate != want || len(c.Problems) != 0 {
			t.Errorf("%q: %s %v", text, c.Gate, c.Problems)
		}
	}
	if c := parseOne(t, "## Review gate\nA person reads it, then stops."); c.Process != "Go.\n\n## Review gate\nA person reads it, then stops.\n" {
		t.Errorf("%q", c.Process)
	}
	if c := parseOne(t, "## Gate\naproove"); len(c.Problems) != 1 || c.Problems[0].Code != "gate-word" {
		t.Errorf("%v", c.Problems)
	}
}

func TestStopHandOffAndTheRest(t *testing.T) {
	t.Parallel()
	c := parseOne(t, "## Stop\n- rounds: 6\n- time: 30m\n- tool calls: 40\n- cost: $0.50\n- no progress: 3\n- laps: 3\n\nHand over when in doubt.\n\n"+
		"## Hand off\n- changes: auth/**, payments/**\n- calls: mail-server: send_*\n- The budget is in doubt\n\n"+
		"## On fail\n02-research, at most 2 times\n\n## On success\n- draft pull request\n- notify\n\n"+
		"## Worktree\n- repo: ../../..\n- may change: src/**, docs/**\n- protect: **/*_test.go, .ci/**\n\n"+
		"## Memory\n- keep: attempts\n\n## Trigger\n- schedule: 0 9 * * 1\n\n## Run\n```sh\n$ make report\n```")
	if len(c.Stop) != 5 || c.Stop[3].Text != "cost: $0.50" || c.Stop[0].Line != 5 {
		t.Errorf("stop %+v", c.Stop)
	}
	if len(c.Problems) != 1 || c.Problems[0].Code != "stop-key" || c.Problems[0].Severity != Warning {
		t.Errorf("problems %v", c.Problems)
	}
	if len(c.HandOff) != 3 || c.HandOff[1].Text != "calls: mail-server: send_*" {
		t.Errorf("hand off %+v", c.HandOff)
	}
	if c.OnFail == nil || c.OnFail.Stage != "02-research" || c.OnFail.Times != 2 {
		t.Errorf("on fail %+v", c.OnFail)
	}
	if len(c.OnSuccess) != 2 || len(c.Memory) != 1 || len(c.Trigger) != 1 {
		t.Errorf("%+v %+v %+v", c.OnSuccess, c.Memory, c.Trigger)
	}
	if d := cmp.Diff(&Worktree{Repo: "../../..", MayChange: []string{"src/**", "docs/**"}, Protect: []string{"**/*_test.go", ".ci/**"}, Line: 26}, c.Worktree); d != "" {
		t.Error(d)
	}
	if c.Run == nil || c.Run.Text != "make report" {
		t.Errorf("run %+v", c.Run)
	}
	if want := "Go.\n\n## Stop\n- laps: 3\n\nHand over when in doubt.\n\n## Hand off\n- The budget is in doubt\n"; c.Process != want {
		t.Errorf("%q\nwant %q", c.Process, want)
	}
}

func TestSectionsWrittenAsProseStayInstructions(t *testing.T) {
	t.Parallel()
	for _, section := range []string{
		"## STOP\nHand off to stage 01. If a box is not ticked, mend it first.",
		"## Run\nRun this stage every morning, before people come.\nMind the clock.",
		"## On fail\nTell a person what happened, and why it could not be mended by you.",
		"## Handoff\nThe next stage reads the notes.",
		"## Trigger\nThe user says \"go\".",
		"## Memory\nRemember what was tried.",
		"## Worktree\nChange nothing outside the folder.",
	} {
		c := parseOne(t, section)
		if c.Process != "Go.\n\n"+section+"\n" {
			t.Errorf("%q became %q", section, c.Process)
		}
		if c.Run != nil || c.OnFail != nil || c.Worktree != nil || len(c.Stop) > 0 {
			t.Errorf("%q: %+v", section, c)
		}
	}
}
