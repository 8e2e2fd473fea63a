package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"towpath/internal/durable"
	"towpath/internal/journal"
)

type counted struct {
	spec  Spec
	calls int
	err   error
}

func (c *counted) Spec() Spec { return c.spec }

func (c *counted) Call(context.Context, json.RawMessage) (Result, error) {
	c.calls++
	return Result{Text: strings.Repeat("result ", 300), Sources: []Source{{URL: "https://a.example/"}}, Untrusted: true}, c.err
}

type bench struct {
	t    *testing.T
	tree *durable.Tree
	ws   string
	at   time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	tree, ws, err := durable.OpenTree(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, tree: tree, ws: ws, at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func (b *bench) run() *journal.Run {
	b.t.Helper()
	run, err := journal.Create(b.tree, b.ws, "01-scope", journal.Options{Clock: func() time.Time { b.at = b.at.Add(time.Second); return b.at }})
	if err != nil {
		b.t.Fatal(err)
	}
	return run
}

func (b *bench) end(run *journal.Run) *journal.Past {
	b.t.Helper()
	if err := run.Close(); err != nil {
		b.t.Fatal(err)
	}
	past, err := journal.NewPast(journal.Open(b.tree, b.ws), run.Name())
	if err != nil {
		b.t.Fatal(err)
	}
	return past
}

func (b *bench) scope(run *journal.Run, past *journal.Past) context.Context {
	return journal.With(b.t.Context(), journal.Scope{Run: run, Stage: "01-scope", Past: past})
}

func TestFinishedCallIsAnsweredFromTheJournal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	send := &counted{spec: Spec{Server: "mail", Name: "send"}}
	first := b.run()
	want, err := Journaled(send, "root").Call(WithCallID(b.scope(first, nil), "id-1"), json.RawMessage(`{"to":"a","n":1}`))
	if err != nil {
		t.Fatal(err)
	}
	past := b.end(first)
	second := b.run()
	got, err := Journaled(send, "root").Call(b.scope(second, past), json.RawMessage(`{ "n": 1, "to": "a" }`))
	if err != nil || send.calls != 1 || got.Text != want.Text || !got.Untrusted || len(got.Sources) != 1 {
		t.Errorf("result %+v, error %v, %d calls", got, err, send.calls)
	}
	if _, err := Journaled(send, "root").Call(b.scope(second, past), json.RawMessage(`{"to":"b","n":1}`)); err != nil || send.calls != 2 {
		t.Errorf("another call: error %v, %d calls", err, send.calls)
	}
	b.end(second)
}

func TestKeyComesFromTheCallAndNotFromItsPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	send := &counted{spec: Spec{Server: "mail", Name: "send"}}
	first := b.run()
	j := Journaled(send, "root")
	for _, args := range []string{`{"to":"a"}`, `{"to":"b"}`, `{"to":"a"}`} {
		if _, err := j.Call(b.scope(first, nil), json.RawMessage(args)); err != nil {
			t.Fatal(err)
		}
	}
	past := b.end(first)
	second := b.run()
	j = Journaled(send, "root")
	for _, args := range []string{`{"to":"new"}`, `{"to":"b"}`, `{"to":"a"}`, `{"to":"a"}`, `{"to":"a"}`} {
		if _, err := j.Call(b.scope(second, past), json.RawMessage(args)); err != nil {
			t.Fatal(err)
		}
	}
	if send.calls != 3+2 { // the inserted call, and a third of a
		t.Errorf("%d calls", send.calls)
	}
	b.end(second)
}

func TestStartedCallWithEffectsIsUnknownUntilAPersonAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	send := &counted{spec: Spec{Server: "mail", Name: "send"}, err: errors.New("the server died")}
	args := json.RawMessage(`{"to":"a"}`)
	first := b.run()
	_, err := Journaled(send, "root").Call(b.scope(first, nil), args)
	var unknown *UnknownCallError
	if !errors.As(err, &unknown) {
		t.Fatalf("error %v", err)
	}
	past := b.end(first)
	second := b.run()
	_, err = Journaled(send, "root").Call(b.scope(second, past), args)
	var again *UnknownCallError
	if !errors.As(err, &again) || again.Key != unknown.Key || send.calls != 1 {
		t.Fatalf("error %v after %d calls", err, send.calls)
	}
	b.end(second)
	for _, c := range []struct {
		answer string
		calls  int
		isErr  bool
	}{{"done", 1, false}, {"skip", 1, true}, {"repeat", 2, false}} {
		decided := b.run()
		if err := decided.Append(journal.Event{Type: journal.Decision, Decision: &journal.Decided{What: "answered", Answer: c.answer, Call: unknown.Key, RunName: first.Name()}}); err != nil {
			t.Fatal(err)
		}
		if err := decided.Close(); err != nil {
			t.Fatal(err)
		}
		past, err := journal.NewPast(journal.Open(b.tree, b.ws), first.Name(), second.Name())
		if err != nil {
			t.Fatal(err)
		}
		send := &counted{spec: send.spec, calls: 1}
		third := b.run()
		r, err := Journaled(send, "root").Call(b.scope(third, past), args)
		if err != nil || send.calls != c.calls || r.IsError != c.isErr {
			t.Errorf("%s: %+v, error %v, %d calls", c.answer, r, err, send.calls)
		}
		b.end(third)
	}
}

func TestReadingCallThatWasCutIsSimplyMadeAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	read := &counted{spec: Spec{Server: "web", Name: "fetch", ReadOnly: true}, err: errors.New("the server died")}
	first := b.run()
	if _, err := Journaled(read, "root").Call(b.scope(first, nil), json.RawMessage(`{}`)); err == nil || !strings.Contains(err.Error(), "died") {
		t.Fatalf("error %v", err)
	}
	past := b.end(first)
	read.err = nil
	second := b.run()
	if _, err := Journaled(read, "root").Call(b.scope(second, past), json.RawMessage(`{}`)); err != nil || read.calls != 2 {
		t.Errorf("error %v after %d calls", err, read.calls)
	}
	b.end(second)
}
