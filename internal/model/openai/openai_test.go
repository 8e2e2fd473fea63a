package openai

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"towpath/internal/fakeserver"
	"towpath/internal/model"
	"towpath/internal/model/endpoint"
	"towpath/internal/model/modeltest"
)

func clientOf(srv *fakeserver.Server, provider string) *Client {
	return New(Config{Provider: provider, BaseURL: srv.URL + "/v1", Timeouts: endpoint.Timeouts{FirstByte: time.Minute, Idle: time.Minute}})
}

// serve gives a model named "test" behind a scripted server.
func serve(t *testing.T, s fakeserver.Script) (model.Model, *fakeserver.Server) {
	t.Helper()
	srv := fakeserver.New(t, s)
	return clientOf(srv, "lab").Model("test"), srv
}

func user(text string) model.Request {
	return model.Request{Messages: []model.Message{{Role: model.RoleUser, Text: text}}}
}

func withTool() model.Request {
	r := user("Hello")
	r.Tools = []model.ToolDef{modeltest.Weather()}
	return r
}

func wantKind(t *testing.T, err error, kind model.Kind) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("error = %v (kind %q), want kind %q", err, model.KindOf(err), kind)
	}
	return e
}

// events gives a reply that is sent as it stands, one event a piece.
func events(data ...string) fakeserver.Reply {
	var r fakeserver.Reply
	for _, d := range data {
		r.Raw = append(r.Raw, "data: "+d+"\n\n")
	}
	return r
}

func TestModelContract(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, modeltest.Subject{Window: 8192, Schema: true, Required: true, New: func(t *testing.T) model.Model {
		m, _ := serve(t, modeltest.Script())
		return m
	}})
}

const (
	hello  = `{"model":"test","choices":[{"index":0,"delta":{"content":"Hello"}}]}`
	stop   = `{"model":"test","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	counts = `{"model":"test","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":5},"completion_tokens_details":{"reasoning_tokens":2}}}`
	done   = `[DONE]`
)

func TestStreamsThatAreWhole(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]fakeserver.Reply{
		"usage chunk first and last": events(counts, hello, stop, counts, done),
		"no end marker":              events(hello, stop),
		"no finish reason":           events(hello, done),
		"cut after the finish":       {Raw: events(hello, stop).Raw, Cut: true},
		"comments and empty events":  {Raw: []string{": ping\n\n", ": ping\n\n: ping\n\n", "data:\n\n", "data: " + hello + "\n\n", "data: " + stop + "\n\n"}},
		"carriage returns":           {Raw: []string{"data: " + hello + "\r", "\n\r\ndata: " + stop + "\r\n\r\n"}},
		"no last blank line":         {Raw: []string{"data:" + hello + "\n\n", "data:" + stop}},
		"a byte order mark":          {Raw: []string{"\xef\xbb\xbfdata: " + hello + "\n\n", "data: " + stop + "\n\n"}},
		"null choices":               events(`{"choices":null}`, hello, stop, done),
		"other choices":              events(hello, `{"choices":[{"index":1,"delta":{"content":"Bye"}}]}`, stop, done),
		"content in parts":           events(`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"Hello"}]}}]}`, stop),
		"events called JSON":         {Header: map[string][]string{"Content-Type": {"application/json"}}, Raw: events(hello, stop, done).Raw},
		"one piece":                  {Header: map[string][]string{"Content-Type": {"application/json"}}, Raw: []string{`{"model":"test","choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{r}})
			got, err := m.Call(t.Context(), user("Hello"), nil)
			if err != nil || got.Text != "Hello" || got.Finish != model.FinishStop {
				t.Errorf("text %q, finish %q, %v", got.Text, got.Finish, err)
			}
		})
	}
}

func TestStreamsThatBreakOff(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]fakeserver.Reply{
		"neither finish nor end marker": events(hello),
		"connection cut":                {Raw: events(hello).Raw, Cut: true},
		"torn event":                    {Raw: []string{"data: " + hello + "\n\n", `data: {"choices":[{"del`}},
		"only comments":                 {Raw: []string{": ping\n\n", "data:\n\n"}},
		"end marker alone":              events(done),
		"gave up":                       events(hello, `{"choices":[{"delta":{},"finish_reason":"error"}]}`, done),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{r}})
			got, err := m.Call(t.Context(), user("Hello"), nil)
			if model.KindOf(err) != model.KindInterrupted {
				t.Errorf("reply %+v, error %v, want kind %s", got, err, model.KindInterrupted)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	is := func(n *int) int {
		if n == nil {
			return -1
		}
		return *n
	}
	for name, c := range map[string]struct {
		reply fakeserver.Reply
		want  [4]int // prompt, cached, output, reasoning; -1 is unknown
	}{
		"whole":                        {events(hello, stop, counts, done), [4]int{9, 5, 4, 2}},
		"none is unknown":              {events(hello, stop, done), [4]int{-1, -1, -1, -1}},
		"zeroes with text are unknown": {events(hello, stop, `{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`, done), [4]int{-1, -1, -1, -1}},
		"the last value counts": {events(`{"choices":[{"delta":{"content":"Hello"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`, stop,
			`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}`, done), [4]int{9, -1, 2, -1}},
	} {
		m, _ := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{c.reply}})
		r, err := m.Call(t.Context(), user("Hello"), nil)
		u := r.Usage
		if got := [4]int{is(u.Prompt), is(u.Cached), is(u.Output), is(u.Reasoning)}; err != nil || got != c.want {
			t.Errorf("%s: %v, want %v (%v)", name, got, c.want, err)
		}
	}
}

func TestErrorEventsInTheStreamHaveTheirKind(t *testing.T) {
	t.Parallel()
	for data, kind := range map[string]model.Kind{
		"event: error\ndata: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n":                           model.KindOverloaded,
		"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n":                 model.KindOverloaded,
		"data: {\"error\":{\"code\":429,\"message\":\"Rate limit reached, try again in 7m12.5s\"}}\n\n":                            model.KindRateLimited,
		"data: {\"error\":{\"message\":\"This model's maximum context length is 4096 tokens\"}}\n\n":                               model.KindOverflow,
		"{\"error\":{\"message\":\"Loading model\",\"code\":503,\"type\":\"unavailable_error\"}}\n":                                model.KindLoading,
		"event: error\ndata: something is wrong\n\n":                                                                               model.KindInterrupted,
		"data: {\"error\":{\"code\":502,\"message\":\"Provider returned error\"},\"choices\":[{\"finish_reason\":\"error\"}]}\n\n": model.KindOverloaded,
	} {
		m, _ := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{{Raw: []string{"data: " + hello + "\n\n", data}}}})
		_, err := m.Call(t.Context(), user("Hello"), nil)
		e := wantKind(t, err, kind)
		if kind == model.KindRateLimited && e.RetryAfter != 7*time.Minute+12500*time.Millisecond {
			t.Errorf("RetryAfter = %v", e.RetryAfter)
		}
	}
}

func TestReasoningIsSeparatedByPosition(t *testing.T) {
	t.Parallel()
	piece := func(field, s string) string {
		b, _ := json.Marshal(s)
		return `{"choices":[{"delta":{"` + field + `":` + string(b) + `}}]}`
	}
	for name, c := range map[string]struct {
		reply      fakeserver.Reply
		text, mind string
	}{
		"a field of its own":        {events(piece("reasoning_content", "hm"), piece("content", "Yes"), stop), "Yes", "hm"},
		"the other field":           {events(piece("reasoning", "hm"), piece("content", "Yes"), stop), "Yes", "hm"},
		"both fields say the same":  {events(`{"choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}`, piece("content", "Yes"), stop), "Yes", "hm"},
		"tag cut across pieces":     {events(piece("content", "<think>s</thi"), piece("content", "nk>ANSWER"), stop), "ANSWER", "s"},
		"less-than is ordinary":     {events(piece("content", "a < "), piece("content", "b"), stop), "a < b", ""},
		"closing tag is an orphan":  {events(piece("content", "hm.\n</think>\n\nYes"), stop), "Yes", "hm."},
		"closing tag quoted before": {events(piece("reasoning_content", "mentions `"), piece("content", "` tag ...</think>\n\nReal answer"), stop), "Real answer", "mentions `` tag ..."},
		"answer quotes the tag":     {events(piece("content", "Close with `</think>` always."), stop), "Close with `</think>` always.", ""},
		"answer shows the tags":     {events(piece("content", "Write\n```\n<think>x</think>\n```\n"), stop), "Write\n```\n<think>x</think>\n```\n", ""},
		"never closed":              {events(piece("content", "<think>on and on"), stop), "", "on and on"},
		"two in a row":              {events(piece("content", "<think>a</think>\n<think>b</think>\nYes"), stop), "Yes", "a\nb"},
	} {
		m, _ := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{c.reply}})
		r, err := m.Call(t.Context(), user("Hello"), nil)
		if err != nil || r.Text != c.text || r.Reasoning != c.mind {
			t.Errorf("%s: text %q, reasoning %q, %v; want %q, %q", name, r.Text, r.Reasoning, err, c.text, c.mind)
		}
	}
}

func TestReasoningThatUsedTheWholeBudgetIsSaidAsSuch(t *testing.T) {
	t.Parallel()
	m, _ := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{{Reasoning: counting(600), Finish: "length"}}})
	r, err := m.Call(t.Context(), user("Hello"), nil)
	if err != nil || r.Text != "" || r.Finish != model.FinishLength || len(r.Reasoning) < 2000 {
		t.Errorf("text %q, finish %q, %d bytes of reasoning, %v", r.Text, r.Finish, len(r.Reasoning), err)
	}
}

func counting(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("i", i%7+1) + string(rune('a'+i%26)) + " ")
	}
	return b.String()
}

func TestToolCallsAsServersStreamThem(t *testing.T) {
	t.Parallel()
	tool := func(calls string) string { return `{"choices":[{"delta":{"tool_calls":[` + calls + `]}}]}` }
	type want struct{ name, args string }
	for name, c := range map[string]struct {
		data []string
		want []want
	}{
		"two by index": {[]string{tool(`{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":"}},{"index":1,"id":"b","function":{"name":"weather","arguments":"{\"city\":"}}`),
			tool(`{"index":1,"function":{"arguments":"\"Brest\"}"}},{"index":0,"function":{"arguments":"\"Minsk\"}"}}`)},
			[]want{{"weather", `{"city":"Minsk"}`}, {"weather", `{"city":"Brest"}`}}},
		"one index for all": {[]string{tool(`{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Minsk\"}"}}`),
			tool(`{"index":0,"id":"b","function":{"name":"weather","arguments":"{\"city\":\"Brest\"}"}}`)},
			[]want{{"weather", `{"city":"Minsk"}`}, {"weather", `{"city":"Brest"}`}}},
		"no ids and one index": {[]string{tool(`{"index":0,"function":{"name":"weather","arguments":"{\"city\":\"Minsk\"}"}}`),
			tool(`{"index":0,"function":{"name":"weather","arguments":"{\"city\":\"Brest\"}"}}`)},
			[]want{{"weather", `{"city":"Minsk"}`}, {"weather", `{"city":"Brest"}`}}},
		"no index at all": {[]string{tool(`{"id":"a","function":{"name":"weather","arguments":"{\"city\":"}}`), tool(`{"function":{"arguments":"\"Minsk\"}"}}`)},
			[]want{{"weather", `{"city":"Minsk"}`}}},
		"pieces on other indices": {[]string{tool(`{"index":0,"id":"a","function":{"name":"weather"}}`), tool(`{"index":1,"function":{"arguments":"{\"city\""}}`), tool(`{"index":2,"function":{"arguments":":\"Minsk\"}"}}`)},
			[]want{{"weather", `{"city":"Minsk"}`}}},
		"id and name with each piece": {[]string{tool(`{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":"}}`), tool(`{"index":0,"id":"a","function":{"name":"weather","arguments":"\"Minsk\"}"}}`)},
			[]want{{"weather", `{"city":"Minsk"}`}}},
		"glued arguments": {[]string{tool(`{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Minsk\"}{\"city\":\"Brest\"}"}}`)},
			[]want{{"weather", `{"city":"Minsk"}`}, {"weather", `{"city":"Brest"}`}}},
		"the same object begun again": {[]string{tool(`{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"a\"}{\"city\":"}}`)}, []want{{"weather", `{"city":"a"}`}}},
		"a fence":                     {[]string{tool("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"weather\",\"arguments\":\"```json\\n{\\\"city\\\":\\\"a\\\"}\\n```\"}}")}, []want{{"weather", `{"city":"a"}`}}},
		"cut arguments stay as they are": {[]string{tool(`{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"cmd\":\"rm -rf /tmp/x"}}`)},
			[]want{{"weather", `{"cmd":"rm -rf /tmp/x`}}},
		"empty arguments stay empty": {[]string{tool(`{"index":0,"id":"a","function":{"name":"weather","arguments":""}}`)}, []want{{"weather", ""}}},
		"an object for arguments":    {[]string{tool(`{"index":0,"id":"a","function":{"name":"weather","arguments":{"city":"Minsk"}}}`)}, []want{{"weather", `{"city":"Minsk"}`}}},
		"the older field":            {[]string{`{"choices":[{"delta":{"function_call":{"name":"weather","arguments":"{\"city\":"}}}]}`, `{"choices":[{"delta":{"function_call":{"arguments":"\"Minsk\"}"}}}]}`}, []want{{"weather", `{"city":"Minsk"}`}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{events(append(c.data, stop, done)...)}})
			r, err := m.Call(t.Context(), withTool(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Finish != model.FinishToolCalls || len(r.ToolCalls) != len(c.want) {
				t.Fatalf("finish %q, calls %+v", r.Finish, r.ToolCalls)
			}
			ids := map[string]bool{}
			for i, w := range c.want {
				got := r.ToolCalls[i]
				if got.Name != w.name || got.Arguments != w.args || got.ID == "" || ids[got.ID] {
					t.Errorf("call %d = %+v, want %+v", i, got, w)
				}
				ids[got.ID] = true
			}
		})
	}
}

func TestPiecesThatBelongToNoCallFailTheReply(t *testing.T) {
	t.Parallel()
	m, _ := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{events(
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"weather","arguments":"{"}},{"index":1,"id":"b","function":{"name":"weather","arguments":"{"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":7,"function":{"arguments":"\"city\":\"x\"}"}}]}}]}`, stop, done)}})
	_, err := m.Call(t.Context(), withTool(), nil)
	wantKind(t, err, model.KindProtocol)
}

func TestToolCallAsPlainTextIsRecoveredOnlyWhenItIsEverything(t *testing.T) {
	t.Parallel()
	call := `{"name":"weather","arguments":{"city":"x"}}`
	for text, want := range map[string]bool{
		call:                             true,
		"```json\n" + call + "\n```":     true,
		"Write it like this:\n\n" + call: false,
		"# Tutorial\n```json\n" + call + "\n```\nThen go on.": false,
		`{"name":"other","arguments":{}}`:                     false,
	} {
		m, _ := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{{Text: text, Times: -1}}})
		r, err := m.Call(t.Context(), withTool(), nil)
		if err != nil || (len(r.ToolCalls) == 1) != want || r.Recovered != want {
			t.Errorf("%q gives %+v, %v", text, r.ToolCalls, err)
		}
		if r, err := m.Call(t.Context(), user("Hello"), nil); err != nil || len(r.ToolCalls) > 0 || r.Text != text {
			t.Errorf("%q without tools on offer gives %+v, %v", text, r, err)
		}
	}
}

func TestRefusedFieldsAreLeftOutAndRemembered(t *testing.T) {
	t.Parallel()
	m, srv := serve(t, fakeserver.Script{Refuse: []string{"stream_options", "response_format", "tool_choice", "max_tokens", "temperature"},
		Replies: []fakeserver.Reply{{Text: "{}", Times: -1}}})
	req := withTool()
	req.ToolChoice, req.Schema = model.ChoiceRequired, json.RawMessage(`{"type":"object"}`)
	if _, err := m.Call(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	before := len(srv.Chats())
	if _, err := m.Call(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	chats := srv.Chats()
	if len(chats) != before+1 {
		t.Errorf("the second call took %d requests, want 1", len(chats)-before)
	}
	last := chats[len(chats)-1]
	if last.Fields["max_completion_tokens"] != 2048.0 {
		t.Errorf("max_completion_tokens = %v", last.Fields["max_completion_tokens"])
	}
	if said := last.Messages[len(last.Messages)-1].Content; !strings.Contains(said, `{"type":"object"}`) {
		t.Errorf("the schema is not in the prompt: %q", said)
	}
	info, err := m.(model.Describer).Describe(t.Context())
	if err != nil || info.Required {
		t.Errorf("Required = %v, %v; want false after the refusal", info.Required, err)
	}
}

func TestValueThatIsRefusedIsNotLeftOutSilently(t *testing.T) {
	t.Parallel()
	m, srv := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{{Status: 400, Times: -1,
		Body: `{"error":{"message":"max_tokens must be less than or equal to 1024","param":"max_tokens"}}`}}})
	_, err := m.Call(t.Context(), user("Hello"), nil)
	if e := wantKind(t, err, model.KindRequest); !strings.Contains(e.Error(), "1024") || len(srv.Chats()) != 1 {
		t.Errorf("%v after %d requests", e, len(srv.Chats()))
	}
}

func TestToolChoiceOnTheWire(t *testing.T) {
	t.Parallel()
	m, srv := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{{Text: "Fine.", Times: -1}}})
	for _, choice := range []model.ToolChoice{model.ChoiceAuto, model.ChoiceRequired, model.ChoiceNone} {
		req := withTool()
		req.ToolChoice = choice
		if _, err := m.Call(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	c := srv.Chats()
	if v, there := c[0].Fields["tool_choice"]; there {
		t.Errorf("auto sends %v", v)
	}
	if c[1].Fields["tool_choice"] != "required" {
		t.Errorf("required sends %v", c[1].Fields["tool_choice"])
	}
	if len(c[2].Tools) > 0 {
		t.Errorf("none offers %v", c[2].Tools)
	}
	if info, err := m.(model.Describer).Describe(t.Context()); err != nil || info.Required {
		t.Errorf("Required = %v, %v; want false: it was taken and not honoured", info.Required, err)
	}
}

func TestSystemMessageElsewhereAndTwoOfOneRoleAreMended(t *testing.T) {
	t.Parallel()
	m, _ := serve(t, fakeserver.Script{StrictRoles: true, Replies: []fakeserver.Reply{{Text: "Fine."}}})
	req := withTool()
	req.Messages = []model.Message{
		{Role: model.RoleUser, Text: "One."}, {Role: model.RoleSystem, Text: "Be brief."}, {Role: model.RoleUser, Text: "Two."},
		{Role: model.RoleAssistant, Text: "I look."}, {Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{ID: "a", Name: "weather", Arguments: `{"city":"x"}`}}},
		{Role: model.RoleTool, ToolCallID: "a", ToolName: "weather", Text: "21"},
		{Role: model.RoleUser, Text: "A nudge."}, {Role: model.RoleUser, Text: "Another."},
	}
	if r, err := m.Call(t.Context(), req, nil); err != nil || r.Text != "Fine." {
		t.Errorf("%q, %v", r.Text, err)
	}
}

func TestKeyIsRefused(t *testing.T) {
	t.Parallel()
	srv := fakeserver.New(t, fakeserver.Script{Key: "right", Replies: []fakeserver.Reply{{Text: "Fine."}}})
	bad := New(Config{Provider: "groq", BaseURL: srv.URL + "/v1", Key: "wrong-secret", KeyFrom: "GROQ_API_KEY"})
	_, err := bad.Model("test").Call(t.Context(), user("Hello"), nil)
	e := wantKind(t, err, model.KindAuth)
	if !strings.Contains(e.Error(), "GROQ_API_KEY") || strings.Contains(e.Error(), "wrong-secret") {
		t.Errorf("%q must name where the key comes from, and never the key", e.Error())
	}
	good := New(Config{Provider: "groq", BaseURL: srv.URL + "/v1", Key: "right"})
	if _, err := good.Model("test").Call(t.Context(), user("Hello"), nil); err != nil {
		t.Error(err)
	}
}

func TestUnknownModelNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	srv := fakeserver.New(t, fakeserver.Script{Models: []fakeserver.Model{{Name: "gpt-4o-mini"}}})
	m := clientOf(srv, "lab").Model("gpt4-mini")
	_, err := m.(model.Describer).Describe(t.Context())
	if e := wantKind(t, err, model.KindNoModel); !strings.Contains(e.Error(), "gpt-4o-mini") || !strings.Contains(e.Error(), srv.URL) {
		t.Errorf("%q", e.Error())
	}
	_, err = m.Call(t.Context(), user("Hello"), nil)
	wantKind(t, err, model.KindNoModel)
}

func TestWrongModelThatAnswersIsRefusedAndVersionsAreNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider, asked, answered string
		ok                        bool
	}{
		{"openai", "gpt-4o", "gpt-4o-2024-08-06", true},
		{"openrouter", "meta-llama/llama-3.1-8b-instruct:free", "meta-llama/llama-3.1-8b-instruct", true},
		{"openrouter", "openrouter/auto", "anthropic/claude-x", true},
		{"lab", "mistral-large-latest", "mistral-large-2411", true},
		{"lab", "qwen2.5-coder", "/models/qwen2.5-coder-q4_k_m.gguf", true},
		{"llamacpp", "any", "/models/thing.gguf", true},
		{"lab", "qwen3.5:9b", "qwen3.5:4b", false},
		{"lmstudio", "qwen3-8b", "llama-3.1-8b", false},
	} {
		srv := fakeserver.New(t, fakeserver.Script{Models: []fakeserver.Model{{Name: c.asked}}, Replies: []fakeserver.Reply{{Text: "Fine.", Model: c.answered}}})
		r, err := clientOf(srv, c.provider).Model(c.asked).Call(t.Context(), user("Hello"), nil)
		if c.ok && (err != nil || r.Model != c.provider+"/"+c.answered) || !c.ok && model.KindOf(err) != model.KindProtocol {
			t.Errorf("%s answers for %s: %q, %v; want accepted: %v", c.answered, c.asked, r.Model, err, c.ok)
		}
	}
}

func TestPromptThatWasCutAndAnsweredIsAnOverflow(t *testing.T) {
	t.Parallel()
	m, _ := serve(t, fakeserver.Script{Models: []fakeserver.Model{{Name: "test", Window: 4096, Cuts: true}}, Replies: []fakeserver.Reply{{Text: "Fine."}}})
	_, err := m.Call(t.Context(), user(strings.Repeat("The towpath runs along the canal. ", 2000)), nil)
	wantKind(t, err, model.KindOverflow)
}

func TestWindowIsLearnedFromTheOverflow(t *testing.T) {
	t.Parallel()
	m, _ := serve(t, fakeserver.Script{Models: []fakeserver.Model{{Name: "test", Window: 4096}}})
	_, err := m.Call(t.Context(), user(strings.Repeat("The towpath runs along the canal. ", 2000)), nil)
	if e := wantKind(t, err, model.KindOverflow); e.Window != 4096 || e.Prompt < 10000 {
		t.Errorf("window %d, prompt %d", e.Window, e.Prompt)
	}
	if info, err := m.(model.Describer).Describe(t.Context()); err != nil || info.Window != 4096 {
		t.Errorf("Describe gives %+v, %v", info, err)
	}
}

func TestCancellationClosesTheConnection(t *testing.T) {
	t.Parallel()
	m, srv := serve(t, fakeserver.Script{Replies: []fakeserver.Reply{{Text: "Once upon a time", Stall: true}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := m.Call(ctx, user("Hello"), func(model.Delta) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want the context's", err)
	}
	<-srv.Gone()
}

func TestKeepAliveCommentsResetTheIdleTimerOnlyForAsLongAsTheWholeMayTake(t *testing.T) {
	t.Parallel()
	srv := fakeserver.New(t, fakeserver.Script{Replies: []fakeserver.Reply{{Raw: []string{": ping\n\n", "data: " + hello + "\n\n", ": ping\n\n"}, Stall: true}}})
	c := New(Config{Provider: "lab", BaseURL: srv.URL + "/v1", Timeouts: endpoint.Timeouts{Idle: 100 * time.Millisecond}})
	_, err := c.Model("test").Call(t.Context(), user("Hello"), nil)
	if e := wantKind(t, err, model.KindTimeout); !strings.Contains(e.Error(), "next piece") {
		t.Errorf("%q", e.Error())
	}
}

func TestAnotherProgramAtTheAddress(t *testing.T) {
	t.Parallel()
	srv := fakeserver.New(t, fakeserver.Script{Banner: "<!doctype html><title>Router</title>"})
	m := New(Config{Provider: "lab", BaseURL: srv.URL + "/v2"}).Model("test")
	_, err := m.Call(t.Context(), user("Hello"), nil)
	wantKind(t, err, model.KindProtocol)
	if _, err := m.(model.Describer).Describe(t.Context()); model.KindOf(err) != model.KindProtocol {
		t.Errorf("Describe: %v", err)
	}
}

func TestMissingVersionPathIsExplained(t *testing.T) {
	t.Parallel()
	srv := fakeserver.New(t, fakeserver.Script{})
	_, err := New(Config{Provider: "lab", BaseURL: srv.URL}).Model("test").Call(t.Context(), user("Hello"), nil)
	if e := wantKind(t, err, model.KindProtocol); !strings.Contains(e.Error(), "/v1") {
		t.Errorf("%q does not say that /v1 is missing", e.Error())
	}
}
