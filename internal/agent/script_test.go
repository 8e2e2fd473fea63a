package agent

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"towpath/internal/model"
	"towpath/internal/tool"
)

// script is a model that answers from a list. The last entry answers all that
// follows when again is set.
type script struct {
	t     *testing.T
	steps []func(model.Request) (model.Reply, error)
	again bool

	mu  sync.Mutex
	got []model.Request
}

func (s *script) Call(ctx context.Context, req model.Request, stream func(model.Delta)) (model.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return model.Reply{}, err
	}
	req.Messages = append([]model.Message{}, req.Messages...)
	s.checkOrder(req)
	n := len(s.got)
	s.got = append(s.got, req)
	if n >= len(s.steps) {
		if !s.again {
			s.t.Errorf("call %d was not expected; the last message is %+v", n+1, req.Messages[len(req.Messages)-1])
			return model.Reply{}, errors.New("the script is over")
		}
		n = len(s.steps) - 1
	}
	reply, err := s.steps[n](req)
	if err == nil && stream != nil {
		stream(model.Delta{Text: reply.Text})
	}
	return reply, err
}

// checkOrder holds every request to what strict chat templates want: the system
// message first and alone, users and assistants in turn where calls and their
// results are passed over, results paired.
func (s *script) checkOrder(req model.Request) {
	s.t.Helper()
	last := model.RoleAssistant
	open := map[string]bool{}
	for i, m := range req.Messages {
		switch {
		case m.Role == model.RoleSystem:
			if i != 0 {
				s.t.Errorf("message %d is a system message", i)
			}
		case m.Role == model.RoleTool:
			if !open[m.ToolCallID] {
				s.t.Errorf("message %d answers no call", i)
			}
			delete(open, m.ToolCallID)
		case m.Role == model.RoleAssistant && len(m.ToolCalls) > 0:
			for _, c := range m.ToolCalls {
				open[c.ID] = true
			}
		default:
			if m.Role == last {
				s.t.Errorf("message %d is one more of the %s", i, m.Role)
			}
			if len(open) > 0 {
				s.t.Errorf("before message %d calls are without a result: %v", i, open)
			}
			last = m.Role
		}
	}
}

func says(text string) func(model.Request) (model.Reply, error) {
	return func(model.Request) (model.Reply, error) {
		return model.Reply{Text: text, Finish: model.FinishStop}, nil
	}
}

func cutAt(text string) func(model.Request) (model.Reply, error) {
	return func(model.Request) (model.Reply, error) {
		return model.Reply{Text: text, Finish: model.FinishLength}, nil
	}
}

func calls(pairs ...string) func(model.Request) (model.Reply, error) {
	return func(model.Request) (model.Reply, error) {
		r := model.Reply{Finish: model.FinishToolCalls}
		for i := 0; i < len(pairs); i += 2 {
			r.ToolCalls = append(r.ToolCalls, model.ToolCall{Name: pairs[i], Arguments: pairs[i+1]})
		}
		return r, nil
	}
}

func fails(err error) func(model.Request) (model.Reply, error) {
	return func(model.Request) (model.Reply, error) { return model.Reply{}, err }
}

// fake is a tool in this process.
type fake struct {
	spec tool.Spec
	do   func(ctx context.Context, args json.RawMessage) (tool.Result, error)

	mu    sync.Mutex
	calls int
}

func (f *fake) Spec() tool.Spec { return f.spec }

func (f *fake) Call(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	f.mu.Lock()
	f.calls++
	f.mu.Unlock()
	return f.do(ctx, args)
}

const queryOnly = `{"type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false}`

func reads(name, text string) *fake {
	return &fake{
		spec: tool.Spec{Server: "web", Name: name, Description: "reads", Input: json.RawMessage(queryOnly), ReadOnly: true},
		do: func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.Result{Text: text}, nil
		},
	}
}

func offer(tools ...*fake) []Offer {
	var out []Offer
	for _, t := range tools {
		out = append(out, Offer{Name: t.spec.Server + "_" + t.spec.Name, Tool: t})
	}
	return out
}

func task() []model.Message {
	return []model.Message{{Role: model.RoleSystem, Text: "You help."}, {Role: model.RoleUser, Text: "Write the notes."}}
}

func play(t *testing.T, steps ...func(model.Request) (model.Reply, error)) *script {
	return &script{t: t, steps: steps}
}

func lastText(req model.Request) string { return req.Messages[len(req.Messages)-1].Text }
