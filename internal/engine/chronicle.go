package engine

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"towpath/internal/durable"
	"towpath/internal/journal"
	"towpath/internal/workspace"
)

// The kinds of journal.Decided.What.
const (
	decidedApproved = "approved"
	decidedRejected = "rejected"
	decidedPassed   = "passed" // the gate was passed by going on
	decidedAnswered = "answered"
	decidedInput    = "input" // a new input.md was given
)

// record reads what the journal says about a stage. No history is an empty
// record.
func (e *Engine) record(st *workspace.Stage) (*journal.StageRecord, error) {
	rec, err := e.history().Latest(st.Name)
	if err != nil {
		return nil, fmt.Errorf("reading the history of %s: %w", st.Name, err)
	}
	return rec, nil
}

func (e *Engine) history() *journal.History { return journal.Open(e.cfg.Tree, e.cfg.Dir) }

// verdict is the newest decision about the newest result, nil if there is none.
func verdict(rec *journal.StageRecord) *journal.Decided {
	for i := range slices.Backward(rec.Decisions) {
		d := &rec.Decisions[i]
		switch d.What {
		case decidedApproved, decidedRejected, decidedPassed:
			if d.RunName == "" || d.RunName == rec.Wrote {
				return d
			}
		}
	}
	return nil
}

// resumable reports whether the stage's newest run did not come to an end that
// settles anything, so that the next one goes on from it.
func resumable(rec *journal.StageRecord) bool {
	if rec.Run == "" {
		return false
	}
	if d := verdict(rec); d != nil && d.What == decidedRejected && slices.Contains(rec.Chain, d.RunName) {
		return false
	}
	if rec.Exited == nil {
		return true
	}
	switch rec.Exited.How {
	case HowInterrupted, HowPaused, HowUnknownCall, HowHandOff:
		return true
	}
	return false
}

// keptName is the name under which a run keeps the model's own version of an
// output.
func keptName(show string) string {
	if _, below, ok := strings.Cut(show, "/output/"); ok {
		return below
	}
	return path.Base(show)
}

// isOurs reports whether the content of an output is what the model wrote
// last, also when the process died between the write and its journal entry.
func (e *Engine) isOurs(rec *journal.StageRecord, f found) bool {
	if !f.there {
		return false
	}
	if o, ok := rec.Outputs[f.show]; ok && o.Hash == f.hash {
		return true
	}
	return e.keptBy(rec, f)
}

// keptBy reports whether the stage's newest run, which did not end, was about
// to write this content.
func (e *Engine) keptBy(rec *journal.StageRecord, f found) bool {
	if rec.Run == "" || rec.Exited != nil {
		return false
	}
	kept, err := e.cfg.Tree.ReadFile(path.Join(e.cfg.Dir, "history", rec.Run, "outputs", keptName(f.show)))
	return err == nil && durable.Hash(kept) == f.hash
}

// edited reports whether a person changed an output since it was written, or
// made it. Without a history nothing can be said.
func (e *Engine) edited(rec *journal.StageRecord, files []found) bool {
	if rec.Run == "" {
		return false
	}
	for _, f := range files {
		if f.there && !e.isOurs(rec, f) {
			return true
		}
	}
	return false
}

// finished gives the items that earlier runs of a stage ended well, newest
// first, from the runs that are named or, for nil, from those since its last
// complete result.
func (e *Engine) finished(st *workspace.Stage, runs []string) ([]oldItem, error) {
	h := e.history()
	all, err := h.Runs(st.Name)
	if err != nil {
		return nil, err
	}
	var items []oldItem
	for _, r := range slices.Backward(all) {
		if runs != nil && !slices.Contains(runs, r.Name) {
			continue
		}
		events, err := h.Events(r.Name)
		if err != nil {
			return nil, err
		}
		if runs == nil && settled(events) {
			break
		}
		items = append(items, itemsOf(r.Name, events)...)
	}
	return items, nil
}

// settled reports whether a run ended with a result, or is the entry of a
// rejection: nothing from before it is used again.
func settled(events []journal.Event) bool {
	return slices.ContainsFunc(events, func(ev journal.Event) bool {
		return ev.Type == journal.Gate || ev.Decision != nil && ev.Decision.What == decidedRejected
	})
}

// oldItem is an item of a for-each as an earlier run left it.
type oldItem struct {
	run      string
	contract string
	n        int
	journal.Ended
}

func itemsOf(run string, events []journal.Event) []oldItem {
	var items []oldItem
	contract := ""
	for _, ev := range events {
		if ev.Started != nil {
			contract = ev.Started.Contract
		}
		if ev.Type == journal.ItemEnded && ev.Ended != nil {
			items = append(items, oldItem{run: run, contract: contract, n: ev.Item, Ended: *ev.Ended})
		}
	}
	return items
}
