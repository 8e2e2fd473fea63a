package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"towpath/internal/fakeserver"
	"towpath/internal/model"
	"towpath/internal/model/endpoint"
	"towpath/internal/model/modeltest"
)

// serve gives a model named "test" behind a scripted server.
func serve(t *testing.T, s fakeserver.Script) (model.Model, *fakeserver.Server) {
	t.Helper()
	srv := fakeserver.New(t, s)
	return New(Config{Host: srv.URL, Timeouts: endpoint.Timeouts{FirstByte: time.Minute, Idle: time.Minute}}).Model("test"), srv
}

func user(text string) model.Request {
	return model.Request{Messages: []model.Message{{Role: model.RoleUser, Text: text}}}
}

func wantKind(t *testing.T, err error, kind model.Kind) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("error = %v (kind %q), want kind %q", err, model.KindOf(err), kind)
	}
	return e
}

func TestModelContract(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, modeltest.Subject{Window: 8192, Schema: true, Required: true, New: func(t *testing.T) model.Model {
		m, _ := serve(t, modeltest.Script())
		return m
	}})
}

func TestHostForms(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                            "http://127.0.0.1:11434",
		"  box  ":                     "http://box:11434",
		"box:8080":                    "http://box:8080",
		":8080":                       "http://127.0.0.1:8080",
		"0.0.0.0":                     "http://127.0.0.1:11434",
		"0.0.0.0:9999":                "http://127.0.0.1:9999",
		"[::]:9999":                   "http://127.0.0.1:9999",
		"::1":                         "http://[::1]:11434",
		"[::1]":                       "http://[::1]:11434",
		"[fe80::1]:80":                "http://[fe80::1]:80",
		"http://box":                  "http://box:80",
		"https://box":                 "https://box:443",
		"https://box:11434/":          "https://box:11434",
		"http://box:11434/ollama/":    "http://box:11434/ollama",
		"ollama.com":                  "https://ollama.com:443",
		"box:99999":                   "http://box:11434",
		`"box"`:                       "http://box:11434",
		"http://user:secret@box:8080": "http://user:secret@box:8080",
	} {
		if got := hostURL(in); got != want {
			t.Errorf("hostURL(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAddressIsShownWithoutCredentials(t *testing.T) {
	t.Parallel()
	if got := New(Config{Host: "http://user:secret@box:8080"}).URL(); got != "http://box:8080" {
		t.Errorf("URL() = %q", got)
	}
}

func TestRequestForbidsSilentTruncation(t *testing.T) {
	t.Parallel()
	m, srv := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{{Text: "Fine.", Times: -1}}})
	if _, err := m.Call(t.Context(), user("Hello"), nil); err != nil {
		t.Fatal(err)
	}
	f := srv.Chats()[0].Fields
	if f["truncate"] != false || f["shift"] != false || f["stream"] != true {
		t.Errorf("truncate = %v, shift = %v, stream = %v; want false, false, true", f["truncate"], f["shift"], f["stream"])
	}
	if o := srv.Chats()[0].Options; o["num_ctx"] != 4096.0 || o["num_predict"] != 2048.0 || o["temperature"] != 0.1 {
		t.Errorf("options = %v", o)
	}
	if f["think"] != false {
		t.Errorf("think = %v, want false for a model that can think", f["think"])
	}
}

func TestThinkIsSentOnlyToModelsThatCan(t *testing.T) {
	t.Parallel()
	m, srv := serve(t, fakeserver.Script{Models: []fakeserver.Model{{Name: "test"}}, Replies: []fakeserver.Reply{{Text: "Fine."}}})
	req := user("Hello")
	req.Thinking = true
	if _, err := m.Call(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if think, there := srv.Chats()[0].Fields["think"]; there {
		t.Errorf("think = %v, want nothing", think)
	}
}

func TestWindowGrowsInDoublingsAndNeverShrinks(t *testing.T) {
	t.Parallel()
	m, srv := serve(t, fakeserver.Script{Models: []fakeserver.Model{{Name: "test", Window: 20000}}, Replies: []fakeserver.Reply{{Text: "Fine.", Times: -1}}})
	for _, need := range []int{100, 2049, 9000, 3000, 18000, 500000, 100} {
		req := user("Hello")
		req.Window = need
		if _, err := m.Call(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	want := []float64{2048, 4096, 16384, 16384, 20000, 20000, 20000}
	for i, c := range srv.Chats() {
		if c.Options["num_ctx"] != want[i] {
			t.Errorf("call %d: num_ctx = %v, want %v", i, c.Options["num_ctx"], want[i])
		}
	}
}

func TestWindowThatWasEstimatedTooSmallGrowsWithinTheCall(t *testing.T) {
	t.Parallel()
	m, srv := serve(t, fakeserver.Script{Models: []fakeserver.Model{{Name: "test", Window: 32768}}, Replies: []fakeserver.Reply{{Text: "Fine."}}})
	req := user(strings.Repeat("word ", 5000))
	req.Window = 2048
	if _, err := m.Call(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	var asked []any
	for _, c := range srv.Chats() {
		asked = append(asked, c.Options["num_ctx"])
	}
	if len(asked) != 3 || asked[2] != 8192.0 {
		t.Errorf("asked for windows %v, want 2048, 4096, 8192", asked)
	}
}

// Two runners, two ways of refusing: one error.
func TestOverflowIsOneKindWhetherTheServerRefusesOrCuts(t *testing.T) {
	t.Parallel()
	for name, cuts := range map[string]bool{"refused": false, "cut": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := serve(t, fakeserver.Script{Models: []fakeserver.Model{{Name: "test", Window: 4096, Cuts: cuts}}, Replies: []fakeserver.Reply{{Text: "Fine."}}})
			_, err := m.Call(t.Context(), user(strings.Repeat("The towpath runs along the canal. ", 2000)), nil)
			if e := wantKind(t, err, model.KindOverflow); e.Window != 4096 {
				t.Errorf("Window = %d, want 4096", e.Window)
			}
		})
	}
}

func TestSmallerWindowThanAskedForIsNoticed(t *testing.T) {
	t.Parallel()
	m, _ := serve(t, fakeserver.Script{
		Models:  []fakeserver.Model{{Name: "test", Window: 32768, Effective: 3000, Cuts: true, Loaded: true}},
		Replies: []fakeserver.Reply{{Text: "Fine.", PromptTokens: 1234}},
	})
	_, err := m.Call(t.Context(), user(strings.Repeat("The towpath runs along the canal. ", 1000)), nil)
	wantKind(t, err, model.KindOverflow)
}

func TestCachedPromptIsNotTakenForACutOne(t *testing.T) {
	t.Parallel()
	m, _ := serve(t, fakeserver.Script{Models: []fakeserver.Model{{Name: "test", Window: 32768, Loaded: true}},
		Replies: []fakeserver.Reply{{Text: "Fine.", PromptTokens: 11, Times: -1}}})
	for range 2 {
		if _, err := m.Call(t.Context(), user(strings.Repeat("The towpath runs along the canal. ", 1000)), nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestModelThatCannotCallTools(t *testing.T) {
	t.Parallel()
	m, srv := serve(t, fakeserver.Script{Models: []fakeserver.Model{{Name: "test", NoTools: true}}, Replies: []fakeserver.Reply{{Text: "Fine.", Times: -1}}})
	req := user("Hello")
	req.Tools = []model.ToolDef{modeltest.Weather()}
	_, err := m.Call(t.Context(), req, nil)
	wantKind(t, err, model.KindNoTools)
	if len(srv.Chats()) != 0 {
		t.Error("the server was asked all the same")
	}
	req.ToolChoice = model.ChoiceNone
	if _, err := m.Call(t.Context(), req, nil); err != nil {
		t.Errorf("without tools: %v", err)
	}
}

func TestUnknownModelNamesTheNearestAndTheFix(t *testing.T) {
	t.Parallel()
	srv := fakeserver.New(t, fakeserver.Script{Models: []fakeserver.Model{{Name: "qwen3.5:9b"}, {Name: "llama3:8b"}}})
	m := New(Config{Host: srv.URL}).Model("qwen3:9b")
	_, err := m.(model.Describer).Describe(t.Context())
	e := wantKind(t, err, model.KindNoModel)
	for _, want := range []string{srv.URL, "qwen3:9b", "ollama pull qwen3:9b", "qwen3.5:9b"} {
		if !strings.Contains(e.Error(), want) {
			t.Errorf("%q does not say %q", e.Error(), want)
		}
	}
	if _, err := m.Call(t.Context(), user("Hello"), nil); model.KindOf(err) != model.KindNoModel {
		t.Errorf("Call: %v", err)
	}
}

func TestClosedPortIsReportedAtOnceWithAddressAndFix(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, err = New(Config{Host: addr}).Model("test").(model.Describer).Describe(t.Context())
	e := wantKind(t, err, model.KindUnreachable)
	if !strings.Contains(e.Error(), addr) || !strings.Contains(e.Error(), "ollama serve") {
		t.Errorf("%q names neither address nor fix", e.Error())
	}
}

func TestListIsNewestFirstWithCapabilities(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	srv := fakeserver.New(t, fakeserver.Script{Models: []fakeserver.Model{
		{Name: "old", Modified: at, NoTools: true, Size: 5},
		{Name: "new", Modified: at.Add(time.Hour), Thinking: true, Window: 4096, Loaded: true},
	}})
	list, err := New(Config{Host: srv.URL}).List(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("List() = %v, %v", list, err)
	}
	if n := list[0]; n.ID != "ollama/new" || !*n.Tools || !*n.Thinking || n.Window != 4096 || !n.Loaded || n.Required {
		t.Errorf("first = %+v", n)
	}
	if o := list[1]; o.ID != "ollama/old" || *o.Tools || *o.Thinking || o.Loaded || o.Bytes != 5 {
		t.Errorf("second = %+v", o)
	}
	if v, err := New(Config{Host: srv.URL}).Version(t.Context()); err != nil || v != "0.17.4" {
		t.Errorf("Version() = %q, %v", v, err)
	}
}

func TestStreamWithoutItsLastLineIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]fakeserver.Reply{
		"closed": {Text: "The towpath runs", Close: true},
		"cut":    {Text: "The towpath runs", Cut: true},
		"torn":   {Raw: []string{`{"model":"test","message":{"content":"Th`}},
		"empty":  {Raw: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{r}})
			_, err := m.Call(t.Context(), user("Hello"), nil)
			wantKind(t, err, model.KindInterrupted)
		})
	}
}

func TestErrorInTheStreamHasItsKind(t *testing.T) {
	t.Parallel()
	for text, kind := range map[string]model.Kind{
		"an error was encountered while running the model: CUDA error": model.KindCrashed,
		"the input length exceeds the context length":                  model.KindOverflow,
		"something else": model.KindInterrupted,
	} {
		raw, _ := json.Marshal(map[string]string{"error": text})
		m, _ := serve(t, fakeserver.Script{Models: []fakeserver.Model{{Name: "test", Window: 2048}},
			Replies: []fakeserver.Reply{{Raw: []string{`{"model":"test","message":{"role":"assistant","content":"Hi"},"done":false}` + "\n", string(raw) + "\n"}}}})
		_, err := m.Call(t.Context(), user("Hello"), nil)
		if model.KindOf(err) != kind {
			t.Errorf("%q gives %v (%s), want %s", text, err, model.KindOf(err), kind)
		}
	}
}

func TestWrongModelThatAnswersIsRefused(t *testing.T) {
	t.Parallel()
	m, _ := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{{Text: "Fine.", Model: "llama3:8b"}}})
	_, err := m.Call(t.Context(), user("Hello"), nil)
	if e := wantKind(t, err, model.KindProtocol); !strings.Contains(e.Error(), "llama3:8b") {
		t.Errorf("%v does not name the model that answered", e)
	}
}

func TestNameWithoutTagIsTheLatest(t *testing.T) {
	t.Parallel()
	m, _ := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{{Text: "Fine.", Model: "test:latest"}}})
	if r, err := m.Call(t.Context(), user("Hello"), nil); err != nil || r.Model != "ollama/test" {
		t.Errorf("Model = %q, %v", r.Model, err)
	}
}

// Capable models put everything into their reasoning, even a constrained answer.
func TestAnswerInThinkingFieldIsReadWhereASchemaWasAskedFor(t *testing.T) {
	t.Parallel()
	m, _ := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{{Reasoning: `{"a":1}`, Times: -1}}})
	req := user("Give a.")
	req.Schema = json.RawMessage(`{"type":"object"}`)
	r, err := m.Call(t.Context(), req, nil)
	if err != nil || r.Text != `{"a":1}` || r.Reasoning != `{"a":1}` {
		t.Errorf("text %q, reasoning %q, %v", r.Text, r.Reasoning, err)
	}
	req.Schema = nil
	if r, err := m.Call(t.Context(), req, nil); err != nil || r.Text != "" {
		t.Errorf("without a schema: text %q, %v", r.Text, err)
	}
}

func TestToolCallsKeepTheirArgumentsToTheByte(t *testing.T) {
	t.Parallel()
	line := `{"model":"test","message":{"role":"assistant","content":"","tool_calls":[` +
		`{"function":{"name":"weather","arguments":{"z": 1.0,  "city":"Minsk"}}},{"function":{"name":"weather","arguments":"{\"city\":\"Brest\"}"}}]},"done":false}` + "\n" +
		`{"model":"test","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}` + "\n"
	m, _ := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{{Raw: []string{line[:50], line[50:]}}}})
	req := user("Hello")
	req.Tools = []model.ToolDef{modeltest.Weather()}
	r, err := m.Call(t.Context(), req, nil)
	if err != nil || len(r.ToolCalls) != 2 {
		t.Fatalf("calls %v, %v", r.ToolCalls, err)
	}
	if r.ToolCalls[0].Arguments != `{"z": 1.0,  "city":"Minsk"}` || r.ToolCalls[1].Arguments != `{"city":"Brest"}` {
		t.Errorf("arguments %q and %q", r.ToolCalls[0].Arguments, r.ToolCalls[1].Arguments)
	}
	if r.ToolCalls[0].ID == "" || r.ToolCalls[0].ID == r.ToolCalls[1].ID {
		t.Errorf("ids %q and %q, want two", r.ToolCalls[0].ID, r.ToolCalls[1].ID)
	}
	if r.Usage.Prompt != nil || r.Usage.Output != nil {
		t.Errorf("usage %+v, want unknown", r.Usage)
	}
}

func TestCancellationClosesTheConnection(t *testing.T) {
	t.Parallel()
	m, srv := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{{Text: "Once upon a time", Stall: true}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := m.Call(ctx, user("Hello"), func(d model.Delta) { cancel() })
	if !errors.Is(err, context.Canceled) || model.KindOf(err) != "" {
		t.Errorf("error = %v, want the context's", err)
	}
	<-srv.Gone()
}

func TestTimeoutsNameWhatWasLate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply fakeserver.Reply
		times endpoint.Timeouts
		says  string
	}{
		"first piece": {fakeserver.Reply{Silent: true}, endpoint.Timeouts{FirstByte: 100 * time.Millisecond}, "first piece"},
		"next piece":  {fakeserver.Reply{Text: "Once", Stall: true}, endpoint.Timeouts{Idle: 100 * time.Millisecond}, "next piece"},
		"whole":       {fakeserver.Reply{Text: "Once", Stall: true}, endpoint.Timeouts{Total: 200 * time.Millisecond}, "whole reply"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakeserver.New(t, fakeserver.Script{Replies: []fakeserver.Reply{c.reply}})
			_, err := New(Config{Host: srv.URL, Timeouts: c.times}).Model("test").Call(t.Context(), user("Hello"), nil)
			if e := wantKind(t, err, model.KindTimeout); !strings.Contains(e.Error(), c.says) {
				t.Errorf("%q does not name %q", e.Error(), c.says)
			}
		})
	}
}

func TestOneSentenceForeverIsAbortedEarly(t *testing.T) {
	t.Parallel()
	m, srv := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{{Text: strings.Repeat("I will begin. ", 400), Stall: true}}})
	var seen strings.Builder
	_, err := m.Call(t.Context(), user("Hello"), func(d model.Delta) { seen.WriteString(d.Text) })
	wantKind(t, err, model.KindDegenerate)
	if seen.Len() > 3000 {
		t.Errorf("%d bytes came before it was noticed", seen.Len())
	}
	<-srv.Gone()
}

func TestBusyServerAndLoadingServerAreToldApart(t *testing.T) {
	t.Parallel()
	m, _ := serve(t, fakeserver.Script{Loading: 1, Replies: []fakeserver.Reply{{Status: 503, Body: `{"error":"server busy, please try again.  maximum pending requests exceeded"}`}}})
	_, err := m.Call(t.Context(), user("Hello"), nil)
	wantKind(t, err, model.KindLoading)
	_, err = m.Call(t.Context(), user("Hello"), nil)
	wantKind(t, err, model.KindOverloaded)
}

// TestSenselessWindowCountsAsNotStated: a negative window refused every prompt,
// and one beyond all numbers turned negative.
func TestSenselessWindowCountsAsNotStated(t *testing.T) {
	t.Parallel()
	for _, n := range []any{-5.0, 0.0, 1e30, 0.5, "8192", nil} {
		if got := trainedWindow(map[string]any{"general.architecture": "x", "x.context_length": n}); got != 0 {
			t.Errorf("%v gives a window of %d, want 0: not stated", n, got)
		}
	}
	if got := trainedWindow(map[string]any{"general.architecture": "x", "x.context_length": 32768.0, "y.context_length": 1e30}); got != 32768 {
		t.Errorf("got %d, want 32768", got)
	}
}
