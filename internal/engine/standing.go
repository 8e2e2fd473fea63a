package engine

import (
	"fmt"
	"maps"
	"strconv"

	"towpath/internal/journal"
	"towpath/internal/workspace"
)

// standing is where one stage is, read from its files first and its chronicle
// second. It needs no history.
type standing struct {
	st       *workspace.Stage
	files    []found
	done     bool // every declared file is there and was not sent back
	past     *journal.StageRecord
	edited   bool
	rejected bool   // the files that are there were sent back, but not yet moved away
	conflict string // place of what a merge left behind, "" if there is none

	stale      bool
	changed    []string // what makes it stale
	incomplete bool
	approved   bool
}

// stand reads where a stage is.
func (e *Engine) stand(st *workspace.Stage) (*standing, error) {
	s := &standing{st: st}
	var err error
	if s.files, s.done, err = e.lookAll(st); err != nil {
		return nil, err
	}
	if s.past, err = e.record(st); err != nil {
		return nil, err
	}
	s.edited = e.edited(s.past, s.files)
	for _, f := range s.files {
		if line := mergeMarker(f.data); line > 0 && f.there && !e.isOurs(s.past, f) && s.conflict == "" {
			s.conflict = fmt.Sprintf("%s:%d", f.show, line)
		}
	}
	s.weigh()
	if !s.done {
		return s, nil
	}
	return s, e.age(s)
}

// weigh sets what the newest decision and the newest result say about the
// present files.
func (s *standing) weigh() {
	now := s.hashes()
	if d := verdict(s.past); d != nil && maps.Equal(d.Hashes, now) && len(now) > 0 {
		s.approved = d.What == decidedApproved
		s.rejected = d.What == decidedRejected
	}
	if s.rejected {
		s.done = false
	}
	for _, f := range s.files {
		if o, ok := s.past.Outputs[f.show]; ok && o.Incomplete && o.Hash == f.hash {
			s.incomplete = true
		}
	}
}

// age sets whether something that the stage was made from has changed since.
func (e *Engine) age(s *standing) error {
	made := s.past.WroteStarted
	if made == nil {
		return nil
	}
	now, err := e.basisOf(s.st)
	if err != nil {
		return err
	}
	s.changed = now.changes(made.Contract, e.show(s.st.Contract.Path), made.Inputs)
	s.stale = len(s.changed) > 0
	return nil
}

// present says that a stage is not run since its outputs are there, and who
// approved them where that was somebody else: history comes with the workspace.
func (s *standing) present(me string) string {
	d := verdict(s.past)
	if d == nil || d.Actor == me || !s.approved || s.st.Contract.Gate != workspace.GateApprove {
		return "output present"
	}
	return "output present, approved by " + strconv.Quote(d.Actor)
}

// hashes gives the hash of each output that is there, by workspace path.
func (s *standing) hashes() map[string]string {
	all := map[string]string{}
	for _, f := range s.files {
		if f.there {
			all[f.show] = f.hash
		}
	}
	return all
}

func (s *standing) paths() []string {
	var all []string
	for _, f := range s.files {
		all = append(all, f.show)
	}
	return all
}

// cutAgain reports whether a run that was told to replace the present outputs
// died before it did: the next run goes on with it.
func (s *standing) cutAgain() bool {
	p := s.past
	return s.done && p.Run != "" && p.Exited == nil && len(p.Started.Replaces) > 0 && maps.Equal(p.Started.Replaces, s.hashes())
}

// cutLate reports whether a run died after it had written all of its outputs
// and before it closed, so that nobody was stopped at its gate.
func (s *standing) cutLate() bool {
	if !s.done || s.past.Run == "" || s.past.Exited != nil || s.past.Wrote != s.past.Run {
		return false
	}
	for _, f := range s.files {
		if _, ok := s.past.Outputs[f.show]; !ok {
			return false
		}
	}
	return !s.cutAgain()
}

// cutBetween reports whether a run died while it wrote its outputs: some are
// its own, and not all of them are on record.
func (e *Engine) cutBetween(s *standing) bool {
	if !s.done || s.cutLate() {
		return false
	}
	for _, f := range s.files {
		if e.keptBy(s.past, f) {
			return true
		}
	}
	return false
}

// gateOpen reports whether a person has yet to pass the stage's gate.
func (s *standing) gateOpen() bool {
	switch {
	case !s.done:
		return false
	case s.st.Contract.Gate == workspace.GateApprove:
		return !s.approved
	}
	p := s.past
	if p.Wrote == "" || p.Wrote != p.Run || p.Exited == nil || verdict(p) != nil {
		return false
	}
	return p.Exited.How == HowGate || p.Exited.How == HowUntil
}
