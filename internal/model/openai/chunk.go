package openai

import (
	"encoding/json"
	"strings"

	"towpath/internal/model"
	"towpath/internal/model/stream"
)

// The reply, in one piece or in many, with the fields that different servers use.
type (
	chunk struct {
		Model   string          `json:"model"`
		Choices []choice        `json:"choices"`
		Usage   *wireUsage      `json:"usage"`
		Error   json.RawMessage `json:"error"`
		Groq    struct {
			Usage *wireUsage `json:"usage"`
		} `json:"x_groq"`
		Progress *promptProgress `json:"prompt_progress"` // llama.cpp
	}
	promptProgress struct {
		Total     int `json:"total"`
		Processed int `json:"processed"`
	}
	choice struct {
		Index   int     `json:"index"`
		Delta   *delta  `json:"delta"`
		Message *delta  `json:"message"`
		Finish  *string `json:"finish_reason"`
	}
	delta struct {
		Content   json.RawMessage `json:"content"`
		Mind      json.RawMessage `json:"reasoning_content"` // DeepSeek, llama.cpp, vLLM
		Reasoning json.RawMessage `json:"reasoning"`         // OpenRouter, Groq, Ollama
		Thinking  json.RawMessage `json:"thinking"`
		Refusal   *string         `json:"refusal"`
		ToolCalls []callDelta     `json:"tool_calls"`
		Function  *functionDelta  `json:"function_call"`
	}
	callDelta struct {
		Index    *int          `json:"index"`
		ID       string        `json:"id"`
		Function functionDelta `json:"function"`
	}
	functionDelta struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	wireUsage struct {
		Prompt int `json:"prompt_tokens"`
		Output int `json:"completion_tokens"`
		Cached int `json:"prompt_cache_hit_tokens"` // DeepSeek
		In     struct {
			Cached *int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Out struct {
			Reasoning *int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
)

// delta takes one piece of the reply.
func (r *reading) delta(d delta) error {
	content, thought := parts(d.Content)
	for _, raw := range []json.RawMessage{d.Mind, d.Reasoning, d.Thinking} {
		if t, _ := parts(raw); t != "" {
			thought += t
			break // servers that send two of them send the same twice
		}
	}
	if r.first == 0 && (content+thought != "" || len(d.ToolCalls) > 0 || d.Function != nil) {
		r.first = r.m.client.end.Now().Sub(r.started)
	}
	if err := r.acc.Reasoning(thought); err != nil {
		return err
	}
	if d.Refusal != nil {
		content += *d.Refusal
	}
	if err := r.acc.Text(content); err != nil {
		return err
	}
	for _, call := range d.ToolCalls {
		p := stream.CallPiece{ID: call.ID, Name: call.Function.Name, Arguments: argumentText(call.Function.Arguments)}
		if call.Index != nil {
			p.Index, p.HasIndex = *call.Index, true
		}
		if err := r.acc.Call(p); err != nil {
			return err
		}
	}
	if f := d.Function; f != nil {
		return r.acc.Call(stream.CallPiece{HasIndex: true, Name: f.Name, Arguments: argumentText(f.Arguments)})
	}
	return nil
}

// argumentText gives arguments as text, from a string or, as some servers send
// them, from the object itself.
func argumentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// parts reads content that is a string or a list of typed parts.
func parts(raw json.RawMessage) (content, thought string) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", ""
	}
	if json.Unmarshal(raw, &content) == nil {
		return content, ""
	}
	var list []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return "", ""
	}
	var text, mind strings.Builder
	for _, p := range list {
		if p.Type == "thinking" || p.Type == "reasoning" {
			t, _ := parts(p.Thinking)
			mind.WriteString(t + p.Text)
			continue
		}
		text.WriteString(p.Text)
	}
	return text.String(), mind.String()
}

// usage is what the server counted; the last value of a reply is the whole.
type usage struct {
	wireUsage
	seen bool
}

func (u *usage) take(c chunk) {
	for _, w := range []*wireUsage{c.Usage, c.Groq.Usage} {
		if w != nil && (w.Prompt > 0 || w.Output > 0) {
			u.wireUsage, u.seen = *w, true
		}
	}
}

// model gives the usage; what the server left out, or counted as zero though
// there is something, is unknown.
func (u usage) model(r model.Reply) model.Usage {
	var m model.Usage
	if !u.seen {
		return m
	}
	if u.Prompt > 0 {
		m.Prompt = &u.Prompt
	}
	if u.Output > 0 || r.Text+r.Reasoning == "" && len(r.ToolCalls) == 0 {
		m.Output = &u.Output
	}
	if m.Cached = u.In.Cached; m.Cached == nil && u.Cached > 0 {
		m.Cached = &u.Cached
	}
	m.Reasoning = u.Out.Reasoning
	return m
}
