package agent

import (
	"context"

	"towpath/internal/model"
)

// Run makes one turn: it calls the model and runs tools until the model gives a
// text that can be accepted, or a limit cuts the turn short (see Outcome.Stop).
// The outcome is filled as far as the turn came, also beside an error. Errors are
// a *model.Error, a *ReplyError, a *LeaveError, a *tool.UnknownCallError, or the
// context's.
func Run(ctx context.Context, t Turn, messages []model.Message) (Outcome, error) {
	return Outcome{}, nil
}

// Ask asks for one more text in the conversation that an Outcome left: one call
// without tools, under the same rules of acceptance.
func Ask(ctx context.Context, t Turn, messages []model.Message, text string) (Outcome, error) {
	t.Offers, t.Required = nil, nil
	more := append(append([]model.Message{}, messages...), model.Message{Role: model.RoleUser, Text: text})
	return Run(ctx, t, more)
}
