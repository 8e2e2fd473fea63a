//go:build unix

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"towpath/internal/engine"
	"towpath/internal/fakeserver"
	"towpath/internal/journal"
)

// The test binary runs itself as the process that is killed. These say what
// the child does.
const (
	childDir    = "ENGINE_CHILD_DIR"
	childURL    = "ENGINE_CHILD_URL"
	childLedger = "ENGINE_CHILD_LEDGER"
	childKill   = "ENGINE_CHILD_KILL" // number of the journaled event at which it kills itself; "effect" for after the first effect
	childAll    = "ENGINE_CHILD_ALL"
	childAgain  = "ENGINE_CHILD_AGAIN"
	childFiles  = "ENGINE_CHILD_FSIZE" // most bytes that a file may have
)

func TestMain(m *testing.M) {
	if os.Getenv(childDir) != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

// child runs the workspace once and gives the exit code of the program.
func child() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l := &ledger{path: os.Getenv(childLedger)}
	at, _ := strconv.Atoi(os.Getenv(childKill))
	if os.Getenv(childKill) == "effect" {
		l.after = func(string) { die() }
	}
	if max, err := strconv.ParseUint(os.Getenv(childFiles), 10, 64); err == nil {
		limit := syscall.Rlimit{Cur: max, Max: max}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 99
		}
		signal.Ignore(syscall.SIGXFSZ)
	}
	var n atomic.Int64
	e, closeTree, err := openEngine(os.Getenv(childDir), os.Getenv(childURL), l, func(cfg *engine.Config) {
		cfg.Observe = func(ev journal.Event) {
			if ev.Seq > 0 && n.Add(1) == int64(at) {
				die()
			}
		}
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	defer closeTree()
	ex, err := e.Run(ctx, engine.Options{All: os.Getenv(childAll) != "", Again: os.Getenv(childAgain)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return engine.ExitCode(err)
	}
	fmt.Println(ex.How)
	return ex.Code
}

// die ends the process as kill -9 does; it does not return.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (b *bench) command(env ...string) *exec.Cmd {
	b.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childDir+"="+b.dir, childURL+"="+b.server.URL, childLedger+"="+b.ledger.path)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// spawn runs a child to its end.
func (b *bench) spawn(env ...string) (code int, killed bool, out string) {
	b.t.Helper()
	cmd := b.command(env...)
	data, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return cmd.ProcessState.ExitCode(), ws.Signaled() && ws.Signal() == syscall.SIGKILL, string(data)
}

// crashing is a workspace with a stage that calls a tool with effects and makes
// two outputs, and one that runs once an item.
func crashing() map[string]string {
	return map[string]string{
		"pipeline/01-scope/input.md": "Labels.\n",
		"pipeline/01-scope/CONTEXT.md": "## Inputs\n- input.md\n\n## Tools\nledger: note\n\n## Process\nSCOPE it.\n\n" +
			"## Outputs\n- outline.md -> output/\n- glossary.md -> output/\n",
		"pipeline/02-draft/CONTEXT.md": "## For each\nmodule in ../01-scope/output/outline.md, 2 at a time\n\n## Process\nDRAFT it.\n\n" +
			"## Outputs\n- draft.md -> output/\n",
	}
}

const outline = "## Module 1: Part 1\n\nOne.\n\n## Module 2: Part 2\n\nTwo.\n\n## Module 3: Part 3\n\nThree."

func crashAnswer(r fakeserver.Request) fakeserver.Reply {
	text := user(r)
	switch {
	case strings.Contains(text, "DRAFT it."):
		return say(drafted(itemNumber(r)))
	case gave(r) < 2 && len(r.Tools) > 0:
		return ask("ledger_note", fmt.Sprintf(`{"text":"effect %d"}`, gave(r)+1))
	case !strings.Contains(text, "glossary.md"):
		return say(outline)
	case r.Messages[len(r.Messages)-1].Role == "user" && strings.Contains(r.Messages[len(r.Messages)-1].Content, "glossary"):
		return say("- label: a name")
	}
	return say(outline)
}

// settle answers for the calls that are unknown, by what the ledger really has.
func (b *bench) settle(before []string) {
	b.t.Helper()
	s := b.status("01-scope")
	if s.State != engine.HandedOff {
		b.t.Fatalf("exit 4, but 01-scope is %+v", s)
	}
	a := engine.AnswerRepeat
	for _, ev := range b.journal("01-scope") {
		if ev.Call == nil {
			continue
		}
		for _, line := range before {
			if strings.Contains(ev.Call.Arguments.Text, line) {
				a = engine.AnswerDone
			} else {
				a = engine.AnswerRepeat
			}
		}
	}
	if _, err := b.engine().Answer("1", a); err != nil {
		b.t.Fatal(err)
	}
}

func TestKillAtEveryEventLosesNothingAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	base := newBench(t, crashing(), crashAnswer)
	if code, _, out := base.spawn(childAll + "=1"); code != 0 {
		t.Fatalf("the run without a kill ended %d: %s", code, out)
	}
	calls := len(base.server.Chats())
	unknown := 0
	for n := 1; ; n++ {
		b := newBench(t, crashing(), crashAnswer)
		code, killed, out := b.spawn(childAll+"=1", childKill+"="+strconv.Itoa(n))
		if !killed {
			if code != 0 {
				t.Fatalf("event %d: the run ended %d: %s", n, code, out)
			}
			if n < 30 {
				t.Errorf("only %d events were seen", n-1)
			}
			break
		}
		list, err := b.engine().Status()
		if err != nil {
			t.Fatalf("event %d: status after the kill: %v", n, err)
		}
		for _, s := range list {
			if s.State == engine.Running || s.Edited {
				t.Errorf("event %d: after the kill %s is %+v", n, s.Stage, s)
			}
		}
		code, _, out = b.spawn(childAll + "=1")
		if code == engine.CodePerson {
			unknown++
			b.settle(b.ledger.lines())
			code, _, out = b.spawn(childAll + "=1")
		}
		if code != 0 {
			t.Fatalf("event %d: the next run ended %d: %s", n, code, out)
		}
		b.checkWhole(n, calls)
	}
	if unknown != 2 {
		t.Errorf("%d kills left a call unknown, want 2: one for each call", unknown)
	}
}

// checkWhole checks what has to be there after a kill at event n and the run
// after it.
func (b *bench) checkWhole(n, calls int) {
	b.t.Helper()
	wants(b.t, fmt.Sprintf("event %d: the outline", n), b.read("pipeline/01-scope/output/outline.md"), outline+"\n")
	wants(b.t, fmt.Sprintf("event %d: the glossary", n), b.read("pipeline/01-scope/output/glossary.md"), "- label: a name\n")
	wants(b.t, fmt.Sprintf("event %d: the draft", n), b.read("pipeline/02-draft/output/draft.md"),
		drafted("1")+"\n\n"+drafted("2")+"\n\n"+drafted("3")+"\n")
	if got := b.ledger.lines(); !slices.Equal(got, []string{"effect 1", "effect 2"}) {
		b.t.Errorf("event %d: the ledger has %q", n, got)
	}
	if left := b.leftovers(); len(left) > 0 {
		b.t.Errorf("event %d: left behind: %q", n, left)
	}
	// A call that was under way when the process died may be made once more.
	if got := len(b.server.Chats()); got > calls+2 {
		b.t.Errorf("event %d: %d model calls in all, %d without a kill", n, got, calls)
	}
	for _, name := range []string{"01-scope", "02-draft"} {
		if s := b.status(name); s.State != engine.Done || s.Edited || s.Stale || s.Incomplete {
			b.t.Errorf("event %d: %s is %+v", n, name, s)
		}
	}
}

func TestKillNeverSlipsPastAGate(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		b := newBench(t, two(""), echo)
		_, killed, _ := b.spawn(childKill + "=" + strconv.Itoa(n))
		if !killed {
			return
		}
		closed := false
		for _, ev := range b.journal("01-scope") {
			closed = closed || ev.Type == journal.Exit
		}
		if closed {
			continue // the gate was opened and is on record
		}
		ex := b.mustRun(engine.Options{}, engine.HowGate)
		if ex.Next != "02-plan" || b.exists(planOut) {
			t.Errorf("event %d: the next run ended %+v", n, ex)
		}
	}
}

func TestKillWhileAnOutputIsMadeAgainGoesOnWithIt(t *testing.T) {
	t.Parallel()
	const mine = "1. Edited by hand\n"
	for n := 1; ; n++ {
		b := newBench(t, two(""), echo)
		b.mustRun(engine.Options{All: true}, engine.HowAllDone)
		b.write(scopeOut, mine)
		_, killed, _ := b.spawn(childAgain+"=1", childKill+"="+strconv.Itoa(n))
		if got := b.read(scopeOut); got != mine && got != "1. Name a label\n2. Write a label\n" {
			t.Fatalf("event %d: the output is neither the old one nor the new one: %q", n, got)
		}
		if !killed {
			break
		}
		events := b.journal("01-scope")
		if last := events[len(events)-1]; last.Type != journal.Exit {
			b.mustRun(engine.Options{}, engine.HowGate)
		}
		wants(t, fmt.Sprintf("event %d: the output", n), b.read(scopeOut), "1. Name a label\n2. Write a label\n")
		if !inHistory(t, b, mine) {
			t.Errorf("event %d: history does not have the edited output", n)
		}
	}
}

func TestEffectWithoutConfirmationIsNeverRepeatedUnasked(t *testing.T) {
	t.Parallel()
	for answer, ledger := range map[engine.Answer]string{
		engine.AnswerDone:   "effect 1, effect 2",
		engine.AnswerRepeat: "effect 1, effect 1, effect 2",
		engine.AnswerSkip:   "effect 1, effect 2",
	} {
		t.Run(string(answer), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, crashing(), crashAnswer)
			if _, killed, out := b.spawn(childAll+"=1", childKill+"=effect"); !killed {
				t.Fatalf("the child was not killed: %s", out)
			}
			for range 2 {
				code, _, out := b.spawn(childAll + "=1")
				if code != engine.CodePerson {
					t.Fatalf("the next run ended %d: %s", code, out)
				}
				contains(t, "the message", out, "ledger note", "towpath answer 01-scope done|repeat|skip")
			}
			wants(t, "the ledger", strings.Join(b.ledger.lines(), ", "), "effect 1")
			if _, err := b.engine().Answer("1", "perhaps"); engine.ExitCode(err) != engine.CodeUsage {
				t.Errorf("an answer that is none gave %v", err)
			}
			if _, err := b.engine().Answer("1", answer); err != nil {
				t.Fatal(err)
			}
			if _, err := b.engine().Answer("1", answer); engine.ExitCode(err) != engine.CodeUsage {
				t.Errorf("a second answer gave %v", err)
			}
			if code, _, out := b.spawn(childAll + "=1"); code != 0 {
				t.Fatalf("the run after the answer ended %d: %s", code, out)
			}
			wants(t, "the ledger", strings.Join(b.ledger.lines(), ", "), ledger)
		})
	}
}

func TestChangedInputStartsAnInterruptedStageAfresh(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	if _, killed, out := b.spawn(childKill + "=4"); !killed { // after the model's reply
		t.Fatalf("the child was not killed: %s", out)
	}
	b.write("pipeline/01-scope/input.md", "A course on knots.\n")
	b.mustRun(engine.Options{}, engine.HowGate)
	chats := b.server.Chats()
	contains(t, "the last prompt", user(chats[len(chats)-1]), "A course on knots.")
	if len(chats) != 2 {
		t.Errorf("%d model calls, want 2", len(chats))
	}
}

func TestInterruptEndsTheStageCleanly(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			asked := make(chan struct{}, 1)
			var let atomic.Bool
			b := newBench(t, two(""), func(r fakeserver.Request) fakeserver.Reply {
				if let.Load() {
					return echo(r)
				}
				asked <- struct{}{}
				return fakeserver.Reply{Silent: true}
			})
			cmd := b.command()
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-asked
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != engine.CodeInterrupted {
				t.Fatalf("ended %d, want 130: %s", code, out.String())
			}
			events := b.journal("01-scope")
			if last := events[len(events)-1]; last.Exit == nil || last.Exit.How != engine.HowInterrupted || last.Exit.Code != 130 {
				t.Errorf("the journal ends with %+v", last)
			}
			if b.exists(scopeOut) || len(b.leftovers()) > 0 {
				t.Error("an output or a temporary file is left")
			}
			let.Store(true)
			b.mustRun(engine.Options{}, engine.HowGate)
		})
	}
}

func TestFullDiskLeavesNoHalfOutput(t *testing.T) {
	t.Parallel()
	long := manyWords(700)
	b := newBench(t, two(""), func(fakeserver.Request) fakeserver.Reply { return say(long) })
	code, _, out := b.spawn(childFiles + "=4500")
	if code != engine.CodeError {
		t.Fatalf("ended %d, want 1: %s", code, out)
	}
	contains(t, "the message", out, "the disk is full")
	if b.exists(scopeOut) || len(b.leftovers()) > 0 {
		t.Error("an output or a temporary file is left")
	}
	if code, _, out := b.spawn(); code != 0 {
		t.Fatalf("with room again the run ended %d: %s", code, out)
	}
	wants(t, "the output", b.read(scopeOut), long+"\n")
}

// manyWords is a long text that does not repeat itself.
func manyWords(n int) string {
	var b strings.Builder
	x := uint32(1)
	for i := range n {
		x = x*1664525 + 1013904223
		if i%9 == 0 {
			fmt.Fprintf(&b, "\n\n%d.", i/9+1)
		}
		fmt.Fprintf(&b, " w%x", x>>12)
	}
	return strings.TrimSpace(b.String())
}

func TestReadOnlyFolderIsSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t, two(""), echo)
	ids := readOnly(t, b)
	cmd := b.command()
	cmd.SysProcAttr = ids
	data, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != engine.CodeError {
		t.Fatalf("ended %d, want 1: %s", code, data)
	}
	contains(t, "the message", string(data), "cannot be written to", "make the folder writable")
	if len(b.server.Chats()) != 0 {
		t.Error("a model call was spent")
	}
}

// readOnly takes the right to write away. Root has it always, so the child
// then runs as somebody else.
func readOnly(t *testing.T, b *bench) *syscall.SysProcAttr {
	t.Helper()
	err := filepath.WalkDir(b.dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(p, 0o555)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = filepath.WalkDir(b.dir, func(p string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = os.Chmod(p, 0o755)
			}
			return nil
		})
	})
	if os.Geteuid() != 0 {
		return nil
	}
	for p := filepath.Dir(b.dir); p != "/" && p != os.TempDir(); p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for p := filepath.Dir(exe); p != "/" && p != os.TempDir(); p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}
