// Package chat is a conversation between a person and the agent that runs
// stages: the same turns, tools, limits and journal, one question after
// another. What is said is kept within the model's window, recorded in a run
// named chat, and can be taken up again from that record.
//
// A Session belongs to one goroutine. What Config gives it may be called from
// the goroutine of a turn.
package chat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"towpath/internal/agent"
	"towpath/internal/durable"
	"towpath/internal/engine"
	"towpath/internal/journal"
	"towpath/internal/prompt"
	"towpath/internal/tool"
)

// Stage is the name under which conversations stand in a history.
const Stage = "chat"

// Source gives a session its model and its tools.
type Source interface {
	// Model gives a model ready to be called; "" is the one that the settings
	// name, else one that is there.
	Model(ctx context.Context, id string) (engine.Chosen, error)
	// Models lists the names of the models that can be used.
	Models(ctx context.Context) []string
	// Tools starts every server that is there. A server that cannot be started
	// is a note.
	Tools(ctx context.Context) (servers []tool.Server, notes []string)
}

// Config is what a Session is made of.
type Config struct {
	Tree    *durable.Tree // where the record is kept
	Dir     string        // tree path of the folder whose history/ holds it
	Source  Source
	System  *prompt.Context  // what the model is told before everything: its System, Parts, Files
	Limits  agent.Limits     // of each turn
	Secrets []string         // values that must not reach the record
	Clock   func() time.Time // nil is time.Now
	Observe func(journal.Event)
	// Approve asks the person for leave to make a call with effects; nil means
	// that nobody can be asked: such a call ends the turn with a *NoLeaveError.
	Approve  func(ctx context.Context, q Question) (Leave, error)
	Attended bool   // a person is at the terminal
	Version  string // of the program
}

// Question asks for leave to make a call.
type Question = agent.Question

// Leave is a person's answer to a Question.
type Leave int

// The answers.
const (
	No     Leave = iota
	Once         // this call
	Always       // this tool, as long as the session lasts
)

// NoLeaveError is a call with effects where nobody can be asked.
type NoLeaveError struct{ Question }

// Error says what waits for leave.
func (e *NoLeaveError) Error() string {
	return fmt.Sprintf("the call %s %s %s may change something, and nobody is here to allow it; start towpath chat at a terminal to be asked",
		e.Spec.Server, e.Spec.Name, e.Arguments)
}

// ExitCode is 4: a person has to decide.
func (e *NoLeaveError) ExitCode() int { return engine.CodePerson }

// Session is one conversation.
type Session struct {
	cfg     Config
	now     func() time.Time
	chosen  engine.Chosen
	run     *journal.Run
	resumes string // run that this one goes on from
	talk    talk
	tools   tools
	last    string // the last answer
	watch   watch
}

// New makes a session and finds its model; "" takes what the settings say.
// Nothing is written before the first question.
func New(ctx context.Context, cfg Config, model string) (*Session, error) {
	s := &Session{cfg: cfg, now: cfg.Clock}
	if s.now == nil {
		s.now = time.Now
	}
	if s.cfg.Observe == nil {
		s.cfg.Observe = func(journal.Event) {}
	}
	if s.cfg.System == nil {
		s.cfg.System = &prompt.Context{}
	}
	s.tools.granted = map[[2]string]grant{}
	return s, s.Use(ctx, model)
}

// Use goes on with another model. After an error the session keeps the one it
// had.
func (s *Session) Use(ctx context.Context, id string) error {
	chosen, err := s.cfg.Source.Model(ctx, id)
	if err != nil {
		return err
	}
	s.chosen = chosen
	s.talk.window(chosen)
	return nil
}

// Model names the model in use, as provider/model.
func (s *Session) Model() string { return s.chosen.Info.ID }

// Models lists the models that can be used.
func (s *Session) Models(ctx context.Context) []string { return s.cfg.Source.Models(ctx) }

// ID is the name of the session's run, "" before the first question.
func (s *Session) ID() string {
	if s.run == nil {
		return ""
	}
	return s.run.Name()
}

// Last is the last answer, "" before the first.
func (s *Session) Last() string { return s.last }

// Turns is the number of questions that the model still sees.
func (s *Session) Turns() int { return len(s.talk.rounds) }

// Text gives the text of a body in one of the session's events.
func (s *Session) Text(b journal.Body) (string, error) {
	return journal.Open(s.cfg.Tree, s.cfg.Dir).Text(b)
}

// Hides reports whether a text holds what must not be kept: a configured secret
// or what looks like a credential.
func (s *Session) Hides(text string) bool { return journal.Hides(text, s.cfg.Secrets) }

// Clear begins the conversation anew: the model forgets what was said. The
// record keeps it.
func (s *Session) Clear() error {
	s.talk.rounds, s.last = nil, ""
	s.talk.dropped = 0
	if s.run == nil {
		s.resumes = ""
		return nil
	}
	return s.run.Append(journal.Event{Type: journal.Cleared})
}

// Close ends the session: tool servers are stopped, the record is closed. It
// may be called twice.
func (s *Session) Close() error {
	errs := []error{s.tools.close()}
	if s.run != nil {
		exit := &journal.Exited{How: engine.HowEnded}
		errs = append(errs, s.run.Append(journal.Event{Type: journal.Exit, Exit: exit}), s.run.Close())
		s.run = nil
	}
	return errors.Join(errs...)
}

// begin writes the first events of the session's run.
func (s *Session) begin(ctx context.Context) error {
	if err := s.openTools(ctx); err != nil {
		return err
	}
	if s.run != nil {
		return nil
	}
	run, err := journal.Create(s.cfg.Tree, s.cfg.Dir, Stage, journal.Options{
		Clock: s.now, Secrets: s.cfg.Secrets, Observe: s.cfg.Observe,
	})
	if err != nil {
		return err
	}
	s.run = run
	s.tools.root = run.Name()
	started := &journal.Started{
		Towpath: s.cfg.Version, Inputs: s.cfg.System.Files, Model: s.chosen.Info.ID,
		Resumes: s.resumes, Attended: s.cfg.Attended,
	}
	if err := run.Append(journal.Event{Type: journal.RunStarted, Started: started}); err != nil {
		return err
	}
	built := &journal.Context{Tokens: s.cfg.System.Tokens, Tools: s.tools.tokens, Window: s.chosen.Info.Window,
		Hash: s.cfg.System.Hash}
	for _, p := range s.cfg.System.Parts {
		built.Files = append(built.Files, journal.ContextFile{Path: p.Path, Layer: int(p.Layer), Bytes: p.Bytes, Tokens: p.Tokens, Hash: p.Hash})
	}
	return run.Append(journal.Event{Type: journal.ContextBuilt, Context: built})
}

// tell shows the person something that is no part of the record.
func (s *Session) tell(kind journal.Type, note string) {
	e := journal.Event{V: journal.Version, Time: s.now().UTC(), Type: kind, Stage: Stage, Note: note}
	if s.run != nil {
		s.run.Transient(e)
		return
	}
	s.cfg.Observe(e)
}
