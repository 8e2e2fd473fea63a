package fakeserver

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// compat is OpenAI's protocol.
type compat struct{}

func (compat) refuse(w http.ResponseWriter, status int, kind, message string, more map[string]any) {
	e := map[string]any{"message": message, "type": kind, "code": status}
	for k, v := range more {
		e[k] = v
	}
	writeJSON(w, status, map[string]any{"error": e})
}

func (compat) asked(Request) int { return 0 }

func (compat) maxOutput(r Request) int {
	for _, name := range []string{"max_completion_tokens", "max_tokens"} {
		if n, ok := r.Fields[name].(float64); ok {
			return int(n)
		}
	}
	return 0
}

func (compat) mayCut(Request) bool { return false }

func (compat) contentType() string { return "text/event-stream" }

func (compat) pieces(c *core, req Request, r Reply, u usage) (body, end []string) {
	name := r.Model
	if name == "" {
		name = req.Model
	}
	event := func(choices []any, more map[string]any) string {
		v := map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1767323045, "model": name, "choices": choices}
		for k, x := range more {
			v[k] = x
		}
		b, _ := json.Marshal(v)
		return "data: " + string(b) + "\n\n"
	}
	delta := func(d map[string]any) string {
		return event([]any{map[string]any{"index": 0, "delta": d, "finish_reason": nil}}, nil)
	}
	body = append(body, delta(map[string]any{"role": "assistant", "content": ""}))
	for _, piece := range words(r.Reasoning) {
		body = append(body, delta(map[string]any{"reasoning_content": piece}))
	}
	for _, piece := range r.cut() {
		body = append(body, delta(map[string]any{"content": piece}))
	}
	for i, call := range r.Calls {
		id := call.ID
		if id == "" {
			id = c.newID()
		}
		args := string(call.Arguments)
		half := len(args) / 2
		body = append(body,
			delta(toolDelta(i, id, call.Name, args[:half])),
			delta(toolDelta(i, "", "", args[half:])))
	}
	finish := r.Finish
	if finish == "stop" && len(r.Calls) > 0 {
		finish = "tool_calls"
	}
	end = append(end, event([]any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}, nil))
	if !r.NoUsage && wantsUsage(req) {
		end = append(end, event([]any{}, map[string]any{"usage": u.wire()}))
	}
	if !r.NoDone {
		end = append(end, "data: [DONE]\n\n")
	}
	return body, end
}

func toolDelta(index int, id, name, args string) map[string]any {
	f := map[string]any{"arguments": args}
	call := map[string]any{"index": index, "function": f}
	if id != "" {
		call["id"], call["type"], f["name"] = id, "function", name
	}
	return map[string]any{"tool_calls": []any{call}}
}

func wantsUsage(r Request) bool {
	o, _ := r.Fields["stream_options"].(map[string]any)
	yes, _ := o["include_usage"].(bool)
	return yes
}

func (u usage) wire() map[string]any {
	v := map[string]any{"prompt_tokens": u.prompt, "completion_tokens": u.output, "total_tokens": u.prompt + u.output}
	if u.cached > 0 {
		v["prompt_tokens_details"] = map[string]any{"cached_tokens": u.cached}
	}
	if u.reasoning > 0 {
		v["completion_tokens_details"] = map[string]any{"reasoning_tokens": u.reasoning}
	}
	return v
}

func (c *core) newID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids++
	return fmt.Sprintf("call_%d", c.ids)
}

func (c *core) list(w http.ResponseWriter) {
	data := []any{}
	for _, m := range c.script.Models {
		data = append(data, map[string]any{"id": m.Name, "object": "model", "created": 1767323045, "owned_by": "test"})
	}
	writeJSON(w, 200, map[string]any{"object": "list", "data": data})
}
