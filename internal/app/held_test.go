package app

import (
	"strings"
	"testing"
	"time"

	"towpath/internal/fakeserver"
	"towpath/internal/model"
)

// Ollama takes no tool_choice. A stage that requires a tool is held to it all
// the same, since the server holds replies to a schema.
func TestModelOfAServerWithoutToolChoiceIsHeldToARequiredTool(t *testing.T) {
	t.Parallel()
	srv := fakeserver.New(t, fakeserver.Script{Answer: func(r fakeserver.Request) fakeserver.Reply {
		if strings.Contains(string(r.Body), `"search-server_search"`) && strings.Contains(string(r.Body), `"format"`) {
			return fakeserver.Reply{Text: `{"name":"search-server_search","arguments":{"query":"backup"}}`}
		}
		return fakeserver.Reply{Text: "I would search for that."}
	}})
	a, err := Bare(t.Context(), Options{WorkDir: t.TempDir(), Clock: time.Now,
		Environ: []string{"OLLAMA_HOST=" + srv.URL, "HOME=" + t.TempDir(), "TOWPATH_CACHE=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	chosen, err := a.models.ready(t.Context(), "ollama/test", true)
	if err != nil {
		t.Fatal(err)
	}
	if !chosen.Info.Required {
		t.Error("the agent is told that the model cannot be held to a tool")
	}
	reply, err := chosen.Model.Call(t.Context(), model.Request{
		Messages:   []model.Message{{Role: model.RoleUser, Text: "Find out how to back up."}},
		Tools:      []model.ToolDef{{Name: "search-server_search", Schema: []byte(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)}},
		ToolChoice: model.ChoiceRequired,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(reply.ToolCalls) != 1 || reply.ToolCalls[0].Arguments != `{"query":"backup"}` {
		t.Errorf("got %+v, want the one call", reply)
	}
}
