package journal

import (
	"slices"
	"time"
)

// StageRecord is what the journals say of one stage: its last run that did
// work, and the last one that wrote its output (often the same).
type StageRecord struct {
	Stage string

	Run       string    // the last run that began work, "" if none ever did
	Started   *Started  // of Run
	StartedAt time.Time // of Run
	Exited    *Exited   // how Run ended; nil: it is running, or was interrupted
	ExitedAt  time.Time
	Gate      *GateOpened // the gate that Run opened, nil if none

	Chain   []string // Run and the runs that it goes on from, the oldest first
	Unknown []Call   // calls of the chain that have effects and are neither confirmed nor answered

	Wrote        string            // the last run that wrote an output, "" if none did
	WroteStarted *Started          // what that run was made from
	Outputs      map[string]Output // by workspace path: every output as Wrote, and what it goes on from, wrote it
	Incomplete   bool              // an output of Wrote was cut short by a limit

	Decisions []Decided // about Run or Wrote, the oldest first
	Decided   []Event   // the same, as events with their time and run
}

// runRecord is one run, read once.
type runRecord struct {
	name    string
	start   *Event
	exit    *Event
	gate    *GateOpened
	outputs map[string]Output
	decided []Event
}

func (h *History) record(run string) (runRecord, error) {
	r := runRecord{name: run, outputs: map[string]Output{}}
	err := h.Each(run, func(e Event) error {
		switch {
		case e.Type == RunStarted && e.Started != nil:
			r.start = &e
		case e.Type == Exit && e.Exit != nil:
			r.exit = &e
		case e.Type == Gate && e.Gate != nil:
			r.gate = e.Gate
		case e.Type == OutputWritten && e.Output != nil:
			r.outputs[e.Output.Path] = *e.Output
		case e.Type == Decision && e.Decision != nil:
			r.decided = append(r.decided, e)
		}
		return nil
	})
	return r, err
}

// Latest gives the record of a stage, reading its runs from the newest back to
// the last one that wrote an output. A stage that never ran has an empty
// record. A journal that cannot be read is a *LineError.
func (h *History) Latest(stage string) (*StageRecord, error) {
	runs, err := h.Runs(stage)
	if err != nil {
		return nil, err
	}
	s := &StageRecord{Stage: stage}
	read := map[string]runRecord{}
	var decided []Event // the newest first
	for i := len(runs) - 1; i >= 0 && (s.Run == "" || s.Wrote == ""); i-- {
		r, err := h.record(runs[i].Name)
		if err != nil {
			return nil, err
		}
		read[r.name] = r
		for _, e := range slices.Backward(r.decided) {
			decided = append(decided, e)
		}
		if r.start == nil {
			continue
		}
		if s.Run == "" {
			s.setRun(r)
		}
		if len(r.outputs) > 0 {
			s.Wrote, s.WroteStarted = r.name, r.start.Started
		}
	}
	if s.Run == "" {
		s.decide(decided) // about outputs whose run is no longer known
		return s, nil
	}
	if err := h.chain(s, runs, read); err != nil {
		return nil, err
	}
	s.decide(decided)
	return s, nil
}

func (s *StageRecord) setRun(r runRecord) {
	s.Run, s.Started, s.StartedAt, s.Gate = r.name, r.start.Started, r.start.Time, r.gate
	if r.exit != nil {
		s.Exited, s.ExitedAt = r.exit.Exit, r.exit.Time
	}
}

// chain follows Resumes back from Run and from Wrote.
func (h *History) chain(s *StageRecord, runs []RunInfo, read map[string]runRecord) error {
	var err error
	if s.Chain, err = h.follow(s.Run, runs, read); err != nil {
		return err
	}
	if s.Gate == nil { // no gate opens while a call is unknown
		past, err := NewPast(h, s.Chain...)
		if err != nil {
			return err
		}
		s.Unknown = past.Unknown()
	}
	if s.Wrote == "" {
		return nil
	}
	wrote, err := h.follow(s.Wrote, runs, read)
	if err != nil {
		return err
	}
	s.Outputs = map[string]Output{}
	for _, name := range wrote {
		for p, o := range read[name].outputs {
			s.Outputs[p] = o
		}
	}
	for _, o := range s.Outputs {
		s.Incomplete = s.Incomplete || o.Incomplete
	}
	return nil
}

// follow gives run and the runs that it goes on from, the oldest first.
func (h *History) follow(run string, runs []RunInfo, read map[string]runRecord) ([]string, error) {
	chain := []string{run}
	for {
		r, ok := read[chain[0]]
		if !ok {
			var err error
			if r, err = h.record(chain[0]); err != nil {
				return nil, err
			}
			read[chain[0]] = r
		}
		if r.start == nil {
			return chain, nil
		}
		before := r.start.Started.Resumes
		known := slices.ContainsFunc(runs, func(i RunInfo) bool { return i.Name == before })
		if before == "" || !known || slices.Contains(chain, before) {
			return chain, nil
		}
		chain = slices.Insert(chain, 0, before)
	}
}

// decide keeps the decisions that are about Run or Wrote. An entry that names
// no run is about the run before it, which is one of them.
func (s *StageRecord) decide(newestFirst []Event) {
	for _, e := range slices.Backward(newestFirst) {
		of := e.Decision.RunName
		if of != "" && of != s.Run && of != s.Wrote && !slices.Contains(s.Chain, of) {
			continue
		}
		s.Decisions = append(s.Decisions, *e.Decision)
		s.Decided = append(s.Decided, e)
	}
}
