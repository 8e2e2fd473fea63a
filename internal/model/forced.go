package model

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
)

// Forced makes m honour ChoiceRequired and a named tool where its server
// ignores them but holds replies to a JSON Schema: the call itself is asked for
// as a structured reply. A server that is not known to ignore the choice is
// asked plainly first; when it answers without a call, it is asked again by
// schema, and from then on by schema at once.
func Forced(m Model) Model { return &forced{m: m} }

type forced struct {
	m        Model
	bySchema atomic.Bool // the server ignores the choice
}

func (f *forced) Describe(ctx context.Context) (Info, error) {
	info, err := describe(ctx, f.m)
	if err != nil {
		return info, err
	}
	if !info.Required && canSchema(info) {
		if info.Schema != nil {
			f.bySchema.Store(true)
		}
		info.Required = true
	}
	return info, nil
}

// canSchema says that the server holds replies to a schema, or may.
func canSchema(info Info) bool { return info.Schema == nil || *info.Schema }

func (f *forced) Call(ctx context.Context, req Request, stream func(Delta)) (Reply, error) {
	must := req.ToolChoice != ChoiceAuto && req.ToolChoice != ChoiceNone && len(req.Tools) > 0
	if !must || len(req.Schema) > 0 {
		return f.m.Call(ctx, req, stream)
	}
	if !f.bySchema.Load() {
		reply, err := f.m.Call(ctx, req, stream)
		if err != nil || len(reply.ToolCalls) > 0 || reply.Finish != FinishStop {
			return reply, err
		}
	}
	tools := offered(req)
	schema, err := callSchema(tools)
	if err != nil {
		return Reply{}, err
	}
	asked := req
	asked.ToolChoice, asked.Schema = ChoiceAuto, schema
	reply, err := f.m.Call(ctx, asked, stream)
	if err != nil || len(reply.ToolCalls) > 0 {
		return reply, err
	}
	if call, ok := readCall(reply.Text, tools); ok {
		f.bySchema.Store(true)
		reply.Text, reply.ToolCalls, reply.Finish = "", []ToolCall{call}, FinishToolCalls
	}
	return reply, nil
}

// offered gives the tools that the choice leaves.
func offered(req Request) []ToolDef {
	if req.ToolChoice == ChoiceRequired {
		return req.Tools
	}
	for _, t := range req.Tools {
		if t.Name == string(req.ToolChoice) {
			return []ToolDef{t}
		}
	}
	return req.Tools
}

// callSchema is the schema of {"name": ..., "arguments": {...}} for any of the
// tools.
func callSchema(tools []ToolDef) (json.RawMessage, error) {
	var kinds []json.RawMessage
	for _, t := range tools {
		args := t.Schema
		if len(args) == 0 {
			args = json.RawMessage(`{"type":"object"}`)
		}
		name, err := json.Marshal(t.Name)
		if err != nil {
			return nil, err
		}
		kind, err := json.Marshal(map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"name", "arguments"},
			"properties": json.RawMessage(fmt.Sprintf(`{"name":{"type":"string","enum":[%s]},"arguments":%s}`, name, args)),
		})
		if err != nil {
			return nil, fmt.Errorf("the schema of tool %s: %w", t.Name, err)
		}
		kinds = append(kinds, kind)
	}
	if len(kinds) == 1 {
		return kinds[0], nil
	}
	return json.Marshal(map[string]any{"anyOf": kinds})
}

// readCall takes a reply that is one call and nothing else.
func readCall(text string, tools []ToolDef) (ToolCall, bool) {
	var call struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal([]byte(strings.TrimSpace(text)), &call) != nil || len(call.Arguments) == 0 || call.Arguments[0] != '{' {
		return ToolCall{}, false
	}
	for _, t := range tools {
		if t.Name == call.Name {
			return ToolCall{ID: "call_1", Name: call.Name, Arguments: string(call.Arguments)}, true
		}
	}
	return ToolCall{}, false
}
