package fakeserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// native is Ollama's own protocol.
type native struct{}

func (native) refuse(w http.ResponseWriter, status int, _, message string, _ map[string]any) {
	writeJSON(w, status, map[string]any{"error": message})
}

// defaultWindow is what Ollama gives when nobody asks.
const defaultWindow = 4096

func (native) asked(r Request) int {
	if n, ok := r.Options["num_ctx"].(float64); ok {
		return int(n)
	}
	return defaultWindow
}

func (native) maxOutput(r Request) int {
	n, _ := r.Options["num_predict"].(float64)
	return int(n)
}

func (native) mayCut(r Request) bool {
	t, there := r.Fields["truncate"].(bool)
	return !there || t
}

func (native) contentType() string { return "application/x-ndjson" }

func (native) pieces(c *core, req Request, r Reply, u usage) (body, end []string) {
	name := r.Model
	if name == "" {
		name = req.Model
	}
	line := func(message map[string]any, more map[string]any) string {
		message["role"] = "assistant"
		v := map[string]any{"model": name, "created_at": "2026-01-02T03:04:05Z", "message": message, "done": false}
		for k, x := range more {
			v[k] = x
		}
		b, _ := json.Marshal(v)
		return string(b) + "\n"
	}
	for _, piece := range words(r.Reasoning) {
		body = append(body, line(map[string]any{"content": "", "thinking": piece}, nil))
	}
	for _, piece := range r.cut() {
		body = append(body, line(map[string]any{"content": piece}, nil))
	}
	for i, call := range r.Calls {
		f := map[string]any{"function": map[string]any{"index": i, "name": call.Name, "arguments": call.Arguments}}
		if call.ID != "" {
			f["id"] = call.ID
		}
		body = append(body, line(map[string]any{"content": "", "tool_calls": []any{f}}, nil))
	}
	last := map[string]any{"done": true, "done_reason": r.Finish, "total_duration": 1000, "load_duration": 100}
	if !r.NoUsage {
		last["prompt_eval_count"], last["eval_count"] = u.prompt, u.output
	}
	return body, []string{line(map[string]any{"content": ""}, last)}
}

// tags lists the models as /api/tags and, those that are loaded, as /api/ps do.
func (c *core) tags(loaded bool) []any {
	list := []any{}
	for _, m := range c.script.Models {
		if loaded && !m.Loaded {
			continue
		}
		v := map[string]any{
			"name": m.Name, "model": m.Name, "size": m.Size, "digest": fmt.Sprintf("%064x", len(m.Name)),
			"details": map[string]any{"format": "gguf", "family": "test", "parameter_size": "1B"},
		}
		if loaded {
			window := m.Window
			if m.Effective > 0 {
				window = m.Effective
			}
			v["context_length"] = window
			v["expires_at"] = "2026-01-02T03:04:05Z"
		} else {
			at := m.Modified
			if at.IsZero() {
				at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			}
			v["modified_at"] = at.Format(time.RFC3339Nano)
		}
		list = append(list, v)
	}
	return list
}

func (c *core) show(w http.ResponseWriter, req Request) {
	m, ok := c.find(req.Model)
	if !ok {
		writeJSON(w, 404, map[string]any{"error": fmt.Sprintf("model '%s' not found", req.Model)})
		return
	}
	caps := []string{"completion"}
	if !m.NoTools {
		caps = append(caps, "tools")
	}
	if m.Thinking {
		caps = append(caps, "thinking")
	}
	if m.Vision {
		caps = append(caps, "vision")
	}
	if m.Embeds {
		caps = []string{"embedding"}
	}
	writeJSON(w, 200, map[string]any{
		"capabilities": caps,
		"details":      map[string]any{"family": "test"},
		"model_info":   map[string]any{"general.architecture": "test", "test.context_length": m.Window},
	})
}
