package replay

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"towpath/internal/model"
)

type source struct {
	mu    sync.Mutex
	calls int
	reply func(n int, req model.Request) (model.Reply, error)
}

func (s *source) Call(_ context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	return s.reply(s.calls, req)
}

func (s *source) Describe(context.Context) (model.Info, error) {
	return model.Info{ID: "local/x", URL: "http://127.0.0.1:1", Window: 4096, Required: true}, nil
}

func ask(text string) model.Request {
	return model.Request{Messages: []model.Message{{Role: model.RoleSystem, Text: "You help."}, {Role: model.RoleUser, Text: text}},
		Tools: []model.ToolDef{{Name: "web_search", Schema: json.RawMessage(`{"type":"object"}`)}}}
}

func record(t *testing.T, path, seed string, questions ...string) *Recorder {
	t.Helper()
	r, err := Record(path, seed, "local/x")
	if err != nil {
		t.Fatal(err)
	}
	m := r.Wrap(&source{reply: func(n int, req model.Request) (model.Reply, error) {
		if strings.Contains(req.Messages[1].Text, "too long") {
			return model.Reply{}, &model.Error{Kind: model.KindOverflow, Message: "does not fit", Prompt: 9, Window: 8}
		}
		if strings.Contains(req.Messages[1].Text, "busy") {
			return model.Reply{}, &model.Error{Kind: model.KindOverloaded, Message: "busy"}
		}
		out := n * 10
		return model.Reply{Text: strings.Repeat("x", n), Finish: model.FinishStop, Model: "local/x", Usage: model.Usage{Output: &out}}, nil
	}})
	if _, err := m.(model.Describer).Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, q := range questions {
		if _, err := m.Call(t.Context(), ask(q), nil); err != nil && model.KindOf(err) == "" {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRecordedCallsAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.jsonl")
	record(t, path, "seed-1", "one", "one", "two", "too long", "busy")
	m, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if m.Seed() != "seed-1" || m.info.ID != "local/x" {
		t.Errorf("seed %q, recorded %+v", m.Seed(), m.info)
	}
	info, err := m.Describe(t.Context())
	if err != nil || info.ID != m.ID() || info.Window != 4096 || !info.Required || info.URL != "" {
		t.Errorf("info %+v, error %v", info, err)
	}
	temp := 0.7
	for i, c := range []struct{ question, text string }{{"two", "xxx"}, {"one", "x"}, {"one", "xx"}} {
		req := ask(c.question)
		req.Temperature, req.Window = &temp, 12345 // sampling plays no part
		var streamed string
		reply, err := m.Call(t.Context(), req, func(d model.Delta) { streamed += d.Text })
		if err != nil || reply.Text != c.text || streamed != c.text || *reply.Usage.Output != len(c.text)*10 {
			t.Errorf("call %d: %+v, error %v", i, reply, err)
		}
	}
	_, err = m.Call(t.Context(), ask("too long"), nil)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.KindOverflow || e.Window != 8 {
		t.Errorf("error %v", err)
	}
	if _, err = m.Call(t.Context(), ask("busy"), nil); model.KindOf(err) != model.KindNotRecorded {
		t.Errorf("an error of the moment was recorded: %v", err)
	}
	if _, err = m.Call(t.Context(), ask("one"), nil); model.KindOf(err) != model.KindNotRecorded || !strings.Contains(err.Error(), "recorded 2 times, and is asked once more") {
		t.Errorf("error %v", err)
	}
}

func TestUnrecordedRequestShowsTheNearestAndTheDifference(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.jsonl")
	record(t, path, "s", "Write about cats, please.", "Something else entirely.")
	m, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Call(t.Context(), ask("Write about dogs, please."), nil)
	want := `the nearest is line 3 of the recording, and differs in message 2 (user) at character 12: recorded is "Write about cats, please.", asked is "Write about dogs, please."`
	if model.KindOf(err) != model.KindNotRecorded || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v", err)
	}
	other := ask("Write about cats, please.")
	other.Tools = nil
	if _, err = m.Call(t.Context(), other, nil); !strings.Contains(err.Error(), "in the tools: recorded are web_search, asked are none") {
		t.Errorf("error %v", err)
	}
	huge := ask("Write about cats, pl" + strings.Repeat("y", 1<<20))
	if _, err = m.Call(t.Context(), huge, nil); len(err.Error()) > 1000 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

func TestSecondRunAddsToTheRecordingAndKeepsItsSeed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.jsonl")
	record(t, path, "seed-1", "one")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"call":"torn`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if r := record(t, path, "seed-2", "two"); r.Seed() != "seed-1" {
		t.Errorf("seed %q", r.Seed())
	}
	m, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"one", "two"} {
		if _, err := m.Call(t.Context(), ask(q), nil); err != nil {
			t.Error(err)
		}
	}
}

func TestUnreadableRecordingNamesTheLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"empty":       {"", "empty"},
		"not one":     {"hello\n", "line 1: this is not a recording"},
		"later":       {`{"towpath_recording":99}` + "\n", "version 99"},
		"garbage":     {`{"towpath_recording":1}` + "\n<<<<<<< HEAD\n", "line 2"},
		"half":        {`{"towpath_recording":1}` + "\n" + `{"call":"x"}` + "\n", "line 2"},
		"not a place": {"", "opening"},
	} {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		if name != "not a place" {
			if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"towpath_recording":1,"seed":"s"}` + "\n" + `{"call":"a","request":{"messages":[]},"reply":{"finish":"stop"}}` + "\n")
	f.Add(`{"towpath_recording":1}` + "\n" + `{"info":{"id":"x"}}` + "\n")
	f.Fuzz(func(t *testing.T, s string) {
		_, entries, err := parse(strings.NewReader(s))
		if err == nil && len(entries) > strings.Count(s, "\n") {
			t.Errorf("%d entries in %d lines", len(entries), strings.Count(s, "\n"))
		}
	})
}
