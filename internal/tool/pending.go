package tool

import (
	"context"
	"encoding/json"
	"sync"

	"towpath/internal/workspace"
)

type journaled struct {
	tool  Tool
	root  string
	mu    sync.Mutex
	count map[string]int
}

func (j *journaled) Spec() Spec { return j.tool.Spec() }
func (j *journaled) Call(ctx context.Context, args json.RawMessage) (Result, error) {
	return j.tool.Call(ctx, args)
}
func open(context.Context, []workspace.ToolGrant, []Server) (Scope, error) { return Scope{}, nil }
func validate(_ Spec, args string) (json.RawMessage, error)                { return json.RawMessage(args), nil }
func normalise(raw json.RawMessage) (json.RawMessage, error)               { return raw, nil }
