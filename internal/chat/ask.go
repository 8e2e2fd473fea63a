package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"towpath/internal/agent"
	"towpath/internal/journal"
	"towpath/internal/model"
	"towpath/internal/prompt"
)

// Answer is what came of one question.
type Answer struct {
	Text    string // "" where the turn was cut short
	Stop    agent.Stop
	Reason  string // why it was cut short, one sentence for a person
	Calls   int    // tool calls that ran
	Tokens  int    // prompt and output of all calls, as reported, else estimated
	Dropped int    // rounds that went to make room
}

// MaxQuestion is the longest question, in bytes.
const MaxQuestion = 4 << 20

// Ask makes one turn. Whatever its end, the conversation holds the question and
// what came of it. An error is one of agent.Run, a *NoLeaveError, or one of the
// record. An ended context ends the turn and nothing else.
func (s *Session) Ask(ctx context.Context, question string) (Answer, error) {
	switch {
	case strings.TrimSpace(question) == "":
		return Answer{}, errors.New("the question is empty")
	case len(question) > MaxQuestion:
		return Answer{}, fmt.Errorf("the question has %d MiB; %d MiB is the most", len(question)>>20, MaxQuestion>>20)
	}
	if err := s.begin(ctx); err != nil {
		return Answer{}, err
	}
	said, err := s.run.Body(question)
	if err != nil {
		return Answer{}, err
	}
	if err := s.run.Append(journal.Event{Type: journal.Said, Said: &said}); err != nil {
		return Answer{}, err
	}
	dropped := s.makeRoom(question)
	out, err := s.turn(ctx, question)
	a := Answer{Text: out.Text, Stop: out.Stop, Reason: out.Reason, Calls: out.Calls, Tokens: out.Tokens, Dropped: dropped}
	if err == nil && out.Stop == agent.StopAnswered {
		s.last = out.Text
	}
	return a, errors.Join(err, s.keep(question, out, err))
}

// makeRoom drops the oldest rounds that do not fit beside the question.
func (s *Session) makeRoom(question string) int {
	n := s.talk.trim(s.fixed(question), len(s.offers()) > 0)
	if n > 0 {
		s.tell(journal.Notice, fmt.Sprintf("%d of the oldest questions and answers no longer fit the window and are left out from here on", n))
	}
	return n
}

// fixed is what is sent beside the rounds, in estimated tokens.
func (s *Session) fixed(question string) int {
	n := s.cfg.System.Tokens + prompt.Estimate(question) + 2*perMessage
	if len(s.offers()) > 0 {
		n += s.tools.tokens
	}
	return n
}

// turn runs the agent. A server that says only now how small its window is
// makes more room.
func (s *Session) turn(ctx context.Context, question string) (agent.Outcome, error) {
	const tries = 3
	for n := 1; ; n++ {
		s.watch = watch{session: s}
		scope := journal.Scope{Run: s.run, Stage: Stage, Purpose: "turn"}
		out, err := agent.Run(journal.With(ctx, scope), s.agentTurn(scope), s.talk.messages(s.cfg.System.System, question))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.KindOverflow || out.Calls > 0 || n == tries || len(s.talk.rounds) == 0 {
			return out, err
		}
		if s.makeRoom(question) == 0 {
			s.talk.shrink(s.talk.tokens() / 2)
			s.tell(journal.Notice, "the conversation does not fit the server's window; its older half is left out from here on")
		}
	}
}

func (s *Session) agentTurn(scope journal.Scope) agent.Turn {
	info := s.chosen.Info
	info.Window = s.talk.size
	t := agent.Turn{
		Model: &meter{s.chosen.Model, s}, Info: info, Offers: s.offers(), Limits: s.cfg.Limits,
		MaxReply: s.talk.reply, Temp: s.chosen.Temp, Thinking: s.chosen.Thinking,
		Seed: s.run.Name(), Approve: s.approve, Conversation: true,
		Observe: func(ev agent.Event) { s.observe(scope, ev) },
	}
	if s.chosen.Seed != "" {
		t.Seed = s.chosen.Seed
	}
	for _, p := range s.cfg.System.Parts {
		t.Parts = append(t.Parts, agent.Part{Name: p.Path, Tokens: p.Tokens})
	}
	return t
}

// watch is what was seen of the turn in flight.
type watch struct {
	session *Session
	partial strings.Builder // text of the reply in flight
}

const mostPartial = 1 << 20 // bytes of a reply in flight that are kept

// observe passes on what the agent does on its own account.
func (s *Session) observe(scope journal.Scope, ev agent.Event) {
	switch ev.Kind {
	case "nudge", "trim":
		_ = scope.Append(journal.Event{Type: journal.Nudge, Note: ev.Note}) // what cannot be written fails at the next event that matters
	case "warning":
		scope.Transient(journal.Event{Type: journal.Warning, Note: ev.Note})
	case "waiting":
		s.watch.partial.Reset()
		scope.Transient(journal.Event{Type: journal.Waiting, Note: ev.Note})
	case "delta":
		if ev.Delta.Text != "" {
			if s.watch.partial.Len() < mostPartial {
				s.watch.partial.WriteString(ev.Delta.Text)
			}
			scope.Transient(journal.Event{Type: journal.TextDelta, Note: ev.Delta.Text})
		}
		if ev.Delta.Reasoning != "" {
			scope.Transient(journal.Event{Type: journal.ReasoningDelta, Note: ev.Delta.Reasoning})
		}
	}
}

// meter learns from each call how the server counts, and forgets what a call
// that is over had streamed.
type meter struct {
	model.Model
	session *Session
}

// Call passes the call on.
func (m *meter) Call(ctx context.Context, req model.Request, stream func(model.Delta)) (model.Reply, error) {
	m.session.watch.partial.Reset()
	reply, err := m.Model.Call(ctx, req, stream)
	t := &m.session.talk
	size := m.session.toolShare(req)
	for _, msg := range req.Messages {
		size += sizeOf(msg)
	}
	var e *model.Error
	switch {
	case err == nil:
		m.session.watch.partial.Reset()
		if p := reply.Usage.Prompt; p != nil {
			t.learn(size, *p)
		}
	case errors.As(err, &e) && e.Kind == model.KindOverflow:
		t.limit(e.Window)
		t.limit(int(float64(size) * t.scale)) // so much did not fit
	}
	return reply, err
}

func (s *Session) toolShare(req model.Request) int {
	if len(req.Tools) == 0 {
		return 0
	}
	return s.tools.tokens
}

// keep puts the round into the conversation and into the record.
func (s *Session) keep(question string, out agent.Outcome, failed error) error {
	messages := roundOf(question, out.Messages)
	if why := ending(out, failed); why != "" {
		messages = closed(messages, s.watch.partial.String(), why)
	}
	s.talk.rounds = append(s.talk.rounds, newRound(messages))
	turned := &journal.Turned{Stop: string(out.Stop), Reason: out.Reason}
	if failed != nil {
		turned.Stop, turned.Error = "failed", failed.Error()
		if errors.Is(failed, context.Canceled) {
			turned.Stop, turned.Error = "interrupted", ""
		}
	}
	for _, m := range messages[1:] {
		text, err := encode(m)
		if err != nil {
			return fmt.Errorf("keeping the conversation: %w", err)
		}
		body, err := s.run.Body(text)
		if err != nil {
			return err
		}
		turned.Messages = append(turned.Messages, body)
	}
	return s.run.Append(journal.Event{Type: journal.TurnEnded, Turned: turned})
}

// ending says for the model why a turn has no answer, "" if it has one.
func ending(out agent.Outcome, failed error) string {
	switch {
	case errors.Is(failed, context.Canceled):
		return "interrupted by the user"
	case failed != nil:
		return "the turn failed"
	case out.Stop != agent.StopAnswered:
		return "stopped: " + out.Reason
	}
	return ""
}

// roundOf cuts the last question, and what came of it, out of a conversation.
// What the program added to the question is left out.
func roundOf(question string, all []model.Message) []model.Message {
	round := []model.Message{{Role: model.RoleUser, Text: question}}
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Role == model.RoleUser && strings.HasPrefix(all[i].Text, question) {
			return append(round, all[i+1:]...)
		}
	}
	return round
}

// closed ends a round that has no answer in words of the assistant, so that the
// next question is a turn of its own.
func closed(messages []model.Message, partial, why string) []model.Message {
	note := "[" + why + "]"
	if strings.TrimSpace(partial) != "" {
		note = strings.TrimRight(partial, " \n") + "\n\n" + note
	}
	if last := len(messages) - 1; messages[last].Role == model.RoleAssistant && len(messages[last].ToolCalls) == 0 {
		messages[last].Text += "\n\n" + note
		return messages
	}
	return append(messages, model.Message{Role: model.RoleAssistant, Text: note})
}
