package journal

import (
	"context"
	"fmt"
)

// Scope is what a call in flight knows of the run that it belongs to. It
// travels in the context.
type Scope struct {
	Run     *Run
	Stage   string // the stage folder's name
	Item    int    // from 1; 0 outside a for-each
	Of      int    // number of items
	Purpose string // what the model is asked for: "turn", "output", ...
	Past    *Past  // what an interrupted run knows already; nil is nothing
}

type scopeKey struct{}

// With gives the context a scope.
func With(ctx context.Context, s Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// From gives the context's scope; false outside a run.
func From(ctx context.Context) (Scope, bool) {
	s, ok := ctx.Value(scopeKey{}).(Scope)
	return s, ok && s.Run != nil
}

// Append writes an event with the scope's stage and item.
func (s Scope) Append(e Event) error {
	if s.Run == nil {
		return fmt.Errorf("writing an event of type %s: there is no run", e.Type)
	}
	return s.Run.Append(s.fill(e))
}

// Transient shows an event with the scope's stage and item, and writes nothing.
func (s Scope) Transient(e Event) {
	if s.Run != nil {
		s.Run.Transient(s.fill(e))
	}
}

func (s Scope) fill(e Event) Event {
	if e.Stage == "" {
		e.Stage = s.Stage
	}
	if e.Item == 0 {
		e.Item, e.Of = s.Item, s.Of
	}
	return e
}
