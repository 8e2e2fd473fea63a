package openai

import (
	"encoding/json"
	"net/http"
	"strings"

	"towpath/internal/model"
	"towpath/internal/model/dialogue"
	"towpath/internal/model/endpoint"
)

const (
	defaultOutput      = 2048 // tokens
	defaultTemperature = 0.1
)

// The chat request, as far as it is used.
type (
	chatRequest struct {
		Model         string          `json:"model"`
		Messages      []chatMessage   `json:"messages"`
		Stream        bool            `json:"stream"`
		StreamOptions *streamOptions  `json:"stream_options,omitempty"`
		MaxTokens     int             `json:"max_tokens,omitempty"`
		MaxCompletion int             `json:"max_completion_tokens,omitempty"`
		Temperature   *float64        `json:"temperature,omitempty"`
		Tools         []chatTool      `json:"tools,omitempty"`
		ToolChoice    any             `json:"tool_choice,omitempty"`
		Format        *responseFormat `json:"response_format,omitempty"`
		Progress      bool            `json:"return_progress,omitempty"` // llama.cpp: say how much of the prompt was read
	}
	streamOptions struct {
		Usage bool `json:"include_usage"`
	}
	chatMessage struct {
		Role       string     `json:"role"`
		Content    *string    `json:"content"`
		ToolCalls  []chatCall `json:"tool_calls,omitempty"`
		ToolCallID string     `json:"tool_call_id,omitempty"`
		Name       string     `json:"name,omitempty"`
	}
	chatCall struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	chatTool struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	responseFormat struct {
		Type   string        `json:"type"`
		Schema *formatSchema `json:"json_schema,omitempty"`
	}
	formatSchema struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict bool            `json:"strict,omitempty"`
	}
)

// refusedFields are the fields that a server refused for a model. They are left
// out from then on.
type refusedFields struct {
	usage       bool // stream_options
	temperature bool
	toolChoice  bool
	// ignoresChoice is set where tool_choice was taken once and not honoured; it is
	// sent all the same.
	ignoresChoice bool
	limit         int // fields for the length of a reply: how many were refused
	format        int // forms of response_format: how many were refused
}

// body makes the request that the server takes, as far as is known.
func (m *served) body(req model.Request, no refusedFields) chatRequest {
	b := chatRequest{Model: m.name, Stream: true}
	b.Progress = m.client.cfg.Provider == "llamacpp" || m.client.cfg.Provider == "local"
	if !no.usage {
		b.StreamOptions = &streamOptions{Usage: true}
	}
	if !no.temperature {
		t := defaultTemperature
		if req.Temperature != nil {
			t = *req.Temperature
		}
		b.Temperature = &t
	}
	m.limit(&b, req.MaxOutput, no.limit)
	msgs := req.Messages
	if len(req.Schema) > 0 {
		msgs = format(&b, msgs, req.Schema, no.format)
	}
	for _, msg := range dialogue.Normalise(msgs) {
		b.Messages = append(b.Messages, wireMessage(msg))
	}
	for _, t := range req.Tools {
		wire := chatTool{Type: "function"}
		wire.Function.Name, wire.Function.Description, wire.Function.Parameters = t.Name, t.Description, t.Schema
		if len(t.Schema) == 0 {
			wire.Function.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		b.Tools = append(b.Tools, wire)
	}
	if len(b.Tools) > 0 && !no.toolChoice {
		switch req.ToolChoice {
		case model.ChoiceAuto:
		case model.ChoiceRequired:
			b.ToolChoice = "required"
		default:
			b.ToolChoice = map[string]any{"type": "function", "function": map[string]string{"name": string(req.ToolChoice)}}
		}
	}
	return b
}

// limit sets the length of the reply in the field that the server takes: OpenAI
// itself wants the newer one, most others know only the older.
func (m *served) limit(b *chatRequest, n, refused int) {
	if n <= 0 {
		n = defaultOutput
	}
	newer := m.client.cfg.Provider == "openai"
	switch {
	case refused > 1:
	case newer == (refused == 0):
		b.MaxCompletion = n
	default:
		b.MaxTokens = n
	}
}

// format asks for a reply that satisfies the schema, in the strongest form that
// the server takes. In the weaker forms the schema stands in the prompt.
func format(b *chatRequest, msgs []model.Message, schema json.RawMessage, refused int) []model.Message {
	switch refused {
	case 0:
		b.Format = &responseFormat{Type: "json_schema", Schema: &formatSchema{Name: "reply", Schema: schema, Strict: strict(schema, 0)}}
		return msgs
	case 1:
		b.Format = &responseFormat{Type: "json_object"}
	}
	said := model.Message{Role: model.RoleUser, Text: "Reply with one JSON object and nothing else. It must satisfy this JSON Schema:\n" + string(schema)}
	return append(msgs[:len(msgs):len(msgs)], said)
}

// strict says whether a schema meets what OpenAI's strict mode demands: every
// object closed and every property required.
func strict(schema json.RawMessage, depth int) bool {
	var s map[string]json.RawMessage
	if depth > 20 || json.Unmarshal(schema, &s) != nil {
		return false
	}
	for _, k := range []string{"$ref", "$defs", "anyOf", "oneOf", "allOf", "patternProperties", "not", "if"} {
		if _, there := s[k]; there {
			return false
		}
	}
	if items, there := s["items"]; there && !strict(items, depth+1) {
		return false
	}
	props, there := s["properties"]
	if !there {
		return string(s["type"]) != `"object"`
	}
	var properties map[string]json.RawMessage
	var required []string
	if json.Unmarshal(props, &properties) != nil || json.Unmarshal(s["required"], &required) != nil ||
		string(s["additionalProperties"]) != "false" || len(required) != len(properties) {
		return false
	}
	for _, p := range properties {
		if !strict(p, depth+1) {
			return false
		}
	}
	return true
}

func wireMessage(m model.Message) chatMessage {
	w := chatMessage{Role: string(m.Role), Content: &m.Text}
	if m.Role == model.RoleTool {
		w.ToolCallID = m.ToolCallID
	}
	for _, call := range m.ToolCalls {
		c := chatCall{ID: call.ID, Type: "function"}
		c.Function.Name, c.Function.Arguments = call.Name, string(dialogue.PastArguments(call.Arguments))
		w.ToolCalls = append(w.ToolCalls, c)
	}
	if len(w.ToolCalls) > 0 && m.Text == "" {
		w.Content = nil
	}
	return w
}

// without gives the refused fields with one more, the one that a refusal is
// about, or false where it is about something else.
func without(no refusedFields, r *endpoint.Refusal, b chatRequest) (refusedFields, bool) {
	switch r.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusNotImplemented:
	default:
		return no, false
	}
	text := strings.ToLower(r.Message)
	about := func(words ...string) bool {
		for _, w := range words {
			if strings.HasPrefix(r.Param, w) || r.Param == "" && strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	if !declines(text) {
		return no, false
	}
	switch {
	case b.StreamOptions != nil && about("stream_options", "include_usage"):
		no.usage = true
	case b.Format != nil && about("response_format", "response format", "json_schema", "json_object", "structured output", "guided"):
		no.format++
	case b.ToolChoice != nil && about("tool_choice", "tool choice"):
		no.toolChoice = true
	case b.MaxTokens > 0 && about("max_tokens"), b.MaxCompletion > 0 && about("max_completion_tokens"):
		no.limit++
	case b.Temperature != nil && about("temperature"):
		no.temperature = true
	default:
		return no, false
	}
	return no, true
}

// declines says whether a server's words are about a field that it does not
// take, rather than about its value.
func declines(text string) bool {
	for _, w := range []string{"less than", "at most", "too large", "too high", "greater than", "between", "<=", "exceed"} {
		if strings.Contains(text, w) {
			return false
		}
	}
	for _, w := range []string{"unsupported", "not support", "unknown", "unrecognized", "unexpected", "not permitted", "extra", "invalid", "not allowed",
		"instead", "must be", "no endpoints found", "not implemented", "not available", "cannot"} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
