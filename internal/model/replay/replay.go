package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"towpath/internal/model"
)

// Model answers from a recording. It is safe for several goroutines.
type Model struct {
	path    string
	head    head
	info    model.Info // what was known of the recorded model
	entries []*entry

	mu   sync.Mutex
	next map[string][]*entry // not yet given out, by fingerprint
}

// Open reads a recording. A line that cannot be read is an error that names it.
func Open(path string) (*Model, error) {
	h, entries, err := load(path)
	if err != nil {
		return nil, err
	}
	m := &Model{path: path, head: h, next: map[string][]*entry{}}
	m.info.ID = h.Model
	for _, e := range entries {
		if e.Info != nil {
			m.info = *e.Info
			continue
		}
		m.entries = append(m.entries, e)
		m.next[e.Call] = append(m.next[e.Call], e)
	}
	return m, nil
}

// Seed is the seed of the recording, to be used in place of a new one.
func (m *Model) Seed() string { return m.head.Seed }

// ID is replay/ and the recording's name.
func (m *Model) ID() string { return "replay/" + filepath.ToSlash(m.path) }

// Describe gives what was known of the recorded model, under the replay's name.
func (m *Model) Describe(context.Context) (model.Info, error) {
	info := m.info
	info.ID, info.URL = m.ID(), ""
	return info, nil
}

// Call gives the next recorded answer to an equal request (model.Fingerprint).
// When more are asked for than were recorded, or none was, that is an error of
// model.KindNotRecorded that shows the nearest recorded request and the
// difference.
func (m *Model) Call(ctx context.Context, req model.Request, stream func(model.Delta)) (model.Reply, error) {
	if err := ctx.Err(); err != nil {
		return model.Reply{}, err
	}
	call := model.Fingerprint(req)
	e, times := m.take(call)
	if e == nil {
		return model.Reply{}, m.notRecorded(req, times)
	}
	if f := e.Error; f != nil {
		return model.Reply{}, &model.Error{Kind: f.Kind, Model: m.ID(), Message: f.Message, Mend: f.Mend,
			Prompt: f.Prompt, Window: f.Window, Raw: f.Raw}
	}
	reply := *e.Reply
	reply.Model = m.ID()
	if stream != nil {
		if reply.Reasoning != "" {
			stream(model.Delta{Reasoning: reply.Reasoning})
		}
		if reply.Text != "" {
			stream(model.Delta{Text: reply.Text})
		}
	}
	return reply, nil
}

// take gives the next answer, and how often the question was recorded.
func (m *Model) take(call string) (*entry, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := m.next[call]
	if len(left) > 0 {
		m.next[call] = left[1:]
		return left[0], 0
	}
	times := 0
	for _, e := range m.entries {
		if e.Call == call {
			times++
		}
	}
	return nil, times
}

func (m *Model) notRecorded(req model.Request, times int) error {
	e := &model.Error{Kind: model.KindNotRecorded, Model: m.ID(), Mend: "record it again with run --record FILE"}
	if times > 0 {
		e.Message = fmt.Sprintf("this request was recorded %d times, and is asked once more", times)
		return e
	}
	e.Message = "this request is not in the recording"
	near, common := m.nearest(req)
	if near == nil {
		e.Message += ", which is empty"
		return e
	}
	e.Message += fmt.Sprintf("; the nearest is line %d of the recording, and differs %s", near.line, difference(near.Request, req, common))
	return e
}

// nearest finds the recorded request with the longest common beginning of its
// messages.
func (m *Model) nearest(req model.Request) (best *entry, common int) {
	most := -1
	for _, e := range m.entries {
		n, chars := 0, 0
		for n < len(e.Request.Messages) && n < len(req.Messages) && same(e.Request.Messages[n], req.Messages[n]) {
			chars += len(req.Messages[n].Text) + 1
			n++
		}
		if n < len(e.Request.Messages) && n < len(req.Messages) {
			chars += prefix(e.Request.Messages[n].Text, req.Messages[n].Text)
		}
		if chars > most {
			most, best, common = chars, e, n
		}
	}
	return best, common
}

// difference says where two requests part, after their common messages.
func difference(was question, is model.Request, common int) string {
	switch {
	case common < len(was.Messages) && common < len(is.Messages):
		a, b := was.Messages[common], is.Messages[common]
		if a.Role != b.Role {
			return fmt.Sprintf("in message %d: recorded is one of the %s, asked is one of the %s", common+1, a.Role, b.Role)
		}
		if a.Text != b.Text {
			at := prefix(a.Text, b.Text)
			return fmt.Sprintf("in message %d (%s) at character %d: recorded is %q, asked is %q",
				common+1, b.Role, at, excerpt(a.Text, at), excerpt(b.Text, at))
		}
		return fmt.Sprintf("in the tool calls of message %d: recorded are %s, asked are %s", common+1, calls(a), calls(b))
	case len(was.Messages) != len(is.Messages):
		return fmt.Sprintf("in the number of messages: recorded are %d, asked are %d", len(was.Messages), len(is.Messages))
	case names(was.Tools) != names(is.Tools):
		return fmt.Sprintf("in the tools: recorded are %s, asked are %s", names(was.Tools), names(is.Tools))
	case was.ToolChoice != is.ToolChoice:
		return fmt.Sprintf("in the tool choice: recorded is %q, asked is %q", was.ToolChoice, is.ToolChoice)
	case string(was.Schema) != string(is.Schema):
		return fmt.Sprintf("in the schema: recorded is %s, asked is %s", excerpt(string(was.Schema), 0), excerpt(string(is.Schema), 0))
	}
	return "in the description or schema of a tool"
}

func same(a, b model.Message) bool {
	if a.Role != b.Role || a.Text != b.Text || a.ToolName != b.ToolName || a.IsError != b.IsError || len(a.ToolCalls) != len(b.ToolCalls) {
		return false
	}
	for i := range a.ToolCalls {
		if a.ToolCalls[i].Name != b.ToolCalls[i].Name || a.ToolCalls[i].Arguments != b.ToolCalls[i].Arguments {
			return false
		}
	}
	return true
}

// prefix is how many bytes two texts have in common at their beginning.
func prefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// excerpt shows what stands at a place, and a little before it.
func excerpt(s string, at int) string {
	const before, after = 20, 60
	from, to := max(at-before, 0), min(at+after, len(s))
	out := strings.ToValidUTF8(s[from:to], "")
	if from > 0 {
		out = "..." + out
	}
	if to < len(s) {
		out += "..."
	}
	return out
}

func calls(m model.Message) string {
	data, err := json.Marshal(m.ToolCalls)
	if err != nil {
		return "unreadable"
	}
	return excerpt(string(data), 0)
}

func names(tools []model.ToolDef) string {
	if len(tools) == 0 {
		return "none"
	}
	var all []string
	for _, t := range tools {
		all = append(all, t.Name)
	}
	return strings.Join(all, ", ")
}
