package journal

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"towpath/internal/durable"
)

func reply(call, text string) Event {
	return Event{Type: ModelReply, Reply: &Reply{Call: call, Text: Body{Text: text, Size: len(text)}}}
}

func toolCall(key string, readOnly bool) Event {
	return Event{Type: ToolCall, Call: &Call{Key: key, Tool: "t", ReadOnly: readOnly}}
}

func toolResult(key, text string) Event {
	return Event{Type: ToolResult, Result: &Result{Key: key, Text: Body{Text: text, Size: len(text)}}}
}

func started(resumes string) Event {
	return Event{Type: RunStarted, Started: &Started{Resumes: resumes}}
}

func answer(run, key, what string) Event {
	return Event{Type: Decision, Decision: &Decided{What: "answered", Answer: what, Call: key, RunName: run}}
}

func TestNothingIsKnownOfNoPast(t *testing.T) {
	t.Parallel()
	var p *Past
	if _, ok := p.Reply(0, "c"); ok {
		t.Error("a reply")
	}
	if _, s := p.Result("k"); s != StateNone {
		t.Errorf("state %q", s)
	}
	if u := p.Unknown(); u != nil {
		t.Errorf("unknown %v", u)
	}
}

func TestRepliesComeBackInOrderOverAChain(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	first := create(t, tr, "01-a", Options{})
	add(t, first, started(""), reply("c", "one"), Event{Type: ModelReply, Reply: &Reply{Call: "c", Error: "cut"}}, reply("c", "two"),
		Event{Type: ModelReply, Item: 2, Reply: &Reply{Call: "c", Text: Body{Text: "of item 2"}}})
	second := create(t, tr, "01-a", Options{})
	repeated := reply("c", "one")
	repeated.Reply.From = first.Name()
	add(t, second, started(first.Name()), repeated, reply("c", "three"))

	p, err := NewPast(Open(tr, "."), first.Name(), second.Name())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		r, ok := p.Reply(0, "c")
		if !ok {
			break
		}
		got = append(got, r.Text.Text+" from "+r.From)
	}
	want := []string{"one from " + first.Name(), "two from " + first.Name(), "three from " + second.Name()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r, ok := p.Reply(2, "c"); !ok || r.Text.Text != "of item 2" {
		t.Errorf("item 2: %+v, %v", r, ok)
	}
	if _, ok := p.Reply(0, "other"); ok {
		t.Error("an answer to what was never asked")
	}
}

func TestCallWithEffectsThatWasNotConfirmedIsUnknown(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	r := create(t, tr, "01-a", Options{})
	add(t, r, started(""),
		toolCall("done", false), toolResult("done", "result"),
		toolCall("unknown", false),
		toolCall("read", true),
		toolCall("broken", false), Event{Type: ToolResult, Result: &Result{Key: "broken", Error: "the server died"}},
		toolCall("refused", false), Event{Type: ToolResult, Result: &Result{Key: "refused", IsError: true}},
	)
	p, err := NewPast(Open(tr, "."), r.Name())
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]State{
		"done": StateDone, "unknown": StateUnknown, "read": StateNone, "broken": StateUnknown, "refused": StateDone, "never": StateNone,
	} {
		res, got := p.Result(key)
		if got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
		if key == "done" && (res.Text.Text != "result" || res.From != r.Name()) {
			t.Errorf("its result is %+v", res)
		}
	}
	var unknown []string
	for _, c := range p.Unknown() {
		unknown = append(unknown, c.Key)
	}
	if diff := cmp.Diff([]string{"unknown", "broken"}, unknown); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersCountUntilTheCallIsStartedAgain(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	h := Open(tr, ".")
	first := create(t, tr, "01-a", Options{})
	add(t, first, started(""), toolCall("k", false), toolCall("d", false), toolCall("s", false))
	state := func(key string, runs ...string) State {
		t.Helper()
		p, err := NewPast(h, runs...)
		if err != nil {
			t.Fatal(err)
		}
		_, s := p.Result(key)
		return s
	}
	decide := create(t, tr, "01-a", Options{})
	add(t, decide, answer(first.Name(), "k", "repeat"), answer(first.Name(), "d", "done"), answer(first.Name(), "s", "skip"))
	if got := state("k", first.Name()); got != StateAnsweredRepeat {
		t.Errorf("after the answer it is %q", got)
	}
	if d, s := state("d", first.Name()), state("s", first.Name()); d != StateAnsweredDone || s != StateAnsweredSkip {
		t.Errorf("done is %q, skip is %q", d, s)
	}
	second := create(t, tr, "01-a", Options{})
	add(t, second, started(first.Name()), toolCall("k", false))
	if got := state("k", first.Name(), second.Name()); got != StateUnknown {
		t.Errorf("started again and not confirmed, it is %q", got)
	}
	other := create(t, tr, "02-b", Options{})
	add(t, other, answer(first.Name(), "k", "skip")) // of another stage: not about this one
	third := create(t, tr, "01-a", Options{})
	add(t, third, started(second.Name()), toolCall("k", false), toolResult("k", "yes"))
	if got := state("k", first.Name(), second.Name(), third.Name()); got != StateDone {
		t.Errorf("confirmed at last, it is %q", got)
	}
}

func TestTextsThatAPowerCutTookAreNotKnown(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	r := create(t, tr, "01-a", Options{})
	lost := Body{Blob: durable.Hash([]byte("lost")), Size: 2000}
	add(t, r, started(""), Event{Type: ModelReply, Reply: &Reply{Call: "c", Text: lost}}, reply("c", "kept"),
		toolCall("k", false), Event{Type: ToolResult, Result: &Result{Key: "k", Text: lost}},
		toolCall("r", true), Event{Type: ToolResult, Result: &Result{Key: "r", Text: lost}})
	p, err := NewPast(Open(tr, "."), r.Name())
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := p.Reply(0, "c"); !ok || got.Text.Text != "kept" {
		t.Errorf("%+v, %v", got, ok)
	}
	_, effects := p.Result("k")
	_, reads := p.Result("r")
	if effects != StateUnknown || reads != StateNone {
		t.Errorf("with effects %q, reading %q", effects, reads)
	}
}

func TestPastOfAnUnreadableRunIsAnError(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	r := create(t, tr, "01-a", Options{})
	add(t, r, started(""))
	if err := tr.WriteFile("history/"+r.Name()+"/journal.jsonl", []byte("<<<<<<< HEAD\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := NewPast(Open(tr, "."), r.Name()); err == nil {
		t.Error("no error")
	}
	if _, err := NewPast(Open(tr, "."), "../../etc"); err == nil {
		t.Error("a path was taken for a run")
	}
}

func TestStageThatNeverRanHasAnEmptyRecord(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	rec, err := Open(tr, ".").Latest("01-a")
	if diff := cmp.Diff(&StageRecord{Stage: "01-a"}, rec); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func output(path, hash string, incomplete bool) Event {
	return Event{Type: OutputWritten, Output: &Output{Path: path, Hash: hash, Incomplete: incomplete}}
}

func TestRecordTellsTheLastRunFromTheLastThatWrote(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	h := Open(tr, ".")
	old := create(t, tr, "01-a", Options{})
	add(t, old, started(""), output("out/a.md", "h0", true), Event{Type: Exit, Exit: &Exited{How: "gate"}})

	cut := create(t, tr, "01-a", Options{})
	add(t, cut, Event{Type: RunStarted, Started: &Started{Contract: "c1"}}, output("out/a.md", "h1", false), toolCall("k", false))
	resumed := create(t, tr, "01-a", Options{})
	add(t, resumed, Event{Type: RunStarted, Started: &Started{Contract: "c1", Resumes: cut.Name()}}, output("out/b.md", "h2", false),
		Event{Type: Gate, Gate: &GateOpened{Kind: "approve"}}, Event{Type: Exit, Exit: &Exited{How: "gate"}})
	approval := create(t, tr, "01-a", Options{Clock: at(evening.Add(time.Minute))})
	add(t, approval, Event{Type: Decision, Decision: &Decided{What: "approved", RunName: resumed.Name()}})
	failed := create(t, tr, "01-a", Options{Clock: at(evening.Add(2 * time.Minute))})
	add(t, failed, Event{Type: RunStarted, Started: &Started{Contract: "c2"}}, Event{Type: Exit, Exit: &Exited{How: "failed", Code: 1}})
	create(t, tr, "01-a", Options{Clock: at(evening.Add(3 * time.Minute))}) // died before its first event
	other := create(t, tr, "02-b", Options{Clock: at(evening.Add(4 * time.Minute))})
	add(t, other, started(""))

	rec, err := h.Latest("01-a")
	if err != nil {
		t.Fatal(err)
	}
	if rec.Run != failed.Name() || rec.Started.Contract != "c2" || rec.Exited.How != "failed" || rec.Gate != nil {
		t.Errorf("last run: %+v", rec)
	}
	if rec.Wrote != resumed.Name() || rec.WroteStarted.Contract != "c1" || rec.Incomplete {
		t.Errorf("last that wrote: %+v", rec)
	}
	hashes := map[string]string{}
	for p, o := range rec.Outputs {
		hashes[p] = o.Hash
	}
	if diff := cmp.Diff(map[string]string{"out/a.md": "h1", "out/b.md": "h2"}, hashes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{failed.Name()}, rec.Chain); diff != "" {
		t.Error(diff)
	}
	if len(rec.Decisions) != 1 || lastSaid(rec) == nil || lastSaid(rec).What != "approved" {
		t.Errorf("decisions %+v", rec.Decisions)
	}
}

func TestStatusIsThatOfTheCurrentAttempt(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	failed := create(t, tr, "01-a", Options{})
	add(t, failed, started(""), Event{Type: Exit, Exit: &Exited{How: "failed", Code: 1}})
	live := create(t, tr, "01-a", Options{})
	add(t, live, started(failed.Name()), toolCall("k", false))
	rec, err := Open(tr, ".").Latest("01-a")
	if err != nil {
		t.Fatal(err)
	}
	if rec.Run != live.Name() || rec.Exited != nil {
		t.Errorf("%+v", rec)
	}
	if diff := cmp.Diff([]string{failed.Name(), live.Name()}, rec.Chain); diff != "" {
		t.Error(diff)
	}
	if len(rec.Unknown) != 1 || rec.Unknown[0].Key != "k" {
		t.Errorf("unknown %+v", rec.Unknown)
	}
}

func TestRejectionThenApprovalIsOneWordEach(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	h := Open(tr, ".")
	first := create(t, tr, "01-a", Options{})
	add(t, first, started(""), output("o", "h1", false))
	no := create(t, tr, "01-a", Options{})
	add(t, no, Event{Type: Decision, Decision: &Decided{What: "rejected", RunName: first.Name()}})
	second := create(t, tr, "01-a", Options{})
	add(t, second, started(""), output("o", "h2", false))
	rec, err := h.Latest("01-a")
	if err != nil || lastSaid(rec) != nil {
		t.Errorf("the old rejection is about the new result: %+v, %v", lastSaid(rec), err)
	}
	yes := create(t, tr, "01-a", Options{})
	add(t, yes, Event{Type: Decision, Decision: &Decided{What: "approved", RunName: second.Name()}})
	rec, err = h.Latest("01-a")
	if err != nil || len(rec.Decisions) != 1 || lastSaid(rec).What != "approved" {
		t.Errorf("%+v, %v", rec.Decisions, err)
	}
}

func TestResumesInACircleEnd(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	a := create(t, tr, "01-a", Options{})
	b := create(t, tr, "01-a", Options{})
	add(t, a, started(b.Name()))
	add(t, b, started(a.Name()))
	rec, err := Open(tr, ".").Latest("01-a")
	if err != nil || len(rec.Chain) != 2 {
		t.Errorf("%+v, %v", rec, err)
	}
}

// lastSaid is the last decision about the outputs, nil if there is none.
func lastSaid(rec *StageRecord) *Decided {
	for i := len(rec.Decisions) - 1; i >= 0; i-- {
		if d := &rec.Decisions[i]; d.What == "approved" || d.What == "rejected" {
			return d
		}
	}
	return nil
}
