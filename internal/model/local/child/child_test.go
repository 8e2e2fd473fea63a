package child

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"towpath/internal/model/local/chat"
	"towpath/internal/model/local/engine"
)

func TestTurnsAreTakenInOrder(t *testing.T) {
	t.Parallel()
	q := newTurns()
	if !q.try() || q.try() {
		t.Fatal("the turn is not had exactly once")
	}
	var line []chan struct{}
	for range 3 {
		turn, err := q.enter()
		if err != nil {
			t.Fatal(err)
		}
		line = append(line, turn)
	}
	q.leave(line[1]) // gives up
	has := func(i int) bool {
		select {
		case <-line[i]:
			return true
		default:
			return false
		}
	}
	if has(0) || has(2) {
		t.Fatal("a turn is given while another works")
	}
	q.done()
	if !has(0) || has(2) {
		t.Fatal("the turn does not go to the first in line")
	}
	q.leave(line[0]) // gives up although it has the turn
	if !has(2) || has(1) {
		t.Fatal("the turn does not go on to the next in line")
	}
	q.done()
	if !q.try() {
		t.Error("the turn is not free at the end")
	}
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	q := newTurns()
	q.try()
	for range maxWaiting {
		if _, err := q.enter(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.enter(); !errors.Is(err, errBusy) {
		t.Errorf("got %v, want that too many wait", err)
	}
	if f := asFailure(errBusy); f.Status != http.StatusServiceUnavailable || f.Type != "overloaded_error" {
		t.Errorf("told as %+v", f)
	}
}

func TestWaitingRequestShowsThatItLives(t *testing.T) {
	t.Parallel()
	q := newTurns()
	q.try()
	ctx, cancel := context.WithCancel(t.Context())
	beat := make(chan struct{})
	beats := 0
	ended := make(chan error)
	go func() { ended <- q.wait(ctx, beat, func() { beats++ }) }()
	beat <- struct{}{}
	beat <- struct{}{}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || beats != 2 {
		t.Errorf("%v after %d beats", err, beats)
	}
	q.done()
	if !q.try() {
		t.Error("who gave up still has a place in line")
	}
}

func TestHangOfNativeCodeIsNoticed(t *testing.T) {
	t.Parallel()
	w := newWatch(10 * time.Millisecond)
	hung := make(chan struct{})
	go w.run(t.Context(), func() { close(hung) })
	w.start()
	select {
	case <-hung:
	case <-time.After(10 * time.Second):
		t.Fatal("it is not noticed")
	}
	calm := newWatch(time.Hour)
	calm.start()
	calm.progress()
	calm.stop()
	calm.progress() // late progress does not begin it again
	if calm.timer != nil {
		t.Error("it watches although it was stopped")
	}
}

func TestRequestsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	const user = `"messages":[{"role":"user","content":"x"}]`
	const tool = `"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object"}}}]`
	for in, want := range map[string]string{
		`{`:                               "not understood",
		`[]`:                              "not understood",
		`{"messages":[]}`:                 "no messages",
		`{` + user + `,"n":2}`:            "only one reply",
		`{` + user + `,"max_tokens":0}`:   "leaves no reply",
		`{` + user + `,"max_tokens":-1}`:  "leaves no reply",
		`{` + user + `,"temperature":-1}`: "temperature",
		`{` + user + `,"tool_choice":"required"}`:                                                "there are no tools",
		`{` + user + `,` + tool + `,"tool_choice":"maybe"}`:                                      "no tool_choice",
		`{` + user + `,` + tool + `,"tool_choice":{"type":"function","function":{"name":"b"}}}`:  `names "b"`,
		`{` + user + `,"tools":[{"type":"function","function":{}}]}`:                             "has no name",
		`{` + user + `,"response_format":{"type":"json_schema","json_schema":{"schema":false}}}`: "nothing satisfies",
		`{"messages":[{"role":"robot","content":"x"}]}`:                                          `no role "robot"`,
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]}`:         "only text",
		`{"messages":[{"role":"user","content":7}]}`:                                             "neither text nor parts",
	} {
		_, err := understand(strings.NewReader(in), false)
		var f *failure
		if !errors.As(err, &f) || f.Status != http.StatusBadRequest || !strings.Contains(f.Message, want) {
			t.Errorf("%s: got %v, want 400 with %q", in, err, want)
		}
	}
}

func TestGrammarFollowsTheRequest(t *testing.T) {
	t.Parallel()
	const user = `"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`
	const tools = `"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object"}}},{"type":"function","function":{"name":"b"}}]`
	for in, want := range map[string]struct {
		has, hasNot string
		lazy        bool
	}{
		`{` + user + `}`:                                        {},
		`{` + user + `,` + tools + `}`:                          {has: `\"a\"`, lazy: true},
		`{` + user + `,` + tools + `,"tool_choice":"none"}`:     {},
		`{` + user + `,` + tools + `,"tool_choice":"required"}`: {has: `\"b\"`},
		`{` + user + `,` + tools + `,"tool_choice":{"type":"function","function":{"name":"b"}}}`: {has: `\"b\"`, hasNot: `\"a\"`},
		`{` + user + `,"response_format":{"type":"json_object"}}`:                                {has: "object"},
		`{` + user + `,"response_format":{"type":"text"}}`:                                       {},
	} {
		w, err := understand(strings.NewReader(in), false)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if (w.grammar != "") != (want.has != "") || !strings.Contains(w.grammar, want.has) || want.hasNot != "" && strings.Contains(w.grammar, want.hasNot) || w.lazy != want.lazy {
			t.Errorf("%s: lazy %v, grammar\n%s", in, w.lazy, w.grammar)
		}
		if w.messages[0].Content != "ab" {
			t.Errorf("the parts are read as %q", w.messages[0].Content)
		}
		if safe, err := understand(strings.NewReader(in), true); err != nil || safe.grammar != "" {
			t.Errorf("%s: the second try has a grammar", in)
		}
	}
}

// written gives what a client sees of a reply that was made of these pieces.
func written(t *testing.T, request string, pieces []string, finish engine.Finish) answer {
	t.Helper()
	job, err := understand(strings.NewReader(request), false)
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	o := &output{w: rec, job: job, id: "x"}
	for _, p := range pieces {
		if !o.write(p) {
			break
		}
	}
	o.finish(engine.Outcome{Finish: finish, Prompt: 10, Cached: 4, Output: len(pieces)})
	var a answer
	if err := json.Unmarshal(rec.Body.Bytes(), &a); err != nil {
		t.Fatalf("%v: %s", err, rec.Body)
	}
	return a
}

type answer struct {
	Choices []struct {
		Message delta
		Finish  string `json:"finish_reason"`
	}
	Usage usage
}

func TestStopTextsEndTheReply(t *testing.T) {
	t.Parallel()
	a := written(t, `{"messages":[{"role":"user","content":"x"}],"stop":["END","\n\n"]}`, []string{"one E", "N", "x two", " EN", "D three"}, engine.FinishCaller)
	if got := *a.Choices[0].Message.Content; got != "one ENx two " || a.Choices[0].Finish != "stop" {
		t.Errorf("%q, %s", got, a.Choices[0].Finish)
	}
	if a.Usage.Prompt != 10 || a.Usage.Details.Cached != 4 || a.Usage.Total != 15 {
		t.Errorf("usage %+v", a.Usage)
	}
}

func TestCallIdsGoOnThroughAConversation(t *testing.T) {
	t.Parallel()
	a := written(t, `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","function":{"name":"a","arguments":"{}"}}]},{"role":"tool","content":"y"}],
		"tools":[{"type":"function","function":{"name":"a"}}]}`, []string{"<tool_call>\n{\"name\": \"a\", \"argu", "ments\": {\"b\": 1}}\n</tool_call>"}, engine.FinishStop)
	m := a.Choices[0].Message
	if len(m.Calls) != 1 || m.Calls[0].ID != "call_2" || m.Calls[0].Function.Arguments != `{"b": 1}` || m.Content != nil || a.Choices[0].Finish != "tool_calls" {
		t.Errorf("%+v", a.Choices[0])
	}
}

func TestCallThatWasCutByLengthNeverRuns(t *testing.T) {
	t.Parallel()
	a := written(t, `{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"a"}}]}`,
		[]string{"<tool_call>\n{\"name\": \"a\", \"arguments\": {\"cmd\": \"rm -rf /tmp/x"}, engine.FinishLength)
	if len(a.Choices[0].Message.Calls) != 0 || a.Choices[0].Finish != "length" {
		t.Errorf("%+v", a.Choices[0])
	}
}

func TestMemoryIsReadFromTheSystem(t *testing.T) {
	t.Parallel()
	n, ok := available([]byte("MemTotal:       24000000 kB\nMemFree:  1 kB\nMemAvailable:   20000 kB\n"))
	if !ok || n != 20000<<10 {
		t.Errorf("%d, %v", n, ok)
	}
	if _, ok := available([]byte("nothing")); ok {
		t.Error("nothing is read as memory")
	}
}

func FuzzUnderstand(f *testing.F) {
	f.Add(`{"messages":[{"role":"user","content":"x"}],"tools":[{"function":{"name":"a","parameters":{"type":"object"}}}],"tool_choice":"auto","stop":"x"}`)
	f.Add(`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"a","arguments":"{"}}]}],"response_format":{"type":"json_schema","json_schema":{"schema":{"$ref":"#"}}}}`)
	tmpl, err := chat.New("", "", "", []string{"<|im_end|>"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string) {
		w, err := understand(strings.NewReader(in), false)
		if err != nil {
			return
		}
		if parts, err := tmpl.Render(w.messages, w.tools); err != nil || len(parts) == 0 {
			t.Errorf("%q gives no prompt: %v", in, err)
		}
	})
}
