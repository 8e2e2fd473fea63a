package engine_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"towpath/internal/agent"
	"towpath/internal/engine"
	"towpath/internal/fakeserver"
	"towpath/internal/journal"
)

func TestUsedUpQuotaPausesAndLosesNothing(t *testing.T) {
	t.Parallel()
	var out atomic.Bool
	out.Store(true)
	b := newBench(t, modules(3, "module in ../../outline.md", "- draft.md -> output/"), func(r fakeserver.Request) fakeserver.Reply {
		if out.Load() && module(r) == "2" {
			return fakeserver.Reply{Status: 429, Body: "slow down", Header: http.Header{"Retry-After": {"18000"}}}
		}
		return say(drafted(module(r)))
	})
	err := b.mustFail(engine.Options{}, engine.CodePaused)
	var ee *engine.Error
	if !errors.As(err, &ee) || ee.Until.IsZero() {
		t.Fatalf("the error is %v, want one that says until when", err)
	}
	if n := len(b.server.Chats()); n != 2 {
		t.Errorf("%d model calls, want 2: none after the pause", n)
	}
	if s := b.status("01-draft"); s.State != engine.Waiting || s.Reason == "" {
		t.Errorf("01-draft is %+v, want waiting with its reason", s)
	}
	out.Store(false)
	b.mustRun(engine.Options{}, engine.HowAllDone)
	if n := len(b.server.Chats()); n != 4 {
		t.Errorf("%d model calls in all, want 4: the first item is kept", n)
	}
}

func TestDestructiveCallParksWhereNobodyWatches(t *testing.T) {
	t.Parallel()
	files := two("")
	files["pipeline/01-scope/CONTEXT.md"] = strings.Replace(files["pipeline/01-scope/CONTEXT.md"], "none", "ledger: all", 1)
	b := newBench(t, files, func(r fakeserver.Request) fakeserver.Reply {
		switch gave(r) {
		case 0:
			return ask("ledger_note", `{"text":"kept"}`)
		case 1:
			return ask("ledger_wipe", `{}`)
		}
		return echo(r)
	})
	err := b.mustFail(engine.Options{}, engine.CodePerson)
	contains(t, "the error", err.Error(), "ledger wipe", "leave")
	wants(t, "the ledger", strings.Join(b.ledger.lines(), ","), "kept")
	if s := b.status("01-scope"); s.State != engine.HandedOff {
		t.Errorf("01-scope is %+v, want handed off", s)
	}
	asked := 0
	b.tune = func(cfg *engine.Config) {
		cfg.Attended = true
		cfg.Approve = func(_ context.Context, q agent.Question) (bool, error) {
			asked++
			return q.Spec.Name == "wipe", nil
		}
	}
	before := len(b.server.Chats())
	b.mustRun(engine.Options{}, engine.HowGate)
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
	wants(t, "the ledger", strings.Join(b.ledger.lines(), ","), "")
	if n := len(b.server.Chats()) - before; n != 1 {
		t.Errorf("%d model calls, want 1: the turn goes on from where it parked", n)
	}
}

func TestFailedStageIsAskedAnew(t *testing.T) {
	t.Parallel()
	var bad atomic.Bool
	bad.Store(true)
	b := newBench(t, two(""), func(r fakeserver.Request) fakeserver.Reply {
		if bad.Load() {
			return say("")
		}
		return echo(r)
	})
	b.mustFail(engine.Options{}, engine.CodeError)
	bad.Store(false)
	b.mustRun(engine.Options{}, engine.HowGate)
}

func TestServersAreClosedWhateverTheEnd(t *testing.T) {
	t.Parallel()
	files := two("")
	files["pipeline/01-scope/CONTEXT.md"] = strings.Replace(files["pipeline/01-scope/CONTEXT.md"], "none", "ledger: note", 1)
	for name, reply := range map[string]fakeserver.Reply{"done": say("1. Name a label\n2. Write one"), "failed": {Status: 400, Body: "no"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, files, func(fakeserver.Request) fakeserver.Reply { return reply })
			_, _ = b.run(engine.Options{})
			if b.ledger.closed != 1 {
				t.Errorf("the server was closed %d times, want once", b.ledger.closed)
			}
		})
	}
}

func TestSeveralOutputsAreAskedForInOneConversation(t *testing.T) {
	t.Parallel()
	files := two("")
	files["pipeline/01-scope/CONTEXT.md"] = strings.Replace(files["pipeline/01-scope/CONTEXT.md"], "- scope.md -> output/", "- scope.md -> output/\n- terms.md -> output/ — the words", 1)
	b := newBench(t, files, func(r fakeserver.Request) fakeserver.Reply {
		if len(r.Messages) > 3 {
			return say("- label: a name")
		}
		return echo(r)
	})
	b.mustRun(engine.Options{}, engine.HowGate)
	wants(t, "the first output", b.read(scopeOut), "1. Name a label\n2. Write a label\n")
	wants(t, "the second output", b.read("pipeline/01-scope/output/terms.md"), "- label: a name\n")
	chats := b.server.Chats()
	if len(chats) != 2 {
		t.Fatalf("%d model calls, want 2", len(chats))
	}
	last := chats[1].Messages
	if len(last) != 4 || last[2].Role != "assistant" || !strings.Contains(last[3].Content, "terms.md") {
		t.Errorf("the second call's conversation is %+v", last)
	}
	var purposes []string
	for _, ev := range b.journal("01-scope") {
		if ev.Type == journal.ModelCall {
			purposes = append(purposes, ev.Request.Purpose)
		}
	}
	wants(t, "the purposes", strings.Join(purposes, " "), "turn output")
}
