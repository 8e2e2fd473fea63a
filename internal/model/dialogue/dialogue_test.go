package dialogue

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"towpath/internal/model"
)

func TestNormalise(t *testing.T) {
	t.Parallel()
	const (
		sys  = model.RoleSystem
		user = model.RoleUser
		asst = model.RoleAssistant
		tool = model.RoleTool
	)
	call := func(id, name string) model.ToolCall { return model.ToolCall{ID: id, Name: name, Arguments: "{}"} }
	for name, c := range map[string]struct{ in, want []model.Message }{
		"one system message, first": {
			[]model.Message{{Role: user, Text: "a"}, {Role: sys, Text: "s"}, {Role: user, Text: "b"}, {Role: sys, Text: "t"}},
			[]model.Message{{Role: sys, Text: "s\n\nt"}, {Role: user, Text: "a\n\nb"}},
		},
		"empty messages go": {
			[]model.Message{{Role: sys}, {Role: user, Text: "a"}, {Role: asst}, {Role: user, Text: "b"}},
			[]model.Message{{Role: user, Text: "a\n\nb"}},
		},
		"results stand in the order of their calls": {
			[]model.Message{{Role: user, Text: "a"}, {Role: asst, ToolCalls: []model.ToolCall{call("1", "x"), call("2", "y")}},
				{Role: tool, ToolCallID: "2", Text: "two"}, {Role: tool, ToolCallID: "1", Text: "one"}, {Role: user, Text: "b"}},
			[]model.Message{{Role: user, Text: "a"}, {Role: asst, ToolCalls: []model.ToolCall{call("1", "x"), call("2", "y")}},
				{Role: tool, ToolCallID: "1", ToolName: "x", Text: "one"}, {Role: tool, ToolCallID: "2", ToolName: "y", Text: "two"}, {Role: user, Text: "b"}},
		},
		"a call without result": {
			[]model.Message{{Role: asst, ToolCalls: []model.ToolCall{call("1", "x")}}, {Role: user, Text: "b"}},
			[]model.Message{{Role: asst, ToolCalls: []model.ToolCall{call("1", "x")}}, {Role: tool, ToolCallID: "1", ToolName: "x", Text: lost, IsError: true}, {Role: user, Text: "b"}},
		},
		"a result without call": {
			[]model.Message{{Role: user, Text: "a"}, {Role: tool, ToolName: "x", Text: "one"}},
			[]model.Message{{Role: user, Text: "a\n\nResult of x:\none"}},
		},
		"ids that are missing or stand twice": {
			[]model.Message{{Role: asst, ToolCalls: []model.ToolCall{call("", "x")}}, {Role: tool, ToolName: "x", Text: "one"},
				{Role: asst, ToolCalls: []model.ToolCall{call("call_1", "x")}}, {Role: tool, ToolCallID: "call_1", Text: "two"}},
			[]model.Message{{Role: asst, ToolCalls: []model.ToolCall{call("call_1", "x")}}, {Role: tool, ToolCallID: "call_1", ToolName: "x", Text: "one"},
				{Role: asst, ToolCalls: []model.ToolCall{call("call_1_2", "x")}}, {Role: tool, ToolCallID: "call_1_2", ToolName: "x", Text: "two"}},
		},
		"text before a call is the call's": {
			[]model.Message{{Role: user, Text: "a"}, {Role: asst, Text: "I look."}, {Role: asst, ToolCalls: []model.ToolCall{call("1", "x")}}, {Role: tool, ToolCallID: "1", Text: "one"}},
			[]model.Message{{Role: user, Text: "a"}, {Role: asst, Text: "I look.", ToolCalls: []model.ToolCall{call("1", "x")}}, {Role: tool, ToolCallID: "1", ToolName: "x", Text: "one"}},
		},
	} {
		if diff := cmp.Diff(c.want, Normalise(c.in)); diff != "" {
			t.Errorf("%s: want -, got +\n%s", name, diff)
		}
		if diff := cmp.Diff(c.want, Normalise(Normalise(c.in))); diff != "" {
			t.Errorf("%s: a second time: want -, got +\n%s", name, diff)
		}
	}
}

func TestPastArgumentsAreAlwaysAnObject(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "{}", ` {"a": 1}`: `{"a": 1}`, `{"a":`: `{"unreadable_arguments":"{\"a\":"}`, `[1]`: `{"unreadable_arguments":"[1]"}`} {
		if got := string(PastArguments(in)); got != want {
			t.Errorf("PastArguments(%q) = %s, want %s", in, got, want)
		}
	}
}

func FuzzNormalise(f *testing.F) {
	f.Add([]byte(`[{"role":"user","text":"a"},{"role":"assistant","tool_calls":[{"id":"1","name":"x"}]},{"role":"tool","tool_call_id":"1"}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var msgs []model.Message
		if json.Unmarshal(b, &msgs) != nil {
			return
		}
		open := map[string]bool{}
		for i, m := range Normalise(msgs) {
			if m.Role == model.RoleSystem && i > 0 {
				t.Fatal("a system message that is not the first")
			}
			if m.Role == model.RoleTool {
				if !open[m.ToolCallID] {
					t.Fatal("a result without its call")
				}
				delete(open, m.ToolCallID)
				continue
			}
			if len(open) > 0 {
				t.Fatal("a call without its result")
			}
			for _, c := range m.ToolCalls {
				open[c.ID] = true
			}
		}
		if len(open) > 0 {
			t.Fatal("a call without its result")
		}
	})
}
