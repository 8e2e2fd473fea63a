// Package model is one chat call to a language model, whoever serves it.
//
// A Model is safe for use by several goroutines. Nothing here keeps a
// conversation: the caller sends all of it with each call.
package model

import (
	"context"
	"encoding/json"
	"time"
)

// Role says who speaks in a Message.
type Role string

// The roles of a conversation.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	Role       Role       `json:"role"`
	Text       string     `json:"text,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`   // of an assistant
	ToolCallID string     `json:"tool_call_id,omitempty"` // of a tool: the call that this answers
	ToolName   string     `json:"tool_name,omitempty"`    // of a tool: the name as the model knows it
	IsError    bool       `json:"is_error,omitempty"`     // of a tool: the call failed
}

// ToolCall is a model's wish to have a tool run.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`      // as offered
	Arguments string `json:"arguments"` // JSON as the model wrote it, not yet validated
}

// ToolDef is a tool as it is offered to a model.
type ToolDef struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments, normalised for providers
}

// ToolChoice says whether the model must call a tool: ChoiceAuto,
// ChoiceRequired, ChoiceNone, or the name of one tool.
type ToolChoice string

// The general choices; any other value names one tool.
const (
	ChoiceAuto     ToolChoice = ""
	ChoiceRequired ToolChoice = "required"
	ChoiceNone     ToolChoice = "none"
)

// Request is one call.
type Request struct {
	Messages    []Message       `json:"messages"`
	Tools       []ToolDef       `json:"tools,omitempty"`
	ToolChoice  ToolChoice      `json:"tool_choice,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // JSON Schema that the reply's text must satisfy
	Temperature *float64        `json:"temperature,omitempty"`
	MaxOutput   int             `json:"max_output,omitempty"` // tokens of the reply; 0 is the default of 2,048
	Window      int             `json:"window,omitempty"`     // tokens that prompt and reply need together, as estimated; 0 is unknown
	Thinking    bool            `json:"thinking,omitempty"`
}

// Finish says why a reply ended.
type Finish string

// The ways in which a reply ends. A reply that did not end is an error of kind
// KindInterrupted, never a Finish.
const (
	FinishStop      Finish = "stop"
	FinishLength    Finish = "length"
	FinishToolCalls Finish = "tool_calls"
	FinishFiltered  Finish = "filtered"
)

// Usage counts tokens. A nil field is unknown, which is not zero.
type Usage struct {
	Prompt    *int `json:"prompt,omitempty"`
	Cached    *int `json:"cached,omitempty"` // part of Prompt that was not computed again
	Output    *int `json:"output,omitempty"`
	Reasoning *int `json:"reasoning,omitempty"` // part of Output
}

// Reply is a complete answer.
type Reply struct {
	Text      string     `json:"text,omitempty"`
	Reasoning string     `json:"reasoning,omitempty"` // kept out of Text by position
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	Recovered bool       `json:"recovered,omitempty"` // ToolCalls were read from text
	// FromReasoning: a structured answer stood in Reasoning while Text was empty.
	FromReasoning bool          `json:"from_reasoning,omitempty"`
	Finish        Finish        `json:"finish"`
	Model         string        `json:"model"` // provider/model that answered
	Usage         Usage         `json:"usage"`
	FirstByte     time.Duration `json:"first_byte"` // from sending to the first token
	Elapsed       time.Duration `json:"elapsed"`
}

// Delta is a piece of a reply while it streams. Waiting is set, with nothing
// else, while the server loads the model or asks for patience; what streamed
// before it no longer counts, the reply begins anew.
type Delta struct {
	Text      string
	Reasoning string
	Waiting   string
}

// Model answers one call. stream may be nil. An error is an *Error or the
// context's.
type Model interface {
	Call(ctx context.Context, req Request, stream func(Delta)) (Reply, error)
}

// Info is what is known of a model before it is called. Nil and zero fields
// are unknown.
type Info struct {
	ID       string `json:"id"` // provider/model
	URL      string `json:"url,omitempty"`
	Window   int    `json:"window,omitempty"` // tokens
	Tools    *bool  `json:"tools,omitempty"`
	Schema   *bool  `json:"schema,omitempty"` // holds replies to a JSON Schema
	Images   *bool  `json:"images,omitempty"`
	Thinking *bool  `json:"thinking,omitempty"`
	Required bool   `json:"required"` // honours ChoiceRequired and a named tool
	Loaded   bool   `json:"loaded,omitempty"`
	Embeds   bool   `json:"embeds,omitempty"` // turns text into vectors alone and cannot answer
	Bytes    int64  `json:"bytes,omitempty"`  // size on disk
}

// Describer is a Model that can say what it is, without a chat call. The error
// says that the server cannot be reached or does not have the model.
type Describer interface {
	Describe(ctx context.Context) (Info, error)
}
