package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
)

// Journaled records every call of t in the run that the context belongs to:
// the intent before, the result after. root names the first run of a chain of
// resumes, so that the same call has the same key in all of them. A call that
// an interrupted run finished is answered from its journal; one that has effects
// and was started but not finished is an *UnknownCallError.
func Journaled(t Tool, root string) Tool {
	return &journaled{tool: t, root: root, count: map[string]int{}}
}

// WithCallID notes the id that the model gave to the call, for the journal.
func WithCallID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callIDKey{}, id)
}

type callIDKey struct{}

// UnknownCallError is a call with effects that an interrupted run started: it
// may or may not have happened, and a person has to say.
type UnknownCallError struct {
	Key  string
	Spec Spec
	Args json.RawMessage
}

// Error says what is unknown and how to answer.
func (e *UnknownCallError) Error() string {
	return fmt.Sprintf("the call %s %s %s was started before the interruption and nothing says whether it was done; "+
		"look, then say so with towpath answer STAGE done, repeat or skip", e.Spec.Server, e.Spec.Name, e.Args)
}

type journaled struct {
	tool Tool
	root string

	mu    sync.Mutex
	count map[string]int
}

// Spec is that of the tool.
func (j *journaled) Spec() Spec { return j.tool.Spec() }

// Call runs the tool, or answers from the journal.
func (j *journaled) Call(ctx context.Context, args json.RawMessage) (Result, error) {
	return j.tool.Call(ctx, args)
}
