package engine

import (
	"fmt"
	"strings"

	"towpath/internal/durable"
	"towpath/internal/prompt"
	"towpath/internal/workspace"
)

// Status says where every stage stands, in order. It needs no history and
// takes no lock.
func (e *Engine) Status() ([]StageStatus, error) {
	live, err := durable.Locked(e.cfg.Tree, e.cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("looking whether a run is live: %w", err)
	}
	var all []*standing
	running := -1
	for i, st := range e.cfg.Workspace.Stages {
		s, err := e.stand(st)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
		if p := s.past; live && p.Run != "" && p.Exited == nil && (running < 0 || p.StartedAt.After(all[running].past.StartedAt)) {
			running = i
		}
	}
	var list []StageStatus
	for i, s := range all {
		list = append(list, e.statusOf(s, i, i == running))
	}
	return list, nil
}

func (e *Engine) statusOf(s *standing, i int, running bool) StageStatus {
	p := s.past
	v := StageStatus{
		Stage: s.st.Name, Edited: s.edited, Stale: s.stale, Incomplete: s.incomplete, Gate: s.st.Contract.Gate,
		Approved: s.approved, Changed: s.changed, Outputs: s.paths(), Undeclared: e.undeclared(s.st, s.files),
		Run: p.Run, Ended: p.ExitedAt,
	}
	if len(v.Outputs) == 0 {
		for _, o := range s.st.Contract.Outputs {
			v.Outputs = append(v.Outputs, e.show(o.Path))
		}
	}
	for _, pr := range s.st.Contract.Problems {
		if pr.Severity == workspace.Error {
			v.Problems = append(v.Problems, e.problem(pr))
		}
	}
	switch {
	case running:
		v.State = Running
	case s.conflict != "":
		v.State, v.Reason, v.Mend = Blocked, s.conflict+": merge conflict markers stand in the output", "settle the conflict"
	case s.done:
		e.doneStatus(s, &v)
	default:
		e.openStatus(s, i, &v)
	}
	v.Reason = strings.TrimPrefix(v.Reason, v.Stage+": ") // it stands beside the stage's name
	return v
}

// doneStatus tells what is done from what waits at its gate.
func (e *Engine) doneStatus(s *standing, v *StageStatus) {
	v.State = Done
	switch {
	case s.cutLate() || s.cutAgain() || e.cutBetween(s):
		v.Reason, v.Mend = "its last run was interrupted", "towpath run goes on with it"
	case s.gateOpen() && s.st.Contract.Gate == workspace.GateApprove:
		v.State, v.Reason, v.Mend = AtGate, "waits for approval", "read and edit the output, then towpath approve "+s.st.Name
	case s.gateOpen():
		v.State, v.Reason, v.Mend = AtGate, "may be read and edited", "towpath run goes on"
	}
	if s.cutLate() {
		v.State = AtGate
	}
}

// openStatus tells why a stage has no output yet.
func (e *Engine) openStatus(s *standing, i int, v *StageStatus) {
	for _, f := range s.files {
		if !f.there {
			v.Missing = append(v.Missing, f.show+" "+f.why)
		}
	}
	v.State = Waiting
	switch x := s.past.Exited; {
	case len(s.past.Unknown) > 0 && resumable(s.past):
		v.State = HandedOff
		why := unanswered(s.st, s.past.Unknown)
		v.Reason, v.Mend = why.Err.Error(), why.Mend
		return
	case x == nil && s.past.Run != "" && resumable(s.past):
		v.Reason, v.Mend = "its last run was interrupted", "towpath run goes on with it"
	case x != nil && x.How == HowHandOff:
		v.State, v.Reason, v.Mend = HandedOff, x.Reason, x.Mend
		return
	case x != nil && x.How == HowFailed && !s.sentBack():
		v.State, v.Reason, v.Mend = Failed, x.Reason, x.Mend
	case x != nil && (x.How == HowInterrupted || x.How == HowPaused):
		v.Reason, v.Mend = x.Reason, x.Mend
	case s.sentBack():
		v.Reason, v.Mend = "its output was rejected", "towpath run makes it anew"
	}
	if missing := e.missingInputs(s.st); missing != "" && v.State != Failed {
		v.State, v.Reason, v.Mend = Blocked, missing, ""
	}
}

// sentBack reports whether the newest word on the stage is a rejection.
func (s *standing) sentBack() bool {
	d := verdict(s.past)
	return d != nil && d.What == decidedRejected
}

// missingInputs says which inputs are not there and made by no earlier stage,
// or why they cannot be read.
func (e *Engine) missingInputs(st *workspace.Stage) string {
	opt := e.promptOptions()
	opt.Probe = true
	_, err := prompt.Build(e.fsys, e.cfg.Workspace, st, opt)
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}
