package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"towpath/internal/durable"
	"towpath/internal/engine"
	"towpath/internal/fakeserver"
	"towpath/internal/model"
	"towpath/internal/workspace"
)

func TestWhatThisVersionCannotRunIsRefusedByName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ section, want string }{
		"verify":      {"## Verify\n- words: 3..9", "Verify"},
		"audit":       {"## Audit\n- words: 3..9", "Audit"},
		"on fail":     {"## On fail\n01-scope", "On fail"},
		"run":         {"## Run\nmake all", "Run"},
		"hand off":    {"## Hand off\n- changes: auth/**", "Hand off"},
		"on success":  {"## On success\ndraft pull request", "On success"},
		"worktree":    {"## Worktree\n- repo: ../..\n- may change: src/**", "Worktree"},
		"memory":      {"## Memory\n- key: branch", "Memory"},
		"cost":        {"## Stop\n- cost: $0.50", "cost"},
		"not a count": {"## Stop\n- tool calls: many", "tool calls"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, two(c.section), echo)
			err := b.mustFail(engine.Options{}, engine.CodeUsage)
			contains(t, "the error", err.Error(), "pipeline/01-scope/CONTEXT.md:", c.want)
			if b.exists(scopeOut) || len(b.server.Requests()) != 0 {
				t.Error("something was spent")
			}
			if !strings.ContainsAny(strings.SplitN(err.Error(), "CONTEXT.md:", 2)[1][:1], "123456789 l") {
				t.Errorf("no line in %q", err)
			}
		})
	}
}

func TestLaterStageThatCannotRunDoesNotStopEarlierOnes(t *testing.T) {
	t.Parallel()
	files := two("")
	files["pipeline/02-plan/CONTEXT.md"] = contract("../01-scope/output/scope.md", "PLAN it.", "plan.md", "## Verify\n- words: 3..9")
	b := newBench(t, files, echo)
	b.mustFail(engine.Options{All: true}, engine.CodeUsage)
	if len(b.server.Requests()) != 0 {
		t.Error("something was spent before the refusal")
	}
	b.mustRun(engine.Options{}, engine.HowGate)
	b.mustFail(engine.Options{}, engine.CodeUsage)
}

func TestUnknownPlaceholderInTheLastStageIsFoundAtLoad(t *testing.T) {
	t.Parallel()
	files := two("")
	files["pipeline/02-plan/CONTEXT.md"] = contract("../01-scope/output/scope.md", "PLAN {{nothing}}.", "plan.md")
	b := newBench(t, files, echo)
	err := b.mustFail(engine.Options{}, engine.CodeUsage)
	contains(t, "the error", err.Error(), "pipeline/02-plan/CONTEXT.md:10", "{{nothing}}")
	if len(b.server.Requests()) != 0 {
		t.Error("something was spent")
	}
}

func TestMissingInputIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	b.remove("pipeline/01-scope/input.md")
	if s := b.status("01-scope"); s.State != engine.Blocked {
		t.Errorf("01-scope is %+v, want blocked", s)
	}
	if s := b.status("02-plan"); s.State != engine.Waiting {
		t.Errorf("02-plan is %+v, want waiting", s)
	}
	err := b.mustFail(engine.Options{}, engine.CodeUsage)
	contains(t, "the error", err.Error(), "pipeline/01-scope/CONTEXT.md:4", "input.md")
	b.mustRun(engine.Options{Input: ptr("Labels.")}, engine.HowGate)
}

func TestClosedPortIsFoundBeforeTheFirstStage(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	b.server.Close()
	err := b.mustFail(engine.Options{}, engine.CodeError)
	if model.KindOf(err) != model.KindUnreachable {
		t.Errorf("the error is %v, want an unreachable server", err)
	}
	if b.exists(scopeOut) {
		t.Error("an output was written")
	}
}

func TestModelWithoutToolsIsRefusedOnlyWhereToolsAreNeeded(t *testing.T) {
	t.Parallel()
	files := two("")
	files["pipeline/02-plan/CONTEXT.md"] = strings.Replace(files["pipeline/02-plan/CONTEXT.md"], "none", "ledger: note", 1)
	b := newBench(t, files, echo)
	b.info = func(i model.Info) model.Info {
		no := false
		i.Tools = &no
		return i
	}
	b.mustFail(engine.Options{All: true}, engine.CodeError)
	if len(b.server.Chats()) != 0 {
		t.Error("something was spent")
	}
	b.mustRun(engine.Options{}, engine.HowGate)
	err := b.mustFail(engine.Options{}, engine.CodeError)
	contains(t, "the error", err.Error(), "pipeline/02-plan/CONTEXT.md:7", "call tools")
}

// deadServers are servers that cannot be started.
type deadServers struct{ servers }

func (deadServers) Check(context.Context, *workspace.Stage, []string) error {
	return errors.New("ledger does not start: no such command")
}

func TestDeadRequiredServerStopsBeforeTheFirstStage(t *testing.T) {
	t.Parallel()
	files := two("")
	files["pipeline/02-plan/CONTEXT.md"] = strings.Replace(files["pipeline/02-plan/CONTEXT.md"], "none", "ledger: note", 1)
	b := newBench(t, files, echo)
	b.tune = func(cfg *engine.Config) { cfg.Servers = deadServers{servers{b.ledger}} }
	err := b.mustFail(engine.Options{All: true}, engine.CodeError)
	contains(t, "the error", err.Error(), "02-plan", "no such command")
	if len(b.server.Chats()) != 0 {
		t.Error("something was spent")
	}
}

func TestPromptThatCannotFitNamesTheLargestInputs(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	b.write("pipeline/01-scope/input.md", strings.Repeat("many different words stand here. ", 2000))
	b.info = func(i model.Info) model.Info { i.Window = 4096; return i }
	err := b.mustFail(engine.Options{}, engine.CodeError)
	contains(t, "the error", err.Error(), "pipeline/01-scope/input.md", "4096")
	if len(b.server.Chats()) != 0 {
		t.Error("the prompt was sent")
	}
}

func TestTwoRunsAtOnceGiveTheSecondExitCodeSix(t *testing.T) {
	t.Parallel()
	var b *bench
	b = newBench(t, two(""), func(r fakeserver.Request) fakeserver.Reply {
		ex, err := b.engine().Run(context.Background(), engine.Options{})
		var locked *durable.LockedError
		if engine.ExitCode(err) != engine.CodeLocked || ex.Code != engine.CodeLocked || !errors.As(err, &locked) {
			t.Errorf("the second run ended with %+v, %v", ex, err)
		}
		if _, err := b.engine().Reject("1", "no"); engine.ExitCode(err) != engine.CodeLocked {
			t.Errorf("a decision in a run gave %v", err)
		}
		return echo(r)
	})
	ex, err := b.engine().Run(context.Background(), engine.Options{})
	if err != nil || ex.How != engine.HowGate {
		t.Errorf("the first run ended with %+v, %v", ex, err)
	}
	b.mustRun(engine.Options{}, engine.HowAllDone)
}

func TestPlanIsNotSavedAsTheResult(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), func(fakeserver.Request) fakeserver.Reply {
		return say("I will start by reading the input file.")
	})
	b.mustFail(engine.Options{}, engine.CodeError)
	if b.exists(scopeOut) {
		t.Error("a plan was saved as the result")
	}
}

func TestInventedOutputPathIsIgnored(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), func(fakeserver.Request) fakeserver.Reply {
		return say("1. Saved to /home/user/output/scope.md\n2. Really")
	})
	b.mustRun(engine.Options{}, engine.HowGate)
	wants(t, "the output", b.read(scopeOut), "1. Saved to /home/user/output/scope.md\n2. Really\n")
}

func TestLimitMakesTheResultIncompleteAndItsGateStops(t *testing.T) {
	t.Parallel()
	files := two("## Stop\n- tool calls: 2\n- time: 5m\n- rounds: 3\n\n## Gate\nnone")
	files["pipeline/01-scope/CONTEXT.md"] = strings.Replace(files["pipeline/01-scope/CONTEXT.md"], "none", "ledger: note", 1)
	b := newBench(t, files, func(r fakeserver.Request) fakeserver.Reply {
		if len(r.Tools) > 0 {
			return ask("ledger_note", `{"text":"`+strings.Repeat("x", gave(r)+1)+`"}`)
		}
		if strings.Contains(user(r), "PLAN it.") {
			return echo(r)
		}
		return say("1. What was gathered so far")
	})
	ex := b.mustRun(engine.Options{All: true}, engine.HowGate)
	contains(t, "the reason", ex.Reason, "incomplete")
	if n := len(b.ledger.lines()); n != 2 {
		t.Errorf("%d tool calls, want 2", n)
	}
	if s := b.status("01-scope"); !s.Incomplete || s.State != engine.AtGate {
		t.Errorf("01-scope is %+v", s)
	}
	b.mustRun(engine.Options{All: true}, engine.HowAllDone)
}

func TestSecretsReachNeitherOutputNorJournal(t *testing.T) {
	t.Parallel()
	const key = "sk-abcdef0123456789abcdef"
	b := newBench(t, two(""), func(fakeserver.Request) fakeserver.Reply {
		return say("1. Use the key " + key + " well")
	})
	b.tune = func(cfg *engine.Config) { cfg.Secrets = []string{key} }
	b.mustRun(engine.Options{}, engine.HowGate)
	if strings.Contains(b.read(scopeOut), key) {
		t.Error("the key stands in the output")
	}
	if s := b.status("01-scope"); s.Edited {
		t.Error("taking the key out counts as an edit")
	}
}

func TestClockThatJumpsBackKeepsTheOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t, two("## Gate\napprove"), echo)
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	b.clock = func() time.Time { at = at.Add(-time.Hour); return at }
	b.mustRun(engine.Options{}, engine.HowGate)
	if _, err := b.engine().Approve("1"); err != nil {
		t.Fatal(err)
	}
	if s := b.status("01-scope"); !s.Approved || s.State != engine.Done {
		t.Errorf("01-scope is %+v, want approved", s)
	}
	b.mustRun(engine.Options{}, engine.HowAllDone)
	if _, err := b.engine().Reject("1", "no"); err != nil {
		t.Fatal(err)
	}
	ex := b.mustRun(engine.Options{}, engine.HowGate)
	if ex.Code != engine.CodePerson {
		t.Errorf("ended with %+v: an approval of before the rejection counted", ex)
	}
}
