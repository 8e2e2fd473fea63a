package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"towpath/internal/journal"
	"towpath/internal/prompt"
	"towpath/internal/workspace"
)

// Approve records that a person approves the stage's outputs as they are now.
func (e *Engine) Approve(stage string) (journal.Decided, error) {
	return e.deciding(stage, func(s *standing) (journal.Decided, error) {
		if err := s.mergeable(); err != nil {
			return journal.Decided{}, err
		}
		if !s.done {
			return journal.Decided{}, notDone(s, "approve")
		}
		return e.decide(s, journal.Decided{What: decidedApproved}, nil)
	})
}

// mostReason is the longest reason of a rejection, in bytes: it is put into the
// prompt, where a longer one would leave no room for the rest.
const mostReason = 8 << 10

// Reject moves the stage's outputs into history. The next run of the stage is
// given both them and the reason.
func (e *Engine) Reject(stage, reason string) (journal.Decided, error) {
	if strings.TrimSpace(reason) == "" {
		return journal.Decided{}, usage("say why with --reason", "a rejection needs a reason, which the next run is given")
	}
	if len(reason) > mostReason {
		return journal.Decided{}, usage("say it shorter, or write it into a file that the stage reads",
			"the reason has %d bytes, more than %d, and every further run of the stage would be given it", len(reason), mostReason)
	}
	return e.deciding(stage, func(s *standing) (journal.Decided, error) {
		if len(s.hashes()) == 0 || s.rejected {
			return journal.Decided{}, notDone(s, "reject")
		}
		d, err := e.decide(s, journal.Decided{What: decidedRejected, Reason: reason}, s.files)
		if err != nil {
			return d, err
		}
		return d, e.clear(s)
	})
}

// Answer says what became of the calls with effects that the stage's last run
// started and did not confirm.
func (e *Engine) Answer(stage string, a Answer) (journal.Decided, error) {
	switch a {
	case AnswerDone, AnswerRepeat, AnswerSkip:
	default:
		return journal.Decided{}, usage("", "%q is not an answer; say done, repeat or skip", a)
	}
	return e.deciding(stage, func(s *standing) (journal.Decided, error) {
		if len(s.past.Unknown) == 0 {
			return journal.Decided{}, usage("towpath status shows what waits for a person", "no call of %s waits for an answer", s.st.Name)
		}
		var last journal.Decided
		for _, call := range s.past.Unknown {
			var err error
			last, err = e.decide(s, journal.Decided{What: decidedAnswered, Answer: string(a), Call: call.Key, RunName: s.past.Run}, nil)
			if err != nil {
				return last, err
			}
		}
		return last, nil
	})
}

func notDone(s *standing, what string) error {
	return usage("towpath status says where it stands", "there is nothing to %s: %s has no output", what, s.st.Name)
}

// deciding takes the lock for the time of one decision.
func (e *Engine) deciding(stage string, decide func(*standing) (journal.Decided, error)) (d journal.Decided, err error) {
	st, err := e.stage(stage)
	if err != nil {
		return journal.Decided{}, err
	}
	lock, err := e.cfg.Tree.Lock(e.cfg.Dir)
	if err != nil {
		return journal.Decided{}, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	s, err := e.stand(st)
	if err != nil {
		return journal.Decided{}, err
	}
	return decide(s)
}

// decide writes a decision as an entry of its own, with the files that go with
// it.
func (e *Engine) decide(s *standing, d journal.Decided, files []found) (journal.Decided, error) {
	if d.RunName == "" {
		d.RunName = s.past.Wrote
	}
	d.Hashes, d.Edited, d.Actor = s.hashes(), s.edited, e.cfg.Actor
	run, err := e.create(s.st)
	if err != nil {
		return d, err
	}
	for _, f := range files {
		if !f.there {
			continue
		}
		if _, err := run.Keep(keptName(f.show), f.data); err != nil {
			return d, errors.Join(err, run.Close())
		}
	}
	err = run.Append(journal.Event{Type: journal.Decision, Decision: &d})
	if err == nil {
		err = run.Append(journal.Event{Type: journal.Exit, Exit: &journal.Exited{How: HowDecided, Reason: s.st.Name + " was " + d.What}})
	}
	return d, errors.Join(err, run.Close())
}

// clear takes rejected outputs away, once history has them.
func (e *Engine) clear(s *standing) error {
	for _, f := range s.files {
		if !f.there {
			continue
		}
		if err := e.cfg.Tree.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("taking the rejected output %s away: %w", f.show, err)
		}
	}
	return nil
}

// rejectionOf gives what a person sent back and why, nil if the newest word on
// the stage is another.
func (e *Engine) rejectionOf(s *standing) (*prompt.Rejection, error) {
	d := verdict(s.past)
	if d == nil || d.What != decidedRejected {
		return nil, nil
	}
	run := e.entryOf(s.past, d)
	var texts []string
	for _, t := range s.files {
		if _, ok := d.Hashes[t.show]; !ok {
			continue
		}
		data, err := e.cfg.Tree.ReadFile(path.Join(e.cfg.Dir, "history", run, "outputs", keptName(t.show)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the reason stands without it
		}
		if err != nil {
			return nil, fmt.Errorf("reading the rejected output: %w", err)
		}
		texts = append(texts, string(data))
	}
	return &prompt.Rejection{Output: join(texts), Reason: d.Reason}, nil
}

// entryOf gives the run folder in which a decision stands.
func (e *Engine) entryOf(rec *journal.StageRecord, d *journal.Decided) string {
	for i := range rec.Decisions {
		if &rec.Decisions[i] == d {
			return rec.Decided[i].Run
		}
	}
	return ""
}

// recallRejection sets what a person sent back, and for a for-each each item's
// own piece of it, as long as nobody edited the joined file.
func (r *stageRun) recallRejection() error {
	var err error
	if r.rejection, err = r.e.rejectionOf(r.s); err != nil || r.rejection == nil {
		return err
	}
	if r.st.Contract.ForEach == nil || verdict(r.s.past).Edited {
		return nil
	}
	old, err := r.e.finished(r.st, []string{r.s.past.Wrote})
	if err != nil {
		return err
	}
	r.sentBack = map[string]string{}
	for _, o := range old {
		if pieces, ok := r.e.piecesOf(o); ok {
			r.sentBack[o.Title] = join(pieces)
		}
	}
	return nil
}

// rejectionFor gives an item its own piece of what was sent back, where the
// pieces are known, else all of it.
func (r *stageRun) rejectionFor(it workspace.Item) *prompt.Rejection {
	if r.rejection == nil {
		return nil
	}
	if piece, ok := r.sentBack[it.Title]; ok {
		return &prompt.Rejection{Output: piece, Reason: r.rejection.Reason}
	}
	return r.rejection
}

// writeInput writes the first stage's input.md. The one that was there is kept
// in history.
func (e *Engine) writeInput(text string) error {
	st := e.cfg.Workspace.Stages[0]
	name := path.Join(st.Dir, "input.md")
	data := []byte(tidy(text))
	if len(data) == 0 {
		return usage("write the text after --input", "the new input is empty")
	}
	old, err := e.cfg.Tree.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e.cfg.Tree.WriteFile(name, data)
	case err != nil:
		return fmt.Errorf("reading the old input: %w", err)
	case string(old) == string(data):
		return nil
	}
	s, err := e.stand(st)
	if err != nil {
		return err
	}
	before := found{target: target{path: name, show: e.show(name)}, there: true, data: old}
	if _, err := e.decide(s, journal.Decided{What: decidedInput}, []found{before}); err != nil {
		return err
	}
	return e.cfg.Tree.WriteFile(name, data)
}
