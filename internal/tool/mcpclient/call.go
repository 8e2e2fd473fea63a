package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"towpath/internal/tool"
)

// call runs one tool. Where the server forgot the session, which it says before
// it does anything, a new one is made and the call is sent once more.
func (s *Server) call(ctx context.Context, spec described, args json.RawMessage) (tool.Result, error) {
	for again := false; ; again = true {
		l, err := s.ready(ctx)
		if err != nil {
			return tool.Result{}, &tool.NotSentError{Err: err}
		}
		res, err := l.call(ctx, spec, args)
		if err == nil {
			s.good()
			return res, nil
		}
		if !errors.Is(err, errSessionLost) || again {
			return tool.Result{}, err
		}
		s.cfg.Note(fmt.Sprintf("the server %s forgot the session; a new one is made", s.cfg.Name))
		l.lost.Store(true)
		s.drop(l)
	}
}

// call sends one call and waits for its answer, as long as the server makes
// progress, and never beyond the ceiling: whatever the SDK waits for ends with
// the context.
func (l *link) call(ctx context.Context, spec described, args json.RawMessage) (tool.Result, error) {
	l.calls.Add(1)
	defer l.calls.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.server.closing, func() { cancel(l.server.closedError()) })
	defer stop()
	most := time.Now().Add(l.server.time.Most)
	patience := time.AfterFunc(l.server.time.Call, func() {
		if time.Now().Before(most) {
			cancel(errNoAnswer)
		} else {
			cancel(errTooLong)
		}
	})
	// What is left of a response is read after its result: ending the context at
	// once would cost the connection.
	defer patience.Reset(farewell)
	token := l.watch(func(string) { patience.Reset(min(l.server.time.Call, time.Until(most))) })
	defer l.unwatch(token)

	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	sent, c := catching(ctx)
	params := &mcp.CallToolParams{Name: spec.Name, Arguments: args}
	params.SetProgressToken(token)
	res, err := l.session.CallTool(sent, params)
	return l.answered(ctx, spec, res, c.get(), err)
}

// farewell is how long what belongs to a finished call may live on.
const farewell = time.Second

// watch has f called when the server reports progress of the call that carries
// the token.
func (l *link) watch(f func(message string)) (token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens++
	token = "t" + strconv.Itoa(l.tokens)
	l.progress[token] = f
	return token
}

func (l *link) unwatch(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.progress, token)
}

func (l *link) progressed(token, message string) {
	l.mu.Lock()
	f := l.progress[token]
	l.mu.Unlock()
	if f != nil {
		f(message)
	}
}

// answered turns what came of a call into its result.
func (l *link) answered(ctx context.Context, spec described, res *mcp.CallToolResult, raw json.RawMessage, err error) (tool.Result, error) {
	name := l.server.cfg.Name
	if err == nil {
		return result(spec, raw, res)
	}
	rpc := answerIn(err)
	switch {
	case rpc != nil:
		return l.refused(spec, rpc)
	case ctx.Err() != nil:
		return tool.Result{}, l.givenUp(ctx, spec)
	case raw != nil: // the server answered, in a shape that the SDK does not read
		if r, err := result(spec, raw, nil); err == nil {
			return r, nil
		}
		return tool.Result{Text: fmt.Sprintf("the answer of %s to %s cannot be read: %s", name, spec.Name, err), IsError: true}, nil
	case l.proc == nil && neverSent(err):
		return tool.Result{}, &tool.NotSentError{Err: fmt.Errorf("the server %s cannot be reached: %s", name, l.server.cfg.Hide(plain(err)))}
	case !l.aliveSoon():
		return tool.Result{}, fmt.Errorf("the server %s ended during the call of %s: %s", name, spec.Name, l.lastWords())
	}
	return tool.Result{}, fmt.Errorf("the call of %s on the server %s failed: %s", spec.Name, name, l.server.cfg.Hide(plain(err)))
}

// aliveSoon gives a process that just closed its output a moment to be gone, so
// that its last words can be told.
func (l *link) aliveSoon() bool {
	if l.proc == nil {
		return l.alive()
	}
	t := time.NewTimer(200 * time.Millisecond)
	defer t.Stop()
	select {
	case <-l.proc.Ended():
		return false
	case <-t.C:
		return l.alive()
	}
}

// givenUp says why a call was not waited for any longer.
func (l *link) givenUp(ctx context.Context, spec described) error {
	name := l.server.cfg.Name
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errNoAnswer):
		return fmt.Errorf("%s of the server %s gave no answer and no sign of progress within %s, and was cancelled; if it needs longer, set servers.%s.call_timeout",
			spec.Name, name, l.server.time.Call, name)
	case errors.Is(cause, errTooLong):
		return fmt.Errorf("%s of the server %s was cancelled after %s, the most that a call may take; servers.%s.call_limit sets that",
			spec.Name, name, l.server.time.Most, name)
	case l.server.closing.Err() != nil:
		return cause
	}
	return ctx.Err()
}

// refused is an error that the server, or what stands before it, answered with.
// The model reads it.
func (l *link) refused(spec described, e *rpcError) (tool.Result, error) {
	switch e.Code {
	case codeLost:
		return tool.Result{}, errSessionLost
	case codeLocal:
		return tool.Result{Text: fmt.Sprintf("%s failed: %s", spec.Name, l.server.cfg.Hide(e.Message)), IsError: true}, nil
	}
	text := e.Message
	if len(e.Data) > 0 && len(e.Data) < 2000 && string(e.Data) != "null" {
		text += " " + string(e.Data)
	}
	return tool.Result{Text: fmt.Sprintf("the server refused the call: %s (%d)", text, e.Code), IsError: true, Untrusted: !spec.closed}, nil
}
