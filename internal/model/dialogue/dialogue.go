// Package dialogue puts a conversation into the order that every chat template
// takes.
package dialogue

import (
	"encoding/json"
	"strconv"
	"strings"

	"towpath/internal/model"
)

// lost is what the model is told of a call whose result is not there.
const lost = "error: no result of this call was kept"

// Normalise gives the same conversation with exactly one system message, first
// (none where there is none), adjacent text of one role merged, and every tool
// result directly after the call that it answers. A call without a result gets
// one that says so; a result without a call becomes user text. Calls without an
// id, or with one that stood before, get one of their own, since servers pair by
// it. The input is not changed.
func Normalise(msgs []model.Message) []model.Message {
	n := normaliser{used: map[string]bool{}}
	n.gatherSystem(msgs)
	for i := 0; i < len(msgs); i++ {
		m := msgs[i]
		switch {
		case m.Role == model.RoleSystem:
		case m.Role == model.RoleTool:
			n.orphan(m)
		case m.Role == model.RoleAssistant && len(m.ToolCalls) > 0:
			end := i + 1
			for end < len(msgs) && msgs[end].Role == model.RoleTool {
				end++
			}
			n.calls(m, msgs[i+1:end])
			i = end - 1
		default:
			n.text(m)
		}
	}
	return n.out
}

type normaliser struct {
	out  []model.Message
	used map[string]bool // ids of calls so far
}

func (n *normaliser) gatherSystem(msgs []model.Message) {
	var parts []string
	for _, m := range msgs {
		if m.Role == model.RoleSystem && m.Text != "" {
			parts = append(parts, m.Text)
		}
	}
	if len(parts) > 0 {
		n.out = append(n.out, model.Message{Role: model.RoleSystem, Text: strings.Join(parts, "\n\n")})
	}
}

// text adds a message without calls, to the one before it where both are of one
// role. Empty messages are left out: some servers refuse them.
func (n *normaliser) text(m model.Message) {
	if m.Text == "" {
		return
	}
	if k := len(n.out) - 1; k >= 0 && n.out[k].Role == m.Role && len(n.out[k].ToolCalls) == 0 {
		n.out[k].Text += "\n\n" + m.Text
		return
	}
	n.out = append(n.out, model.Message{Role: m.Role, Text: m.Text})
}

// calls adds an assistant's calls, each with its result. Text that the assistant
// said just before goes into the same message, since roles must alternate.
func (n *normaliser) calls(m model.Message, results []model.Message) {
	if k := len(n.out) - 1; k >= 0 && n.out[k].Role == model.RoleAssistant {
		if len(n.out[k].ToolCalls) == 0 {
			m.Text = strings.TrimSuffix(n.out[k].Text+"\n\n"+m.Text, "\n\n")
			n.out = n.out[:k]
		}
	}
	m.ToolCalls = append([]model.ToolCall(nil), m.ToolCalls...)
	taken := make([]bool, len(results))
	answers := make([]model.Message, len(m.ToolCalls))
	for i := range m.ToolCalls {
		call := &m.ToolCalls[i]
		k := answerTo(*call, results, taken)
		call.ID = n.freshID(call.ID)
		answers[i] = model.Message{Role: model.RoleTool, Text: lost, IsError: true}
		if k >= 0 {
			taken[k] = true
			answers[i] = results[k]
		}
		answers[i].ToolCallID, answers[i].ToolName = call.ID, call.Name
	}
	n.out = append(n.out, m)
	n.out = append(n.out, answers...)
	for k, r := range results {
		if !taken[k] {
			n.orphan(r)
		}
	}
}

// answerTo finds the result of a call: by id, else by the tool's name, among
// those that no other call has taken.
func answerTo(call model.ToolCall, results []model.Message, taken []bool) int {
	for k, r := range results {
		if !taken[k] && call.ID != "" && r.ToolCallID == call.ID {
			return k
		}
	}
	for k, r := range results {
		if !taken[k] && r.ToolName == call.Name && (r.ToolCallID == "" || call.ID == "") {
			return k
		}
	}
	return -1
}

func (n *normaliser) freshID(id string) string {
	base := id
	if base == "" {
		base = "call"
		id = base + "_1"
	}
	for i := 2; n.used[id]; i++ {
		id = base + "_" + strconv.Itoa(i)
	}
	n.used[id] = true
	return id
}

// orphan tells a result whose call is not there as what it is.
func (n *normaliser) orphan(m model.Message) {
	name := m.ToolName
	if name == "" {
		name = "a tool"
	}
	n.text(model.Message{Role: model.RoleUser, Text: "Result of " + name + ":\n" + m.Text})
}

// PastArguments gives the arguments of an earlier call as a JSON object, which
// servers demand of a conversation's history. What the model wrote and nobody
// could read is shown to it as such; it is never run.
func PastArguments(written string) json.RawMessage {
	trimmed := strings.TrimSpace(written)
	if trimmed == "" {
		return json.RawMessage("{}")
	}
	if trimmed[0] == '{' && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	b, err := json.Marshal(map[string]string{"unreadable_arguments": written})
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}
