package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"towpath/internal/tool"
)

// rpcError is an error that a server answers with.
type rpcError = jsonrpc.Error

const (
	maxPages = 1000
	maxTools = 5000
)

// tools gives the server's tools, from the list that was read before where that
// still holds.
func (l *link) tools(ctx context.Context) ([]described, error) {
	select {
	case l.listing <- struct{}{}:
		defer func() { <-l.listing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l.listed && !l.stale.Swap(false) {
		return l.specs, nil
	}
	l.stale.Store(false)
	specs, err := l.list(ctx)
	if err != nil {
		l.stale.Store(true)
		return nil, err
	}
	l.specs, l.listed = specs, true
	return specs, nil
}

// list reads every page of the server's tools.
func (l *link) list(ctx context.Context) ([]described, error) {
	l.calls.Add(1)
	defer l.calls.Done()
	ctx, cancel := context.WithTimeoutCause(ctx, l.server.time.Call, errNoAnswer)
	defer cancel()
	stop := context.AfterFunc(l.server.closing, cancel)
	defer stop()
	var (
		specs  []described
		cursor string
		seen   = map[string]bool{}
		names  = map[string]bool{}
	)
	for range maxPages {
		page, next, err := l.page(ctx, cursor)
		if err != nil {
			return nil, l.listError(ctx, err)
		}
		for _, spec := range page {
			if names[spec.Name] {
				l.note("%s lists the tool %q twice; the first one counts", l.server.cfg.Name, spec.Name)
				continue
			}
			names[spec.Name] = true
			specs = append(specs, spec)
		}
		switch {
		case next == "":
			return specs, nil
		case seen[next]:
			l.note("%s gives the same page of its tools again and again; %d tools were read", l.server.cfg.Name, len(specs))
			return specs, nil
		case len(specs) > maxTools:
			return nil, fmt.Errorf("the server %s lists more than %d tools", l.server.cfg.Name, maxTools)
		}
		seen[next], cursor = true, next
	}
	return nil, fmt.Errorf("the server %s has more than %d pages of tools", l.server.cfg.Name, maxPages)
}

func (l *link) note(format string, args ...any) {
	l.server.cfg.Note(l.server.cfg.Hide(fmt.Sprintf(format, args...)))
}

func (l *link) listError(ctx context.Context, err error) error {
	name := l.server.cfg.Name
	switch {
	case errors.Is(context.Cause(ctx), errNoAnswer):
		return fmt.Errorf("the server %s did not list its tools within %s%s", name, l.server.time.Call, l.said())
	case l.server.closing.Err() != nil:
		return l.server.closedError()
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if rpc := answerIn(err); rpc != nil && rpc.Code == codeLost {
		return errSessionLost
	}
	if !l.aliveSoon() {
		return fmt.Errorf("the server %s ended while it listed its tools: %s", name, l.lastWords())
	}
	return fmt.Errorf("listing the tools of %s: %s%s", name, l.server.cfg.Hide(err.Error()), l.said())
}

// page reads one page.
func (l *link) page(ctx context.Context, cursor string) ([]described, string, error) {
	ctx, c := catching(ctx)
	res, err := l.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
	raw := c.get()
	if err != nil && raw == nil {
		if e := answerIn(err); cursor == "" && e != nil && e.Code == jsonrpc.CodeMethodNotFound {
			return nil, "", nil // it has no tools
		}
		return nil, "", err
	}
	if raw == nil { // the SDK had it still
		return fromSDK(l.server.cfg.Name, res), res.NextCursor, nil
	}
	var wire struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor string            `json:"nextCursor"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return nil, "", fmt.Errorf("the list cannot be read: %w", err)
	}
	allowed := map[string]bool{}
	if res != nil {
		for _, t := range res.Tools {
			allowed[t.Name] = true
		}
	}
	var specs []described
	for _, one := range wire.Tools {
		spec, err := specOf(l.server.cfg.Name, one)
		switch {
		case err != nil:
			l.note("%s: a tool is left out: %v", l.server.cfg.Name, err)
		case res != nil && !allowed[spec.Name]:
			l.note("%s: %s is left out: what it wants in the request's headers is not valid", l.server.cfg.Name, spec.Name)
		default:
			specs = append(specs, spec)
		}
	}
	return specs, wire.NextCursor, nil
}

// described is a tool as its server describes it.
type described struct {
	tool.Spec
	closed bool // it deals with nothing from outside
}

// wireTool is a tool as servers describe it.
type wireTool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema"`
	Hints       struct {
		Title       string `json:"title"`
		ReadOnly    *bool  `json:"readOnlyHint"`
		Destructive *bool  `json:"destructiveHint"`
		Idempotent  *bool  `json:"idempotentHint"`
		OpenWorld   *bool  `json:"openWorldHint"`
	} `json:"annotations"`
}

// specOf reads a tool. One that does not say what it does counts as one that has
// effects and destroys.
func specOf(server string, raw json.RawMessage) (described, error) {
	var t wireTool
	if err := json.Unmarshal(raw, &t); err != nil {
		return described{}, fmt.Errorf("its description cannot be read: %w", err)
	}
	if t.Name == "" {
		return described{}, errors.New("it has no name")
	}
	said := func(b *bool, otherwise bool) bool {
		if b == nil {
			return otherwise
		}
		return *b
	}
	spec := described{Spec: tool.Spec{Server: server, Name: t.Name, Title: t.Title, Description: t.Description, Input: t.Input, Output: t.Output}}
	if spec.Title == "" {
		spec.Title = t.Hints.Title
	}
	if blank(spec.Input) {
		spec.Input = json.RawMessage(`{"type":"object"}`)
	}
	if blank(spec.Output) {
		spec.Output = nil
	}
	spec.ReadOnly = said(t.Hints.ReadOnly, false)
	spec.Destructive = !spec.ReadOnly && said(t.Hints.Destructive, true)
	spec.Idempotent = spec.ReadOnly || said(t.Hints.Idempotent, false)
	spec.closed = !said(t.Hints.OpenWorld, true)
	return spec, nil
}

func blank(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// fromSDK reads a page as the SDK keeps it.
func fromSDK(server string, res *mcp.ListToolsResult) []described {
	var specs []described
	for _, t := range res.Tools {
		if spec, err := specOf(server, encoded(t)); err == nil {
			specs = append(specs, spec)
		}
	}
	return specs
}

// encoded is v as JSON; nil for nothing.
func encoded(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}
