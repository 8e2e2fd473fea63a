package model_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"towpath/internal/durable"
	"towpath/internal/journal"
	"towpath/internal/model"
)

type once func(model.Request) (model.Reply, error)

func (f once) Call(_ context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
	return f(req)
}

func workspaceTree(t *testing.T) (*durable.Tree, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "CONTEXT.md"), []byte("# W\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tree, ws, err := durable.OpenTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tree, ws
}

func startRun(t *testing.T, tree *durable.Tree, ws string) *journal.Run {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	run, err := journal.Create(tree, ws, "01-scope", journal.Options{Clock: func() time.Time { at = at.Add(time.Second); return at }})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func events(t *testing.T, tree *durable.Tree, ws, run string, types ...journal.Type) []journal.Event {
	t.Helper()
	all, err := journal.Open(tree, ws).Events(run)
	if err != nil {
		t.Fatal(err)
	}
	var out []journal.Event
	for _, e := range all {
		for _, want := range types {
			if e.Type == want {
				out = append(out, e)
			}
		}
	}
	return out
}

func TestEachAttemptIsJournalledBeforeAndAfter(t *testing.T) {
	t.Parallel()
	tree, ws := workspaceTree(t)
	run := startRun(t, tree, ws)
	calls := 0
	n := 7
	m := model.Retry(model.Journaled(once(func(req model.Request) (model.Reply, error) {
		calls++
		if calls == 1 {
			return model.Reply{}, &model.Error{Kind: model.KindInterrupted, Message: "the reply broke off"}
		}
		return model.Reply{Text: strings.Repeat("long ", 1000), Finish: model.FinishStop, Model: "ollama/x", Usage: model.Usage{Prompt: &n}}, nil
	}), "ollama/x"), model.RetryPolicy{Wait: time.Nanosecond})
	ctx := journal.With(t.Context(), journal.Scope{Run: run, Stage: "01-scope", Item: 2, Of: 3, Purpose: "turn"})
	req := model.Request{Messages: []model.Message{{Role: model.RoleUser, Text: "hi"}}}
	if _, err := m.Call(ctx, req, nil); err != nil {
		t.Fatal(err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	got := events(t, tree, ws, run.Name(), journal.ModelCall, journal.ModelReply)
	if len(got) != 4 {
		t.Fatalf("%d events: %+v", len(got), got)
	}
	first, second := got[0].Request, got[2].Request
	if first.Attempt != 1 || second.Attempt != 2 || first.Call != model.Fingerprint(req) || first.Model != "ollama/x" || first.Purpose != "turn" || got[0].Item != 2 {
		t.Errorf("requests %+v, %+v", first, second)
	}
	if first.Temperature == nil || *first.Temperature != 0.1 {
		t.Errorf("temperature %v", first.Temperature)
	}
	if r := got[1].Reply; r.Kind != "interrupted" || r.Error == "" {
		t.Errorf("failed attempt %+v", r)
	}
	if r := got[3].Reply; r.Text.Blob == "" || r.Text.Size != 5000 || *r.Usage.Prompt != 7 || r.Usage.Output != nil {
		t.Errorf("reply %+v", r)
	}
}

func TestAnsweredQuestionIsNotAskedAgainAfterAnInterruption(t *testing.T) {
	t.Parallel()
	tree, ws := workspaceTree(t)
	first := startRun(t, tree, ws)
	long := strings.Repeat("answer ", 500)
	m := model.Journaled(once(func(req model.Request) (model.Reply, error) {
		return model.Reply{Text: long, Finish: model.FinishToolCalls, Model: "a/b", ToolCalls: []model.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}}, nil
	}), "a/b")
	req := model.Request{Messages: []model.Message{{Role: model.RoleUser, Text: "hi"}}}
	if _, err := m.Call(journal.With(t.Context(), journal.Scope{Run: first, Stage: "01-scope"}), req, nil); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	past, err := journal.NewPast(journal.Open(tree, ws), first.Name())
	if err != nil {
		t.Fatal(err)
	}
	second := startRun(t, tree, ws)
	asked := 0
	again := model.Journaled(once(func(model.Request) (model.Reply, error) {
		asked++
		return model.Reply{}, errors.New("asked again")
	}), "a/b")
	ctx := journal.With(t.Context(), journal.Scope{Run: second, Stage: "01-scope", Past: past})
	reply, err := again.Call(ctx, req, nil)
	if err != nil || asked != 0 || reply.Text != long || len(reply.ToolCalls) != 1 || reply.ToolCalls[0].Name != "f" || reply.Finish != model.FinishToolCalls {
		t.Errorf("reply %+v, error %v, asked %d times", reply, err, asked)
	}
	if _, err := again.Call(ctx, req, nil); err == nil || asked != 1 {
		t.Error("one recorded reply answered twice")
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	got := events(t, tree, ws, second.Name(), journal.ModelReply)
	if len(got) != 2 || got[0].Reply.From != first.Name() {
		t.Errorf("events %+v", got)
	}
}
