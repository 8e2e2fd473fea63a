package engine_test

import (
	"strings"
	"testing"

	"towpath/internal/engine"
	"towpath/internal/fakeserver"
	"towpath/internal/journal"
)

// contract is a stage's CONTEXT.md with more sections as given.
func contract(input, process, output string, more ...string) string {
	return "# Stage\n\n## Inputs\n- Layer 4 (working): " + input + "\n\n## Tools\nnone\n\n## Process\n" + process +
		"\n\n## Outputs\n- " + output + " -> output/\n\n" + strings.Join(more, "\n\n") + "\n"
}

// two is a workspace of two stages.
func two(gate string) map[string]string {
	return map[string]string{
		"CLAUDE.md":                         "You help to make courses.\n",
		"CONTEXT.md":                        "1. 01-scope\n2. 02-plan\n",
		"pipeline/01-scope/input.md":        "A course on labels.\n",
		"pipeline/01-scope/CONTEXT.md":      contract("input.md", "SCOPE it.", "scope.md", gate),
		"pipeline/02-plan/CONTEXT.md":       contract("../01-scope/output/scope.md", "PLAN it.", "plan.md"),
		"pipeline/01-scope/output/.gitkeep": "",
	}
}

const (
	scopeOut = "pipeline/01-scope/output/scope.md"
	planOut  = "pipeline/02-plan/output/plan.md"
)

// echo answers each stage by its process, and says what it was given.
func echo(r fakeserver.Request) fakeserver.Reply {
	text := user(r)
	switch {
	case strings.Contains(text, "PLAN it."):
		_, given, _ := strings.Cut(text, "scope.md\n")
		return say("# Plan\n\nfrom: " + strings.Join(strings.Fields(given), " "))
	case strings.Contains(text, "SCOPE it."):
		return say("1. Name a label\n2. Write a label")
	}
	return fakeserver.Reply{Status: 500, Body: "what is this?"}
}

func TestStopGateLetsTheSameCommandGoOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	ex := b.mustRun(engine.Options{}, engine.HowGate)
	wants(t, "the output", b.read(scopeOut), "1. Name a label\n2. Write a label\n")
	wants(t, "the reason", ex.Reason, "review gate: read and edit pipeline/01-scope/output/scope.md, then run the same command to go on")
	if ex.Code != 0 || ex.Next != "02-plan" || b.exists(planOut) {
		t.Errorf("ended with %+v", ex)
	}
	if s := b.status("01-scope"); s.State != engine.AtGate {
		t.Errorf("01-scope is %s, want at_gate", s.State)
	}
	ex = b.mustRun(engine.Options{}, engine.HowAllDone)
	if got := b.notes(journal.StageSkipped); len(got) != 1 || got[0] != "01-scope: output present" {
		t.Errorf("skipped %q", got)
	}
	contains(t, "the plan", b.read(planOut), "1. Name a label")
	if s := b.status("01-scope"); s.State != engine.Done || s.Edited || s.Stale {
		t.Errorf("01-scope is %+v, want done", s)
	}
	if last := b.events[len(b.events)-1]; last.Exit == nil || last.Exit.How != engine.HowAllDone {
		t.Errorf("the last event is %+v", last)
	}
	b.mustRun(engine.Options{}, engine.HowAllDone)
	if n := len(b.server.Chats()); n != 2 {
		t.Errorf("%d model calls, want 2", n)
	}
}

func TestNoGateGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, two("## Gate\nnone"), echo)
	b.mustRun(engine.Options{}, engine.HowAllDone)
	if !b.exists(planOut) {
		t.Error("the second stage did not run")
	}
}

func TestApproveGateWaitsForApproval(t *testing.T) {
	t.Parallel()
	b := newBench(t, two("## Gate\napprove"), echo)
	for range 2 {
		ex := b.mustRun(engine.Options{All: true}, engine.HowGate)
		if ex.Code != engine.CodePerson || !strings.Contains(ex.Mend, "towpath approve 01-scope") {
			t.Fatalf("ended with %+v, want exit code 4 and how to approve", ex)
		}
	}
	if b.exists(planOut) {
		t.Fatal("the gate was passed without approval")
	}
	d, err := b.engine().Approve("1")
	if err != nil {
		t.Fatal(err)
	}
	if d.Edited || d.Actor != "tester" || len(d.Hashes) != 1 {
		t.Errorf("decided %+v", d)
	}
	b.mustRun(engine.Options{}, engine.HowAllDone)
}

// History comes with a workspace, and with it what others decided.
func TestApprovalBySomebodyElseIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t, two("## Gate\napprove"), echo)
	b.mustRun(engine.Options{}, engine.HowGate)
	if _, err := b.engine().Approve("1"); err != nil {
		t.Fatal(err)
	}
	b.tune = func(cfg *engine.Config) { cfg.Actor = "reader" }
	b.mustRun(engine.Options{}, engine.HowAllDone)
	if got := b.notes(journal.StageSkipped); len(got) != 1 || got[0] != `01-scope: output present, approved by "tester"` {
		t.Errorf("skipped %q", got)
	}
}

func TestEditAfterApprovalReopensTheGate(t *testing.T) {
	t.Parallel()
	b := newBench(t, two("## Gate\napprove"), echo)
	b.mustRun(engine.Options{}, engine.HowGate)
	if _, err := b.engine().Approve("01-scope"); err != nil {
		t.Fatal(err)
	}
	b.mustRun(engine.Options{}, engine.HowAllDone)
	b.write(scopeOut, "1. Only this\n")
	if s := b.status("01-scope"); s.State != engine.AtGate || !s.Edited || s.Approved {
		t.Errorf("after the edit 01-scope is %+v", s)
	}
	if s := b.status("02-plan"); !s.Stale {
		t.Errorf("after the edit 02-plan is %+v, want stale", s)
	}
	ex := b.mustRun(engine.Options{}, engine.HowGate)
	if ex.Code != engine.CodePerson {
		t.Errorf("ended with %+v", ex)
	}
	contains(t, "the reason", ex.Reason, "edited after it was approved")
	d, err := b.engine().Approve("01-scope")
	if err != nil || !d.Edited {
		t.Errorf("decided %+v, %v; want an edited approval", d, err)
	}
	b.mustRun(engine.Options{}, engine.HowAllDone)
	wants(t, "the edited output", b.read(scopeOut), "1. Only this\n")
}

func TestApprovalIsAskedAgainWhereHistoryIsGone(t *testing.T) {
	t.Parallel()
	b := newBench(t, two("## Gate\napprove"), echo)
	b.mustRun(engine.Options{}, engine.HowGate)
	if _, err := b.engine().Approve("01-scope"); err != nil {
		t.Fatal(err)
	}
	b.remove("history")
	ex := b.mustRun(engine.Options{}, engine.HowGate)
	if ex.Code != engine.CodePerson {
		t.Errorf("ended with %+v", ex)
	}
	if _, err := b.engine().Approve("01-scope"); err != nil {
		t.Fatal(err)
	}
	b.mustRun(engine.Options{}, engine.HowAllDone)
}

func TestRejectedThenApprovedHasOneDecisionEach(t *testing.T) {
	t.Parallel()
	b := newBench(t, two("## Gate\napprove"), echo)
	b.mustRun(engine.Options{}, engine.HowGate)
	if _, err := b.engine().Reject("01-scope", "Too wide."); err != nil {
		t.Fatal(err)
	}
	if b.exists(scopeOut) {
		t.Error("the rejected output is still there")
	}
	if _, err := b.engine().Reject("01-scope", "Too wide."); engine.ExitCode(err) != engine.CodeUsage {
		t.Errorf("a second rejection of nothing gave %v", err)
	}
	b.mustRun(engine.Options{}, engine.HowGate)
	if _, err := b.engine().Approve("01-scope"); err != nil {
		t.Fatal(err)
	}
	if s := b.status("01-scope"); s.State != engine.Done || !s.Approved {
		t.Errorf("01-scope is %+v, want done and approved", s)
	}
	b.mustRun(engine.Options{}, engine.HowAllDone)
	var what []string
	for _, ev := range b.journal("01-scope") {
		if ev.Decision != nil {
			what = append(what, ev.Decision.What)
		}
	}
	wants(t, "the decisions", strings.Join(what, " "), "rejected approved")
}

func TestCommentGoesToTheRedoPrompt(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	b.mustRun(engine.Options{}, engine.HowGate)
	b.write(scopeOut, "1. Name a label, edited\n")
	if _, err := b.engine().Reject("01-scope", "Say WHY labels matter."); err != nil {
		t.Fatal(err)
	}
	if s := b.status("01-scope"); s.State != engine.Waiting {
		t.Errorf("01-scope is %+v, want waiting", s)
	}
	b.mustRun(engine.Options{}, engine.HowGate)
	chats := b.server.Chats()
	contains(t, "the next prompt", user(chats[len(chats)-1]), "1. Name a label, edited", "Say WHY labels matter.")
}

func TestRejectionNeedsAReason(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	b.mustRun(engine.Options{}, engine.HowGate)
	if _, err := b.engine().Reject("01-scope", " "); engine.ExitCode(err) != engine.CodeUsage {
		t.Errorf("got %v, want a usage error", err)
	}
	if !b.exists(scopeOut) {
		t.Error("the output is gone")
	}
}

// TestReasonThatFillsTheWindowIsRefused: a log that was pasted as the reason
// left no room for the stage, and a rejection cannot be taken back.
func TestReasonThatFillsTheWindowIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	b.mustRun(engine.Options{}, engine.HowGate)
	_, err := b.engine().Reject("01-scope", strings.Repeat("too wide ", 10_000))
	if engine.ExitCode(err) != engine.CodeUsage || !strings.Contains(err.Error(), "90000 bytes") {
		t.Errorf("got %v, want a usage error", err)
	}
	if !b.exists(scopeOut) {
		t.Error("the output is gone")
	}
}

func TestGoingOnPastAStopGateIsRecordedWithTheEdit(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	b.mustRun(engine.Options{}, engine.HowGate)
	b.write(scopeOut, "1. Better\n")
	b.mustRun(engine.Options{}, engine.HowAllDone)
	contains(t, "the plan", b.read(planOut), "1. Better")
	var passed []*journal.Decided
	for _, ev := range b.journal("01-scope") {
		if ev.Decision != nil {
			passed = append(passed, ev.Decision)
		}
	}
	if len(passed) != 1 || passed[0].What != "passed" || !passed[0].Edited {
		t.Errorf("decisions: %+v", passed)
	}
	diff, err := b.engine().Diff("01-scope")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "the diff", diff, "-1. Name a label", "-2. Write a label", "+1. Better")
}
