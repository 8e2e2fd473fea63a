package agent

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"towpath/internal/durable"
	"towpath/internal/journal"
	"towpath/internal/model"
	"towpath/internal/model/replay"
	"towpath/internal/tool"
)

func TestInterruptedTurnGoesOnFromItsLastEvent(t *testing.T) {
	t.Parallel()
	tree, ws, err := durable.OpenTree(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	start := func() *journal.Run {
		run, err := journal.Create(tree, ws, "01-scope", journal.Options{Clock: func() time.Time { at = at.Add(time.Second); return at }})
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	send := &fake{spec: tool.Spec{Server: "mail", Name: "send"}, do: reads("x", "sent").do}
	page := outside("a page")
	turn := func(m model.Model) Turn {
		return Turn{Model: model.Journaled(m, "test/m"), Seed: "first-run", Offers: []Offer{
			{Name: "mail_send", Tool: tool.Journaled(send, "first-run")}, {Name: "web_fetch", Tool: tool.Journaled(page, "first-run")}}}
	}

	first := start()
	ctx, interrupt := context.WithCancelCause(journal.With(t.Context(), journal.Scope{Run: first, Stage: "01-scope"}))
	m := play(t, calls("mail_send", `{"to":"a"}`, "web_fetch", `{"query":"b"}`), func(model.Request) (model.Reply, error) {
		interrupt(context.Canceled)
		return model.Reply{}, context.Canceled
	})
	if _, err := Run(ctx, turn(m), task()); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	past, err := journal.NewPast(journal.Open(tree, ws), first.Name())
	if err != nil {
		t.Fatal(err)
	}
	second := start()
	m = play(t, says("the notes"))
	out, err := Run(journal.With(t.Context(), journal.Scope{Run: second, Stage: "01-scope", Past: past}), turn(m), task())
	if err != nil || out.Text != "the notes" {
		t.Fatalf("outcome %+v, error %v", out, err)
	}
	if send.calls != 1 || page.calls != 1 || len(m.got) != 1 || len(out.Sources) != 1 {
		t.Errorf("%d mails, %d pages, %d calls of the model, sources %v", send.calls, page.calls, len(m.got), out.Sources)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRecordedTurnReplaysToTheSameResult(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "turn.jsonl")
	rec, err := replay.Record(path, "seed-1", "test/m")
	if err != nil {
		t.Fatal(err)
	}
	info := model.Info{ID: "test/m", Window: 8192, Required: true}
	if err := rec.Knows(info); err != nil {
		t.Fatal(err)
	}
	script := play(t, calls("web_fetch", `{"query":"a"}`), calls("web_fetch", `{"query":"a"}`),
		fails(&model.Error{Kind: model.KindDegenerate, Message: "repeats"}), says(""), cutAt("# Notes\n\nThey go"), says(" on."))
	turn := Turn{Model: rec.Wrap(script), Info: info, Seed: rec.Seed(), Offers: offer(outside("a page")), Required: [][]string{{"web_fetch"}}}
	want, err := Run(t.Context(), turn, task())
	if err != nil || want.Text != "# Notes\n\nThey go on." {
		t.Fatalf("outcome %+v, error %v", want, err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := replay.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	turn.Model, turn.Seed = m, m.Seed()
	if turn.Info, err = m.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := Run(t.Context(), turn, task())
	if err != nil || got.Text != want.Text || got.Calls != want.Calls || len(got.Messages) != len(want.Messages) {
		t.Errorf("outcome %+v, error %v", got, err)
	}
}
