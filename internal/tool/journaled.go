package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"towpath/internal/journal"
	"towpath/internal/schema"
)

// Journaled records every call of t in the run that the context belongs to:
// the intent before, the result after. root names the first run of a chain of
// resumes: a call's key is made from it, stage, item, tool, arguments and how
// often that same call came before, so that the same call has the same key in
// every run of the chain. A call that an interrupted run finished is answered
// from its journal; one that has effects and was started but not finished is an
// *UnknownCallError, until a person has answered. One Journaled serves a whole
// run of a stage, its items included.
func Journaled(t Tool, root string) Tool {
	return &journaled{tool: t, root: root, count: map[string]int{}}
}

// WithCallID notes the id that the model gave to the call, for the journal.
func WithCallID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callIDKey{}, id)
}

type callIDKey struct{}

// UnknownCallError is a call with effects that was started and not confirmed,
// in an interrupted run or because its server failed: it may or may not have
// happened, and a person has to say.
type UnknownCallError struct {
	Key  string
	Spec Spec
	Args json.RawMessage
	Err  error // why it was not confirmed; nil: the run was interrupted
}

// Error says what is unknown and how to answer.
func (e *UnknownCallError) Error() string {
	why := "the run was interrupted"
	if e.Err != nil {
		why = e.Err.Error()
	}
	return fmt.Sprintf("the call %s %s %s was started and nothing says whether it was done (%s); "+
		"look, then say so with towpath answer STAGE done, repeat or skip", e.Spec.Server, e.Spec.Name, e.Args, why)
}

// Unwrap gives the cause.
func (e *UnknownCallError) Unwrap() error { return e.Err }

type journaled struct {
	tool Tool
	root string

	mu    sync.Mutex
	count map[string]int // calls so far, by all of the key but the count
}

// Spec is that of the tool.
func (j *journaled) Spec() Spec { return j.tool.Spec() }

// Call runs the tool, or answers from the journal.
func (j *journaled) Call(ctx context.Context, args json.RawMessage) (Result, error) {
	scope, ok := journal.From(ctx)
	if !ok {
		return j.tool.Call(ctx, args)
	}
	spec := j.tool.Spec()
	id, _ := ctx.Value(callIDKey{}).(string)
	key := j.key(scope, spec, args)
	known, state := scope.Past.Result(key)
	switch state {
	case journal.StateDone:
		return fromPast(scope, known)
	case journal.StateUnknown:
		return Result{}, &UnknownCallError{Key: key, Spec: spec, Args: args}
	case journal.StateAnsweredDone:
		return Result{Text: "A person confirmed that this call was made before an interruption. What it gave is not known."}, nil
	case journal.StateAnsweredSkip:
		return Result{Text: "A person decided that this call is not to be made. Go on without it.", IsError: true}, nil
	}
	body, err := scope.Run.Body(string(args))
	if err != nil {
		return Result{}, fmt.Errorf("journalling a call of %s: %w", spec.Name, err)
	}
	err = scope.Append(journal.Event{Type: journal.ToolCall, Call: &journal.Call{
		Key: key, ID: id, Server: spec.Server, Tool: spec.Name, Arguments: body, ReadOnly: spec.ReadOnly}})
	if err != nil {
		return Result{}, fmt.Errorf("journalling a call of %s: %w", spec.Name, err)
	}
	began := time.Now()
	result, callErr := j.tool.Call(ctx, args)
	if err := record(scope, result, callErr, key, id, time.Since(began)); err != nil {
		return Result{}, errors.Join(callErr, err)
	}
	var unsent *NotSentError
	if callErr != nil && !spec.ReadOnly && ctx.Err() == nil && !errors.As(callErr, &unsent) { // it was sent, and nothing says how far it came
		return result, &UnknownCallError{Key: key, Spec: spec, Args: args, Err: callErr}
	}
	return result, callErr
}

// key names the call. It is made from what the call says, not from where it
// stands among others.
func (j *journaled) key(scope journal.Scope, spec Spec, args json.RawMessage) string {
	canonical, err := schema.Canonical(args)
	if err != nil {
		canonical = args
	}
	what := strings.Join([]string{j.root, scope.Stage, fmt.Sprint(scope.Item), spec.Server, spec.Name, string(canonical)}, "\x00")
	j.mu.Lock()
	j.count[what]++
	n := j.count[what]
	j.mu.Unlock()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", what, n))
	return hex.EncodeToString(sum[:])
}

// record writes what a call gave.
func record(scope journal.Scope, r Result, callErr error, key, id string, took time.Duration) error {
	text, err := scope.Run.Body(r.Text)
	if err != nil {
		return fmt.Errorf("journalling a tool's result: %w", err)
	}
	out := journal.Result{Key: key, ID: id, Text: text, Structured: r.Structured, IsError: r.IsError, Untrusted: r.Untrusted, Elapsed: took}
	for _, s := range r.Sources {
		out.Sources = append(out.Sources, s.URL)
	}
	if callErr != nil {
		out.Error = callErr.Error()
	}
	if err := scope.Append(journal.Event{Type: journal.ToolResult, Result: &out}); err != nil {
		return fmt.Errorf("journalling a tool's result: %w", err)
	}
	return nil
}

// fromPast gives a result that an interrupted run had received already.
func fromPast(scope journal.Scope, known journal.Result) (Result, error) {
	text, err := scope.Past.Text(known.Text)
	if err != nil {
		return Result{}, fmt.Errorf("reading a tool's result of the interrupted run %s: %w", known.From, err)
	}
	r := Result{Text: text, Structured: known.Structured, IsError: known.IsError, Untrusted: known.Untrusted}
	for _, url := range known.Sources {
		r.Sources = append(r.Sources, Source{URL: url})
	}
	if err := scope.Append(journal.Event{Type: journal.ToolResult, Result: &known}); err != nil {
		return Result{}, fmt.Errorf("journalling a tool's result: %w", err)
	}
	return r, nil
}
