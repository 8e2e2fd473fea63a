package stream

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"sort"
	"testing"

	"towpath/internal/model"
)

type corpusCase struct {
	Kind string
	Text string
	Want *struct {
		Name      string
		Arguments json.RawMessage
	}
}

func corpus(t *testing.T) []corpusCase {
	t.Helper()
	f, err := os.Open("../../../testdata/toolcalls/corpus.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []corpusCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c corpusCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

// offeredIn are all names of the corpus: the most that can be mistaken.
func offeredIn(cases []corpusCase) []model.ToolDef {
	seen := map[string]bool{}
	var tools []model.ToolDef
	for _, c := range cases {
		if c.Want != nil && !seen[c.Want.Name] {
			seen[c.Want.Name] = true
			tools = append(tools, model.ToolDef{Name: c.Want.Name})
		}
	}
	return tools
}

func replyTo(t *testing.T, tools []model.ToolDef, finish model.Finish, pieces ...string) model.Reply {
	t.Helper()
	a := New(Options{Tools: tools})
	for _, p := range pieces {
		if err := a.Text(p); err != nil {
			t.Fatalf("Text(%q): %v", p, err)
		}
	}
	r, err := a.Finish(finish)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (c corpusCase) right(r model.Reply) bool {
	if c.Want == nil {
		return len(r.ToolCalls) == 0
	}
	if len(r.ToolCalls) != 1 || r.ToolCalls[0].Name != c.Want.Name || !r.Recovered {
		return false
	}
	var got, want any
	if json.Unmarshal([]byte(r.ToolCalls[0].Arguments), &got) != nil || json.Unmarshal(c.Want.Arguments, &want) != nil {
		return false
	}
	return reflect.DeepEqual(got, want)
}

func TestToolCallsAsModelsWriteThem(t *testing.T) {
	t.Parallel()
	cases := corpus(t)
	tools := offeredIn(cases)
	all, right := map[string]int{}, map[string]int{}
	for _, c := range cases {
		all[c.Kind]++
		if c.right(replyTo(t, tools, model.FinishStop, c.Text)) {
			right[c.Kind]++
		} else {
			t.Logf("%s: %q", c.Kind, c.Text)
		}
	}
	var kinds []string
	total, good := 0, 0
	for k := range all {
		kinds = append(kinds, k)
		total += all[k]
		good += right[k]
	}
	sort.Strings(kinds)
	for _, k := range kinds {
		t.Logf("%-16s %5.1f %% of %d", k, 100*float64(right[k])/float64(all[k]), all[k])
	}
	share := 100 * float64(good) / float64(total)
	t.Logf("%-16s %5.1f %% of %d", "all", share, total)
	if share < 99 {
		t.Errorf("%.1f %% of the calls are read right, want at least 99 %%", share)
	}
}

func TestCleanToolCallsStayTheSameToTheByte(t *testing.T) {
	t.Parallel()
	cases := corpus(t)
	tools := offeredIn(cases)
	for _, c := range cases {
		if c.Kind != "clean" {
			continue
		}
		r := replyTo(t, tools, model.FinishStop, c.Text)
		var source struct{ Arguments json.RawMessage }
		if err := json.Unmarshal([]byte(c.Text), &source); err != nil {
			t.Fatal(err)
		}
		if len(r.ToolCalls) != 1 || r.ToolCalls[0].Arguments != string(source.Arguments) {
			t.Errorf("%q became %q", c.Text, r.ToolCalls)
		}
	}
}

func TestEveryWayOfCuttingGivesTheSameReply(t *testing.T) {
	t.Parallel()
	cases := corpus(t)
	tools := offeredIn(cases)
	rnd := rand.New(rand.NewPCG(1, 2))
	for n, c := range cases {
		want := replyTo(t, tools, model.FinishStop, c.Text)
		for cut := n % 13; cut <= len(c.Text); cut += 13 {
			if got := replyTo(t, tools, model.FinishStop, c.Text[:cut], c.Text[cut:]); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q cut at %d: %+v, want %+v", c.Text, cut, got, want)
			}
		}
		var pieces []string
		for rest := c.Text; rest != ""; {
			k := min(len(rest), 1+rnd.IntN(6))
			pieces, rest = append(pieces, rest[:k]), rest[k:]
		}
		if got := replyTo(t, tools, model.FinishStop, pieces...); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q in %q: %+v, want %+v", c.Text, pieces, got, want)
		}
	}
}

func TestReplyCutByLengthIsNeverRun(t *testing.T) {
	t.Parallel()
	cases := corpus(t)
	tools := offeredIn(cases)
	for _, c := range cases {
		if r := replyTo(t, tools, model.FinishLength, c.Text); len(r.ToolCalls) > 0 {
			t.Fatalf("%q was cut by length and still gives %+v", c.Text, r.ToolCalls)
		}
	}
}

func TestNothingIsRunFromReasoning(t *testing.T) {
	t.Parallel()
	cases := corpus(t)
	tools := offeredIn(cases)
	for _, c := range cases {
		if c.Kind == "think_prefix" {
			continue
		}
		for _, text := range []string{"<think>" + c.Text + "</think>", "<think>" + c.Text, "<think>" + c.Text + "</think>\n\nNo call is needed."} {
			if r := replyTo(t, tools, model.FinishStop, text); len(r.ToolCalls) > 0 {
				t.Fatalf("%q gives %+v", text, r.ToolCalls)
			}
		}
		a := New(Options{Tools: tools})
		if err := a.Reasoning(c.Text); err != nil {
			t.Fatal(err)
		}
		if r, err := a.Finish(model.FinishStop); err != nil || len(r.ToolCalls) > 0 {
			t.Fatalf("reasoning %q gives %+v, %v", c.Text, r.ToolCalls, err)
		}
	}
}

func TestNamesThatAreNotOfferedAreLeftAlone(t *testing.T) {
	t.Parallel()
	cases := corpus(t)
	other := []model.ToolDef{{Name: "search"}, {Name: "get"}, {Name: "name"}}
	for _, c := range cases {
		if r := replyTo(t, other, model.FinishStop, c.Text); len(r.ToolCalls) > 0 {
			t.Fatalf("%q gives %+v", c.Text, r.ToolCalls)
		}
		if r := replyTo(t, nil, model.FinishStop, c.Text); len(r.ToolCalls) > 0 {
			t.Fatalf("%q gives %+v though nothing was offered", c.Text, r.ToolCalls)
		}
	}
}
