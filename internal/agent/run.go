package agent

import (
	"context"
	"fmt"
	"strings"

	"towpath/internal/model"
	"towpath/internal/prompt"
)

// Run makes one turn: it calls the model and runs tools until the model gives a
// text that can be accepted, or a limit cuts the turn short (see Outcome.Stop).
// The outcome is filled as far as the turn came, also beside an error. Errors are
// a *model.Error, a *ReplyError, a *LeaveError, a *tool.UnknownCallError, or the
// context's.
func Run(ctx context.Context, t Turn, messages []model.Message) (Outcome, error) {
	r, err := begin(t, messages)
	if err == nil {
		err = r.run(ctx)
	}
	r.out.Messages = r.messages
	return r.out, err
}

// Ask asks for one more text in the conversation that an Outcome left: one call
// without tools, under the same rules of acceptance.
func Ask(ctx context.Context, t Turn, messages []model.Message, text string) (Outcome, error) {
	t.Offers, t.Required = nil, nil
	more := append(append([]model.Message{}, messages...), model.Message{Role: model.RoleUser, Text: text})
	return Run(ctx, t, more)
}

// cut is the reason for which a turn is cut short.
type cut struct {
	stop   Stop
	reason string
}

func (r *turn) run(ctx context.Context) error {
	timed, cancel := context.WithTimeoutCause(ctx, r.Limits.Time, errTime)
	defer cancel()
	over := &cut{StopTime, fmt.Sprintf("the time limit of %s was reached", r.Limits.Time)}
	for {
		if c := r.spent(); c != nil {
			return r.cutShort(ctx, c)
		}
		reply, err := r.send(timed, r.choice(), r.defs)
		if err == nil && len(reply.ToolCalls) > 0 {
			var c *cut
			missing := r.unmet() != nil
			c, err = r.callTools(timed, reply)
			if err == nil && c != nil {
				return r.cutShort(ctx, c)
			}
			if err == nil {
				if missing && r.unmet() == nil {
					r.note(r.ready())
				}
				continue
			}
		}
		done := false
		if err == nil {
			done, err = r.judge(timed, reply)
		}
		if err != nil && timeOver(timed, ctx) {
			return r.cutShort(ctx, over)
		}
		if err != nil {
			return err
		}
		if done {
			r.out.Stop = StopAnswered
			return nil
		}
	}
}

// longTask is the size, in tokens, from which a task is not repeated.
const longTask = 600

// ready follows the result that satisfied the contract's required tools. Small
// models otherwise forget, over a long result, what they were asked to write, and
// copy the result. The task is said again because what stands last weighs most.
func (r *turn) ready() string {
	s := "every required tool was used. Unless the task still needs a tool, now give your answer, " +
		"in the form and length that the task asks for."
	if task := strings.TrimSpace(r.Task); task != "" && prompt.Estimate(task) <= longTask {
		s += " The task again:\n\n" + task + "\n\n"
	}
	return s
}

// spent reserves the tokens of the next call, and of the last one after it.
func (r *turn) spent() *cut {
	if r.Limits.Tokens <= 0 {
		return nil
	}
	need := r.real(r.estimate(r.messages, r.defs)) + r.maxReply
	if r.out.Tokens > 0 && r.Final != "" {
		need *= 2
	}
	if r.out.Tokens+need <= r.Limits.Tokens {
		return nil
	}
	return &cut{StopTokens, fmt.Sprintf("the limit of %d tokens is reached: %d are spent, and the next call needs up to %d",
		r.Limits.Tokens, r.out.Tokens, need)}
}

// cutShort makes the last call, without tools, that asks for the result from
// what was gathered.
func (r *turn) cutShort(ctx context.Context, c *cut) error {
	r.out.Stop, r.out.Reason = c.stop, c.reason
	if group := r.unmet(); group != nil {
		return r.requiredError(group, c.reason)
	}
	if r.Final == "" {
		return nil
	}
	r.nudge(r.Final)
	for {
		if r.Limits.Tokens > 0 {
			need := r.real(r.estimate(r.messages, nil)) + r.maxReply
			if r.out.Tokens+need > r.Limits.Tokens {
				r.out.Reason += fmt.Sprintf("; no last call was made, since it needs up to %d tokens", need)
				return nil
			}
		}
		reply, err := r.send(ctx, model.ChoiceAuto, nil)
		if err != nil {
			return err
		}
		if len(reply.ToolCalls) > 0 { // none was offered
			reply.ToolCalls = nil
		}
		done, err := r.judge(ctx, reply)
		if err != nil || done {
			return err
		}
	}
}

// choice forces a required tool where the server can hold the model to it. After
// a few forced calls that did not satisfy the contract, the model is asked again
// in words.
func (r *turn) choice() model.ToolChoice {
	const patience = 3
	group := r.unmet()
	if group == nil || !r.Info.Required || r.forced >= patience {
		return model.ChoiceAuto
	}
	r.forced++
	if len(group) == 1 {
		return model.ToolChoice(group[0])
	}
	return model.ChoiceRequired
}

func (r *turn) requiredError(group []string, reason string) error {
	e := &ReplyError{Kind: FaultRequired, Model: r.Info.ID,
		Message: "the stage requires a call of " + strings.Join(group, " or ") + ", and the model answered without one"}
	for _, name := range group {
		if why := r.failed[name]; why != "" {
			e.Message = fmt.Sprintf("the stage requires a call of %s that succeeds, and the last call of %s failed: %s",
				strings.Join(group, " or "), name, why)
		}
	}
	if reason != "" {
		e.Message += "; " + reason
	}
	e.Mend = "take a model that calls tools, or leave out (required) in the contract"
	return e
}
