package model

import (
	"context"
	"encoding/json"
	"testing"
)

// plainServer answers by reply and keeps what it was asked.
type plainServer struct {
	info  Info
	asked []Request
	reply func(Request) Reply
}

func (s *plainServer) Describe(context.Context) (Info, error) { return s.info, nil }

func (s *plainServer) Call(_ context.Context, req Request, _ func(Delta)) (Reply, error) {
	s.asked = append(s.asked, req)
	return s.reply(req), nil
}

func searchTool() ToolDef {
	return ToolDef{Name: "search-server_search", Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)}
}

func TestChoiceThatAServerIgnoresIsHeldBySchema(t *testing.T) {
	t.Parallel()
	yes := true
	for _, known := range []bool{true, false} {
		s := &plainServer{reply: func(r Request) Reply {
			if len(r.Schema) > 0 {
				return Reply{Text: `{"name":"search-server_search","arguments":{"query":"backup"}}`, Finish: FinishStop}
			}
			return Reply{Text: "I would search.", Finish: FinishStop}
		}}
		if known {
			s.info.Schema = &yes
		}
		m := Forced(s)
		info, err := m.(Describer).Describe(t.Context())
		if err != nil || !info.Required {
			t.Fatalf("known %v: Describe gave %+v, %v; want Required", known, info, err)
		}
		req := Request{Tools: []ToolDef{searchTool()}, ToolChoice: ChoiceRequired}
		for range 2 {
			r, err := m.Call(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.ToolCalls) != 1 || r.ToolCalls[0].Arguments != `{"query":"backup"}` || r.Text != "" || r.Finish != FinishToolCalls {
				t.Errorf("known %v: got %+v, want one call", known, r)
			}
		}
		want := 2
		if !known {
			want = 3 // asked plainly once, and never again
		}
		if len(s.asked) != want {
			t.Errorf("known %v: the server was asked %d times, want %d", known, len(s.asked), want)
		}
	}
}

func TestServerThatHonoursTheChoiceIsAskedPlainly(t *testing.T) {
	t.Parallel()
	s := &plainServer{info: Info{Required: true}, reply: func(Request) Reply {
		return Reply{ToolCalls: []ToolCall{{ID: "1", Name: "search-server_search", Arguments: `{"query":"x"}`}}, Finish: FinishToolCalls}
	}}
	if _, err := Forced(s).Call(t.Context(), Request{Tools: []ToolDef{searchTool()}, ToolChoice: ChoiceRequired}, nil); err != nil {
		t.Fatal(err)
	}
	if len(s.asked) != 1 || len(s.asked[0].Schema) > 0 || s.asked[0].ToolChoice != ChoiceRequired {
		t.Errorf("asked %+v, want the request as it is", s.asked)
	}
}

func TestReplyThatIsNoCallIsNeverTakenForOne(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", `{"name":"rm","arguments":{}}`, `{"name":"search-server_search","arguments":"x"}`, `{"name":"search-server_search"}`, `{"name":"search-server_search","arguments":{"q`} {
		if call, ok := readCall(text, []ToolDef{searchTool()}); ok {
			t.Errorf("%q was taken for the call %+v", text, call)
		}
	}
}
