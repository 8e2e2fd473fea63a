package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"towpath/internal/journal"
	"towpath/internal/workspace"
)

// drive is one Run. It lives while the lock is held.
type drive struct {
	e      *Engine
	opt    Options
	until  *workspace.Stage // of Options.Until
	single *workspace.Stage // of Options.Stage or Again
	ran    []*workspace.Stage
	chosen map[string]Chosen // by stage
	seen   map[string]*standing
}

// stand reads where a stage is, once until something was written.
func (d *drive) stand(st *workspace.Stage) (*standing, error) {
	if s, ok := d.seen[st.Name]; ok {
		return s, nil
	}
	s, err := d.e.stand(st)
	if err != nil {
		return nil, err
	}
	if d.seen == nil {
		d.seen = map[string]*standing{}
	}
	d.seen[st.Name] = s
	return s, nil
}

// wrote says that what was read may be otherwise now.
func (d *drive) wrote() { d.seen = nil }

// Run goes on with the workspace as opt asks, until a gate, the end or an
// error, and says how it ended. The error is nil when nothing went wrong, also
// at a gate that waits for approval (Exited.Code is 4 then); else it is an
// *Error. Exited is filled in either case and was the last event observed.
func (e *Engine) Run(ctx context.Context, opt Options) (journal.Exited, error) {
	var last *journal.Exited
	var one sync.Mutex
	watched := *e
	watched.observe = func(ev journal.Event) {
		one.Lock()
		defer one.Unlock()
		last = nil
		if ev.Type == journal.Exit {
			last = ev.Exit
		}
		e.observe(ev)
	}
	d := &drive{e: &watched, opt: opt, chosen: map[string]Chosen{}}
	exited, err := d.locked(ctx)
	if err != nil {
		ee := classify(ctx, err)
		err, exited = ee, ee.exited(exited.Next)
	}
	if last == nil || last.How != exited.How || last.Reason != exited.Reason {
		e.tell(journal.Event{Type: journal.Exit, Exit: &exited})
	}
	return exited, err
}

// locked takes the lock for the time of the run. A dry run needs none.
func (d *drive) locked(ctx context.Context) (journal.Exited, error) {
	if err := d.names(); err != nil {
		return journal.Exited{}, err
	}
	if d.opt.DryRun {
		return d.dryRun()
	}
	lock, err := d.e.cfg.Tree.Lock(d.e.cfg.Dir)
	if err != nil {
		return journal.Exited{}, err
	}
	exited, err := d.drive(ctx)
	if uerr := lock.Unlock(); err == nil && uerr != nil {
		err = fmt.Errorf("letting the workspace's lock go: %w", uerr)
	}
	return exited, err
}

// names finds the stages that the options name.
func (d *drive) names() error {
	asked := 0
	for _, set := range []bool{d.opt.Until != "", d.opt.Stage != "", d.opt.Again != "", d.opt.Stale} {
		if set {
			asked++
		}
	}
	if asked > 1 {
		return usage("choose one of them", "--until, --stage, --again and --stale cannot be combined")
	}
	if len(d.e.cfg.Workspace.Stages) == 0 {
		return usage("make a folder such as pipeline/01-scope with a CONTEXT.md in it", "the workspace has no stage")
	}
	var err error
	if d.opt.Until != "" {
		d.until, err = d.e.stage(d.opt.Until)
	}
	if name := d.opt.Stage + d.opt.Again; name != "" {
		d.single, err = d.e.stage(name)
	}
	return err
}

func (e *Engine) stage(name string) (*workspace.Stage, error) {
	st, err := e.cfg.Workspace.Stage(name)
	if err != nil {
		return nil, &Error{Code: CodeUsage, How: HowRefused, Err: err}
	}
	return st, nil
}

func (d *drive) drive(ctx context.Context) (journal.Exited, error) {
	if err := d.finishRejects(); err != nil {
		return journal.Exited{}, err
	}
	if d.opt.Input != nil {
		d.wrote()
		if err := d.e.writeInput(*d.opt.Input); err != nil {
			return journal.Exited{}, err
		}
	}
	remaining, planned, err := d.plan()
	if err != nil {
		return journal.Exited{}, err
	}
	if err := d.e.refuse(remaining, planned); err != nil {
		return journal.Exited{}, err
	}
	if err := d.preflight(ctx, planned); err != nil {
		return journal.Exited{}, err
	}
	return d.stages(ctx)
}

// finishRejects moves away the outputs of a rejection that was recorded before
// the process died.
func (d *drive) finishRejects() error {
	for _, st := range d.e.cfg.Workspace.Stages {
		s, err := d.stand(st)
		if err != nil {
			return err
		}
		if s.rejected {
			d.wrote()
			if err := d.e.clear(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// step is what a run does with one stage.
type step int

const (
	stepSkip   step = iota // its output is there
	stepRun                // make its output
	stepReopen             // its output is there, its gate was never shown
	stepWait               // its output is there and waits for approval
	stepLeave              // stale, but a person edited it
)

// next says what to do with a stage now.
func (d *drive) next(s *standing) step {
	switch {
	case d.opt.Again != "":
		return stepRun
	case s.cutLate():
		return stepReopen
	case s.cutAgain(), d.e.cutBetween(s):
		return stepRun
	case !s.done && d.opt.Stale:
		return stepSkip
	case !s.done:
		return stepRun
	case d.opt.Stale:
		return d.nextStale(s)
	case s.st.Contract.Gate == workspace.GateApprove && !s.approved:
		return stepWait
	}
	return stepSkip
}

func (d *drive) nextStale(s *standing) step {
	again := s.stale && s.past.Wrote != ""
	for _, m := range d.e.makers(s.st) {
		again = again || slices.Contains(d.ran, m)
	}
	switch {
	case !again:
		return stepSkip
	case s.edited:
		return stepLeave
	}
	return stepRun
}

// stages goes through the stages in order.
func (d *drive) stages(ctx context.Context) (journal.Exited, error) {
	for i, st := range d.e.cfg.Workspace.Stages {
		if d.single != nil && st != d.single {
			continue
		}
		if err := ctx.Err(); err != nil {
			return journal.Exited{}, err
		}
		s, err := d.stand(st)
		if err != nil {
			return journal.Exited{}, err
		}
		if err := s.mergeable(); err != nil {
			return journal.Exited{}, err
		}
		exited, stop, err := d.take(ctx, s, i)
		if err != nil || stop {
			return exited, err
		}
		if st == d.until {
			return journal.Exited{How: HowUntil, Reason: st.Name + " is done", Next: d.e.nextName(i)}, nil
		}
	}
	return d.end()
}

// mergeable refuses outputs in which a merge left its markers.
func (s *standing) mergeable() error {
	if s.conflict == "" {
		return nil
	}
	return usage("settle the conflict, then run the same command again", "%s: merge conflict markers stand in the output of %s", s.conflict, s.st.Name)
}

// take does what is to be done with one stage; stop says that the run ends
// with it.
func (d *drive) take(ctx context.Context, s *standing, i int) (exited journal.Exited, stop bool, err error) {
	switch d.next(s) {
	case stepRun:
		defer d.wrote()
		d.ran = append(d.ran, s.st)
		return d.runStage(ctx, s, i)
	case stepReopen:
		defer d.wrote()
		return d.reopen(s, i)
	case stepWait:
		return d.waits(s, i), true, nil
	case stepLeave:
		d.e.warn(s.st, "stale, and left as it is because a person edited it; towpath run --again %s makes it anew", s.st.Name)
		return journal.Exited{}, false, nil
	}
	return d.skip(s, i)
}

func (d *drive) skip(s *standing, i int) (journal.Exited, bool, error) {
	if !s.done {
		return journal.Exited{}, false, nil // --stale passes over what was never made
	}
	d.e.tell(journal.Event{Type: journal.StageSkipped, Stage: s.st.Name, Note: s.present(d.e.cfg.Actor)})
	if s.stale && !d.opt.Stale {
		d.e.warn(s.st, "stale: %s changed since; towpath run --stale makes it anew", strings.Join(s.changed, ", "))
	}
	if d.single != nil {
		return journal.Exited{How: HowUntil, Reason: s.st.Name + ": output present", Mend: "towpath run --again " + s.st.Name + " makes it anew", Next: d.e.nextName(i)}, true, nil
	}
	if !d.opt.Stale && s.gateOpen() && i+1 < len(d.e.cfg.Workspace.Stages) {
		d.wrote()
		if _, err := d.e.decide(s, journal.Decided{What: decidedPassed}, nil); err != nil {
			return journal.Exited{}, true, err
		}
	}
	return journal.Exited{}, false, nil
}

// waits is the end of a run at a gate that needs approval.
func (d *drive) waits(s *standing, i int) journal.Exited {
	why := "waits for approval"
	if dec := verdict(s.past); dec != nil && dec.What == decidedApproved {
		why = "was edited after it was approved, and waits for approval again"
	}
	return journal.Exited{How: HowGate, Code: CodePerson, Next: d.e.nextName(i), Outputs: s.paths(),
		Reason: fmt.Sprintf("%s %s: read and edit %s", s.st.Name, why, strings.Join(s.paths(), ", ")),
		Mend:   "towpath approve " + s.st.Name + ", then run the same command to go on"}
}

// end is the end of a run that no gate stopped.
func (d *drive) end() (journal.Exited, error) {
	if !d.opt.Stale {
		return journal.Exited{How: HowAllDone, Reason: "every stage is done"}, nil
	}
	for i, st := range d.e.cfg.Workspace.Stages {
		if s, err := d.stand(st); err != nil {
			return journal.Exited{}, err
		} else if !s.done {
			return journal.Exited{How: HowUntil, Reason: "nothing stale is left to run", Next: d.e.cfg.Workspace.Stages[i].Name}, nil
		}
	}
	return journal.Exited{How: HowAllDone, Reason: "nothing stale is left to run"}, nil
}

// halt says how a stage that was just made ends, and whether the run stops
// there. odd is why a person has to look even where gates are passed.
func (d *drive) halt(s *standing, i int, outputs []string, odd string) (journal.Exited, bool) {
	st := s.st
	next := d.e.nextName(i)
	read := "read and edit " + strings.Join(outputs, ", ")
	if odd != "" {
		read = odd + "; " + read
	}
	goOn := "run the same command to go on"
	if d.single != nil { // the same command is about this stage alone
		goOn = "towpath run goes on"
	}
	gate := journal.Exited{How: HowGate, Reason: "review gate: " + read + ", then " + goOn, Next: next, Outputs: outputs}
	switch {
	case st.Contract.Gate == workspace.GateApprove:
		gate.Code = CodePerson
		gate.Reason = st.Name + " waits for approval: " + read
		gate.Mend = "towpath approve " + st.Name + ", then " + goOn
		return gate, true
	case odd != "":
		return gate, true
	case st == d.until:
		return journal.Exited{How: HowUntil, Reason: st.Name + " is done: " + read, Next: next, Outputs: outputs}, true
	case next == "" && !d.opt.Stale:
		return journal.Exited{How: HowAllDone, Reason: "every stage is done: " + read, Outputs: outputs}, true
	case d.single != nil:
		return gate, true
	case st.Contract.Gate == workspace.GateNone, d.opt.All, d.until != nil:
		return journal.Exited{How: HowDone, Reason: st.Name + " is done", Next: next}, false
	case next == "":
		return journal.Exited{How: HowAllDone, Reason: "nothing stale is left to run: " + read, Outputs: outputs}, true
	}
	return gate, true
}

func (e *Engine) nextName(i int) string {
	if i+1 < len(e.cfg.Workspace.Stages) {
		return e.cfg.Workspace.Stages[i+1].Name
	}
	return ""
}

// tell shows an event that belongs to no run folder.
func (e *Engine) tell(ev journal.Event) {
	ev.V, ev.Time = journal.Version, e.now()
	e.observe(ev)
}

func (e *Engine) warn(st *workspace.Stage, format string, args ...any) {
	e.tell(journal.Event{Type: journal.Warning, Stage: st.Name, Note: fmt.Sprintf(format, args...)})
}

// exited is an error as the journal has it.
func (e *Error) exited(next string) journal.Exited {
	return journal.Exited{How: e.How, Code: e.Code, Reason: e.Err.Error(), Mend: e.Mend, Until: e.Until, Next: next}
}

// stamp is a time as people read it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
