package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"towpath/internal/engine"
	"towpath/internal/fakeserver"
	"towpath/internal/journal"
)

func ptr(s string) *string { return &s }

// whole is two() run to its end.
func whole(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, two(""), echo)
	b.mustRun(engine.Options{All: true}, engine.HowAllDone)
	return b
}

func TestStatusNeedsNoHistory(t *testing.T) {
	t.Parallel()
	b := whole(t)
	b.remove("history")
	for _, name := range []string{"01-scope", "02-plan"} {
		if s := b.status(name); s.State != engine.Done || s.Edited || s.Stale {
			t.Errorf("%s is %+v, want done without marks", name, s)
		}
	}
	b.mustRun(engine.Options{}, engine.HowAllDone)
	if n := len(b.server.Chats()); n != 2 {
		t.Errorf("%d model calls, want the 2 of before", n)
	}
}

func TestStalenessFollowsInputsContractAndIdentityOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(b *bench)
		stale  string // which stages
		why    string
	}{
		"nothing":  {func(*bench) {}, "", ""},
		"input":    {func(b *bench) { b.write("pipeline/01-scope/input.md", "Other.\n") }, "01-scope", "pipeline/01-scope/input.md"},
		"identity": {func(b *bench) { b.write("CLAUDE.md", "Other.\n") }, "01-scope 02-plan", "CLAUDE.md"},
		"routing":  {func(b *bench) { b.write("CONTEXT.md", "Other.\n") }, "01-scope 02-plan", "CONTEXT.md"},
		"contract": {func(b *bench) {
			b.write("pipeline/02-plan/CONTEXT.md", contract("../01-scope/output/scope.md", "PLAN it. Well.", "plan.md"))
		}, "02-plan", "pipeline/02-plan/CONTEXT.md"},
		"edited output":     {func(b *bench) { b.write(scopeOut, "1. Other\n") }, "02-plan", scopeOut},
		"input taken away":  {func(b *bench) { b.remove(scopeOut) }, "02-plan", scopeOut},
		"something else":    {func(b *bench) { b.write("notes.md", "x\n"); b.write("towpath.toml", "") }, "", ""},
		"a newer timestamp": {func(b *bench) { b.write(scopeOut, b.read(scopeOut)) }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := whole(t)
			c.change(b)
			list, err := b.engine().Status()
			if err != nil {
				t.Fatal(err)
			}
			var stale []string
			for _, s := range list {
				if s.Stale {
					stale = append(stale, s.Stage)
					if !slices.Contains(s.Changed, c.why) {
						t.Errorf("%s is stale for %q, want %q among them", s.Stage, s.Changed, c.why)
					}
				}
			}
			wants(t, "what is stale", strings.Join(stale, " "), c.stale)
		})
	}
}

func TestStaleStagesAreReportedAndNotRunUnasked(t *testing.T) {
	t.Parallel()
	b := whole(t)
	b.write("pipeline/01-scope/input.md", "A course on knots.\n")
	b.mustRun(engine.Options{}, engine.HowAllDone)
	if n := len(b.server.Chats()); n != 2 {
		t.Fatalf("%d model calls, want 2", n)
	}
	contains(t, "the warnings", strings.Join(b.notes(journal.Warning), "\n"), "01-scope: stale", "input.md", "--stale")
}

func TestStaleRunsWhatDependsOnItToo(t *testing.T) {
	t.Parallel()
	b := whole(t)
	b.write("pipeline/01-scope/input.md", "A course on knots.\n")
	b.mustRun(engine.Options{Stale: true, All: true}, engine.HowAllDone)
	if n := len(b.server.Chats()); n != 4 {
		t.Errorf("%d model calls, want 4: both stages twice", n)
	}
	for _, name := range []string{"01-scope", "02-plan"} {
		if s := b.status(name); s.Stale || s.Edited {
			t.Errorf("%s is %+v", name, s)
		}
	}
	b.mustRun(engine.Options{Stale: true}, engine.HowAllDone)
	if n := len(b.server.Chats()); n != 4 {
		t.Errorf("%d model calls after a run with nothing stale", n)
	}
}

func TestStaleNeverTouchesAnEditedOutput(t *testing.T) {
	t.Parallel()
	b := whole(t)
	b.write(planOut, "# My own plan\n")
	b.write("CLAUDE.md", "Other.\n")
	b.mustRun(engine.Options{Stale: true, All: true}, engine.HowAllDone)
	wants(t, "the edited plan", b.read(planOut), "# My own plan\n")
	contains(t, "the warnings", strings.Join(b.notes(journal.Warning), "\n"), "02-plan: stale", "edited")
	if n := len(b.server.Chats()); n != 3 {
		t.Errorf("%d model calls, want 3: only the first stage again", n)
	}
}

func TestAgainKeepsTheOldOutputInHistory(t *testing.T) {
	t.Parallel()
	b := whole(t)
	b.write(scopeOut, "1. Edited by hand\n")
	b.mustRun(engine.Options{Again: "scope"}, engine.HowGate)
	wants(t, "the new output", b.read(scopeOut), "1. Name a label\n2. Write a label\n")
	if !inHistory(t, b, "1. Edited by hand\n") {
		t.Error("history does not have the edited output")
	}
	if s := b.status("01-scope"); s.Edited || s.State != engine.AtGate {
		t.Errorf("01-scope is %+v", s)
	}
}

func inHistory(t *testing.T, b *bench, text string) bool {
	t.Helper()
	seen := false
	err := filepath.WalkDir(filepath.Join(b.dir, "history"), func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		seen = seen || string(data) == text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestAgainThatFailsLeavesTheOldOutput(t *testing.T) {
	t.Parallel()
	bad := false
	b := newBench(t, two(""), func(r fakeserver.Request) fakeserver.Reply {
		if bad {
			return fakeserver.Reply{Status: 400, Body: "no"}
		}
		return echo(r)
	})
	b.mustRun(engine.Options{All: true}, engine.HowAllDone)
	bad = true
	b.mustFail(engine.Options{Again: "1"}, engine.CodeError)
	wants(t, "the output", b.read(scopeOut), "1. Name a label\n2. Write a label\n")
}

func TestInputIsWrittenAndTheOldOneKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	b.mustRun(engine.Options{Input: ptr("A course on knots.")}, engine.HowGate)
	wants(t, "input.md", b.read("pipeline/01-scope/input.md"), "A course on knots.\n")
	if !inHistory(t, b, "A course on labels.\n") {
		t.Error("history does not have the old input")
	}
	contains(t, "the prompt", user(b.server.Chats()[0]), "A course on knots.")
}

func TestEditsAtTheGateSurviveEverything(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	b.mustRun(engine.Options{}, engine.HowGate)
	const mine = "1. Mine\r\n\r\n\ttabs and no newline at the end"
	b.write(scopeOut, mine)
	for _, opt := range []engine.Options{{}, {}, {All: true}, {Stale: true, All: true}, {Until: "2"}, {Stage: "1"}, {Input: ptr("Knots.")}, {Stale: true, All: true}, {DryRun: true}} {
		if _, err := b.run(opt); err != nil {
			t.Fatalf("%+v: %v", opt, err)
		}
		wants(t, "the edited output", b.read(scopeOut), mine)
	}
	if s := b.status("01-scope"); !s.Edited {
		t.Errorf("01-scope is %+v, want edited", s)
	}
}

func TestOutputThatAppearsWhileTheStageRunsIsNotOverwritten(t *testing.T) {
	t.Parallel()
	var b *bench
	b = newBench(t, two(""), func(r fakeserver.Request) fakeserver.Reply {
		b.write(scopeOut, "1. Written by hand meanwhile\n")
		return echo(r)
	})
	ex := b.mustRun(engine.Options{All: true}, engine.HowGate)
	wants(t, "the output", b.read(scopeOut), "1. Written by hand meanwhile\n")
	contains(t, "the reason", ex.Reason, scopeOut, "left as it is", "history/")
	if !inHistory(t, b, "1. Name a label\n2. Write a label\n") {
		t.Error("history does not have the model's version")
	}
	if b.exists(planOut) {
		t.Error("the run went on past what a person has to look at")
	}
}

func TestOutputEditedWhileItIsMadeAgainIsNotOverwritten(t *testing.T) {
	t.Parallel()
	var b *bench
	edit := false
	b = newBench(t, two(""), func(r fakeserver.Request) fakeserver.Reply {
		if edit {
			b.write(scopeOut, "1. Edited meanwhile\n")
		}
		return echo(r)
	})
	b.mustRun(engine.Options{}, engine.HowGate)
	edit = true
	b.mustRun(engine.Options{Again: "1"}, engine.HowGate)
	wants(t, "the output", b.read(scopeOut), "1. Edited meanwhile\n")
}

func TestEditorsFilesNeverCount(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	for _, name := range []string{"scope.md~", ".scope.md.swp", "#scope.md#", ".DS_Store", "._scope.md", "4913", "Thumbs.db", ".scope.md.kate-swp"} {
		b.write("pipeline/01-scope/output/"+name, "1. From an editor\n")
	}
	b.write("pipeline/01-scope/output/extra.md", "x\n")
	b.write(scopeOut, "\n")
	s := b.status("01-scope")
	if s.State != engine.Waiting {
		t.Errorf("01-scope is %s, want waiting", s.State)
	}
	wants(t, "the other files", strings.Join(s.Undeclared, " "), "pipeline/01-scope/output/extra.md")
	b.mustRun(engine.Options{}, engine.HowGate)
	wants(t, "the output", b.read(scopeOut), "1. Name a label\n2. Write a label\n")
}

func TestMergeMarkersAreRefusedWithFileAndLine(t *testing.T) {
	t.Parallel()
	b := whole(t)
	b.write(scopeOut, "1. A\n<<<<<<< HEAD\n2. B\n=======\n2. C\n>>>>>>> theirs\n")
	err := b.mustFail(engine.Options{}, engine.CodeUsage)
	contains(t, "the error", err.Error(), scopeOut+":2", "merge conflict")
	if s := b.status("01-scope"); s.State != engine.Blocked || !strings.Contains(s.Reason, scopeOut+":2") {
		t.Errorf("01-scope is %+v", s)
	}
	if _, err := b.engine().Approve("1"); engine.ExitCode(err) != engine.CodeUsage {
		t.Errorf("approving a conflict gave %v", err)
	}
}

func TestTextAboutMergeConflictsIsNoConflict(t *testing.T) {
	t.Parallel()
	text := "# Merging\n\n```\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs\n```"
	b := newBench(t, two(""), func(r fakeserver.Request) fakeserver.Reply {
		if strings.Contains(user(r), "SCOPE it.") {
			return say("1. Markers: =======\n=======\nDone")
		}
		return say(text)
	})
	b.mustRun(engine.Options{All: true}, engine.HowAllDone)
	b.mustRun(engine.Options{}, engine.HowAllDone)
	wants(t, "the output", b.read(planOut), text+"\n")
}

func TestOutputLinkIsNotFollowedOut(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	b.remove("pipeline/02-plan")
	outside := filepath.Join(t.TempDir(), "new")
	if err := os.MkdirAll(filepath.Join(b.dir, "pipeline/01-scope/output"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(b.dir, scopeOut)); err != nil {
		t.Fatal(err)
	}
	err := b.mustFail(engine.Options{}, engine.CodeError)
	contains(t, "the error", err.Error(), scopeOut, "link")
	if _, err := os.Lstat(outside); err == nil {
		t.Error("the link was followed out of the workspace")
	}
	if n := len(b.server.Chats()); n != 0 {
		t.Errorf("%d model calls were spent", n)
	}
}

func TestDoneStageIsNotRunByName(t *testing.T) {
	t.Parallel()
	b := whole(t)
	ex := b.mustRun(engine.Options{Stage: "plan"}, engine.HowUntil)
	contains(t, "the reason", ex.Reason+ex.Mend, "output present", "--again")
	if n := len(b.server.Chats()); n != 2 {
		t.Errorf("%d model calls, want 2", n)
	}
}

func TestUntilPassesStopGatesAndStopsThere(t *testing.T) {
	t.Parallel()
	files := two("")
	files["pipeline/03-more/CONTEXT.md"] = contract("../02-plan/output/plan.md", "SCOPE it.", "more.md")
	b := newBench(t, files, echo)
	ex := b.mustRun(engine.Options{Until: "02"}, engine.HowUntil)
	if !b.exists(planOut) || b.exists("pipeline/03-more/output/more.md") || ex.Next != "03-more" {
		t.Errorf("ended with %+v", ex)
	}
}

func TestDryRunTouchesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	ex := b.mustRun(engine.Options{DryRun: true}, engine.HowDryRun)
	if ex.Next != "01-scope" || b.exists("history") || len(b.server.Requests()) != 0 {
		t.Errorf("ended with %+v", ex)
	}
	plan, err := b.engine().Plan(engine.Options{All: true})
	if err != nil || len(plan) != 2 || plan[0].Action != "run" || plan[1].Action != "run" {
		t.Errorf("the plan is %+v, %v", plan, err)
	}
}

func TestOptionsThatContradictEachOtherAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	b.mustFail(engine.Options{Stage: "1", Until: "2"}, engine.CodeUsage)
	err := b.mustFail(engine.Options{Stage: "nine"}, engine.CodeUsage)
	contains(t, "the error", err.Error(), "01-scope", "02-plan")
}

func TestDiffOfNothingEditedIsEmpty(t *testing.T) {
	t.Parallel()
	b := whole(t)
	diff, err := b.engine().Diff("1")
	if err != nil || diff != "" {
		t.Errorf("the diff is %q, %v", diff, err)
	}
	b.remove("history")
	if _, err := b.engine().Diff("1"); err == nil {
		t.Error("a diff without history gave no error")
	}
}

func TestWholeResultInAFenceIsUnwrapped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, reply, want string }{
		{"list.md", "```\n1. one\n2. two\n```", "1. one\n2. two\n"},
		{"data.json", "```json\n{\"a\": 1}\n```", "{\"a\": 1}\n"},
		{"tool.py", "```python\nprint(1)\n```", "print(1)\n"},
		{"notes.md", "```python\nprint(1)\n```", "```python\nprint(1)\n```\n"},
		{"inner.md", "text\n```\nx\n```", "text\n```\nx\n```\n"},
	} {
		files := map[string]string{"pipeline/01-a/CONTEXT.md": "## Process\nGo.\n\n## Outputs\n- " + c.name + " -> output/\n"}
		b := newBench(t, files, func(fakeserver.Request) fakeserver.Reply { return say(c.reply) })
		b.mustRun(engine.Options{}, engine.HowAllDone)
		if got := b.read("pipeline/01-a/output/" + c.name); got != c.want {
			t.Errorf("%s holds %q, want %q", c.name, got, c.want)
		}
	}
}

// A diff is what programs that apply one take: no line that is not there.
func TestDiffCanBeApplied(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), func(fakeserver.Request) fakeserver.Reply { return say("one\ntwo") })
	b.mustRun(engine.Options{}, engine.HowGate)
	b.write(scopeOut, "one\ntwo\nthree")
	diff, err := b.engine().Diff("1")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(diff, scopeOut+"\n")
	if want := "@@ -1,2 +1,3 @@\n one\n two\n+three\n\\ No newline at end of file\n"; body != want {
		t.Errorf("the diff is\n%swant\n%s", body, want)
	}
}

func TestStatusTellsTheCurrentAttempt(t *testing.T) {
	t.Parallel()
	bad := true
	var b *bench
	b = newBench(t, two(""), func(r fakeserver.Request) fakeserver.Reply {
		if bad {
			return fakeserver.Reply{Status: 400, Body: "no"}
		}
		if s := b.status("01-scope"); s.State != engine.Running {
			t.Errorf("while it runs 01-scope is %+v", s)
		}
		return echo(r)
	})
	b.mustFail(engine.Options{}, engine.CodeError)
	if s := b.status("01-scope"); s.State != engine.Failed || s.Reason == "" {
		t.Errorf("01-scope is %+v, want failed with its reason", s)
	}
	bad = false
	b.mustRun(engine.Options{}, engine.HowGate)
	if s := b.status("01-scope"); s.State != engine.AtGate || s.Reason == "" {
		t.Errorf("01-scope is %+v", s)
	}
}

func TestProbeContactsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	p, err := b.engine().Probe("2", 0)
	if err != nil {
		t.Fatal(err)
	}
	pending := ""
	for _, part := range p.Context.Parts {
		if part.Pending != "" {
			pending = part.Path + " by " + part.Pending
		}
	}
	wants(t, "what is pending", pending, scopeOut+" by 01-scope")
	if len(b.server.Requests()) != 0 || b.exists("history") {
		t.Error("the probe contacted the server or wrote history")
	}
}

func TestCancelledBeforeItBeganIsInterrupted(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	ex, err := b.engine().Run(ctx, engine.Options{})
	if engine.ExitCode(err) != engine.CodeInterrupted || ex.How != engine.HowInterrupted {
		t.Errorf("ended with %+v, %v", ex, err)
	}
}

func TestMergeMarkersInTheJournalAreNamedWithFileAndLine(t *testing.T) {
	t.Parallel()
	b := whole(t)
	runs, err := filepath.Glob(filepath.Join(b.dir, "history", "*-01-scope", "journal.jsonl"))
	if err != nil || len(runs) == 0 {
		t.Fatal("no journal", err)
	}
	data, err := os.ReadFile(runs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(runs[0], append([]byte("<<<<<<< HEAD\n"), data...), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = b.engine().Status()
	if err == nil {
		t.Fatal("a journal with a conflict gave no error")
	}
	contains(t, "the error", err.Error(), "journal.jsonl:1", "merge conflict")
}

func TestRejectionThatWasCutIsFinished(t *testing.T) {
	t.Parallel()
	b := newBench(t, two("## Gate\napprove"), echo)
	b.mustRun(engine.Options{}, engine.HowGate)
	text := b.read(scopeOut)
	if _, err := b.engine().Reject("1", "Too wide."); err != nil {
		t.Fatal(err)
	}
	b.write(scopeOut, text) // as if the process had died before it moved the output
	if s := b.status("01-scope"); s.State == engine.Done || s.State == engine.AtGate {
		t.Errorf("01-scope is %+v, want not done", s)
	}
	b.mustRun(engine.Options{}, engine.HowGate)
	chats := b.server.Chats()
	contains(t, "the next prompt", user(chats[len(chats)-1]), "Too wide.")
}
