package lint

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// looped is a workspace with everything that a graph shows.
func looped() fstest.MapFS {
	m := plain()
	set("pipeline/02-b/CONTEXT.md", contract("Inputs", "- ../01-a/output/a.md\n- extra.md, optional", "Tools", "search-server: search, find (required)",
		"For each", "part in ../01-a/output/a.md", "Process", "Go.", "Outputs", "- b.md -> output/", "Verify", "- words: 1..9\n- warn: judge: it is \"clear\"",
		"Stop", "- rounds: 6", "Hand off", "- changes: auth/**", "On fail", "01-a, 2 times", "Gate", "approve"))(m)
	return m
}

func TestGraphAsText(t *testing.T) {
	t.Parallel()
	fsys := looped()
	got := Draw(fsys, load(t, fsys)).Text()
	want := `01-a
  reads   pipeline/01-a/input.md  (working)
  reads   _config/voice.md  (reference)
  writes  pipeline/01-a/output/a.md
  exits   success
  gate    stop
      |
02-b
  each    part in pipeline/01-a/output/a.md
  reads   pipeline/01-a/output/a.md  (working, from 01-a, not there yet)
  reads   pipeline/02-b/extra.md  (reference, optional, not there yet)
  reads   pipeline/01-a/output/a.md  (items, from 01-a, not there yet)
  tools   search-server: search, find (required)
  writes  pipeline/02-b/output/b.md
  checks  words: 1..9
  checks  warn: judge: it is "clear"
  stops   rounds: 6
  exits   success, surrender, hand-off
  on fail back to 01-a, at most 2 times
  gate    approve
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestGraphAsMermaid(t *testing.T) {
	t.Parallel()
	fsys := looped()
	got := Draw(fsys, load(t, fsys)).Mermaid()
	want := `flowchart TD
  s1["01-a<br/>exits: success<br/>gate: stop"]
  s2["02-b<br/>for each part in pipeline/01-a/output/a.md<br/>tools: search-server: search, find (required)<br/>checks: words: 1..9; warn: judge: it is #quot;clear#quot;<br/>exits: success, surrender, hand-off<br/>gate: approve"]
  f1[/"pipeline/01-a/input.md"/]
  f1 --> s1
  f2[/"_config/voice.md"/]
  f2 --> s1
  s1 -- "a.md" --> s2
  f3[/"pipeline/02-b/extra.md"/]
  f3 --> s2
  s1 -- "a.md (items)" --> s2
  s2 -. "on fail, at most 2 times" .-> s1
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestGraphAsJSON(t *testing.T) {
	t.Parallel()
	fsys := os.DirFS("../../testdata/fixtures/course-research")
	data, err := json.Marshal(Draw(fsys, load(t, fsys)))
	if err != nil {
		t.Fatal(err)
	}
	var g Graph
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Stages) != 4 || g.Stages[3].ForEach != "module in pipeline/03-outline/output/outline.md" {
		t.Errorf("stages: %+v", g.Stages)
	}
	flows := 0
	for _, f := range g.Flows {
		if f.From != "" {
			flows++
		}
	}
	if flows != 5 {
		t.Errorf("%d flows between stages, want 5: %s", flows, data)
	}
	if strings.Contains(string(data), "null") {
		t.Errorf("empty lists are null: %s", data)
	}
}
