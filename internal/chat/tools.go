package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"towpath/internal/agent"
	"towpath/internal/prompt"
	"towpath/internal/tool"
	"towpath/internal/workspace"
)

// tools are what the session offers.
type tools struct {
	opened  bool
	root    string // of the keys of calls
	servers []tool.Server
	offers  []agent.Offer
	tokens  int // estimate for the offers
	notes   []string

	mu      sync.Mutex
	outside bool // text from outside was read in this session
	granted map[[2]string]grant
}

// grant is leave for a tool for as long as the session lasts. Leave that was
// given before text from outside was read does not hold after it: what the
// person knew then is no longer so.
type grant struct{ outside bool }

// Offered is a tool as the model is offered it.
type Offered struct {
	Name   string // as the model knows it
	Spec   tool.Spec
	Always bool // the person allowed it for this session
}

// Tools starts the servers, if they are not yet, and gives what is offered, and
// notes about what is not.
func (s *Session) Tools(ctx context.Context) ([]Offered, []string) {
	if err := s.openTools(ctx); err != nil {
		return nil, []string{err.Error()}
	}
	var out []Offered
	for _, o := range s.tools.offers {
		spec := o.Tool.(*asking).inner.Spec()
		_, always := s.tools.granted[[2]string{spec.Server, spec.Name}]
		out = append(out, Offered{Name: o.Name, Spec: spec, Always: always})
	}
	return out, s.tools.notes
}

// openTools starts the servers once. An error is the context's: then they are
// started with the next question.
func (s *Session) openTools(ctx context.Context) error {
	t := &s.tools
	if t.opened {
		return nil
	}
	t.opened = true
	t.servers, t.notes = s.cfg.Source.Tools(ctx)
	if err := ctx.Err(); err != nil {
		return errors.Join(err, t.close())
	}
	var open []tool.Server
	var grants []workspace.ToolGrant
	for _, srv := range t.servers {
		if _, err := srv.Tools(ctx); err != nil {
			t.notes = append(t.notes, fmt.Sprintf("%s: its tools cannot be listed: %s", srv.Name(), err))
			continue
		}
		open = append(open, srv)
		grants = append(grants, workspace.ToolGrant{Server: srv.Name(), All: true})
	}
	scope, err := tool.Open(ctx, grants, open)
	if err != nil {
		t.notes = append(t.notes, err.Error())
	}
	t.notes = append(t.notes, scope.Warnings...)
	var sized []prompt.Tool
	for _, o := range scope.Offers {
		spec := o.Tool.Spec()
		sized = append(sized, prompt.Tool{Name: o.Name, Description: spec.Description, Schema: spec.Input})
		t.offers = append(t.offers, agent.Offer{Name: o.Name, Tool: &asking{inner: o.Tool, session: s}})
	}
	t.tokens = prompt.EstimateTools(sized)
	return nil
}

// offers are the tools for a turn: none for a model that cannot call any.
func (s *Session) offers() []agent.Offer {
	if can := s.chosen.Info.Tools; can != nil && !*can {
		return nil
	}
	return s.tools.offers
}

func (t *tools) close() error {
	var errs []error
	for _, srv := range t.servers {
		if err := srv.Close(); err != nil {
			errs = append(errs, fmt.Errorf("stopping %s: %w", srv.Name(), err))
		}
	}
	t.servers, t.offers, t.opened = nil, nil, false
	return errors.Join(errs...)
}

// asking is a tool whose every call with effects needs leave: the agent asks
// for it where a tool is destructive. It is journalled beneath.
type asking struct {
	inner   tool.Tool
	session *Session
	once    sync.Once
	logged  tool.Tool
}

// Spec is that of the tool, with leave needed for effects.
func (a *asking) Spec() tool.Spec {
	spec := a.inner.Spec()
	spec.Destructive = spec.Destructive || !spec.ReadOnly
	return spec
}

// Call runs the tool and notes whether it read text from outside.
func (a *asking) Call(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	a.once.Do(func() { a.logged = tool.Journaled(a.inner, a.session.tools.root) })
	r, err := a.logged.Call(ctx, args)
	if r.Untrusted {
		t := &a.session.tools
		t.mu.Lock()
		t.outside = true
		t.mu.Unlock()
	}
	return r, err
}

// approve answers the agent's question from what the person said before, else
// asks.
func (s *Session) approve(ctx context.Context, q agent.Question) (bool, error) {
	t := &s.tools
	t.mu.Lock()
	q.Untrusted = q.Untrusted || t.outside
	key := [2]string{q.Spec.Server, q.Spec.Name}
	g, ok := t.granted[key]
	t.mu.Unlock()
	if ok && (g.outside || !q.Untrusted) {
		return true, nil
	}
	if s.cfg.Approve == nil {
		return false, &NoLeaveError{q}
	}
	leave, err := s.cfg.Approve(ctx, q)
	if err != nil {
		return false, err
	}
	if leave == Always {
		t.mu.Lock()
		t.granted[key] = grant{outside: q.Untrusted}
		t.mu.Unlock()
	}
	return leave != No, nil
}

// Find gives the offered tool with that name: as the model knows it, or as its
// server does.
func Find(offers []Offered, name string) (Offered, bool) {
	for _, o := range offers {
		if o.Name == name || o.Spec.Name == name || strings.EqualFold(o.Spec.Server+" "+o.Spec.Name, name) {
			return o, true
		}
	}
	return Offered{}, false
}
