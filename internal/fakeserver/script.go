package fakeserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

// Script says what the server has and what it answers. It can be written in Go
// or read from JSON with Load. The zero Script is a server with no model.
type Script struct {
	// Models that the server has. Where it is empty, a model named "test" with
	// every capability and a window of 8,192 tokens is there.
	Models []Model `json:"models,omitempty"`
	// Replies to chat calls. Each call takes the first reply that is not used up
	// and whose When fits; a call for which there is none gets status 500.
	Replies []Reply `json:"replies,omitempty"`
	// Answer, where set, decides instead of Replies. It may be called by several
	// goroutines at once.
	Answer func(Request) Reply `json:"-"`

	// Forget keeps no requests, so that a long test sees what else takes memory.
	Forget bool `json:"forget,omitempty"`

	Key     string `json:"key,omitempty"`     // demanded as a bearer token, else 401
	Version string `json:"version,omitempty"` // of /api/version, "0.17.4" where empty

	// Loading is the number of chat calls that are answered 503 "Loading model"
	// before the first real one.
	Loading int `json:"loading,omitempty"`
	// Capacity is the number of chat calls served at a time; one more is answered
	// 503. 0 is without limit.
	Capacity int `json:"capacity,omitempty"`
	// StrictRoles refuses, as many chat templates do, a system message that is not
	// the first and two messages of one role in a row.
	StrictRoles bool `json:"strict_roles,omitempty"`
	// Refuse lists fields of a chat request that are answered 400 by name, such as
	// "stream_options", "response_format", "tool_choice" or "max_tokens".
	Refuse []string `json:"refuse,omitempty"`
	// Banner is text that /v1/models and every other unknown path give, with
	// status 200, where it is set: a server that is something else.
	Banner string `json:"banner,omitempty"`
}

// Model is a model that the server has.
type Model struct {
	Name     string `json:"name"`
	Window   int    `json:"window,omitempty"` // trained context, 8,192 where 0
	NoTools  bool   `json:"no_tools,omitempty"`
	Thinking bool   `json:"thinking,omitempty"`
	Vision   bool   `json:"vision,omitempty"`
	Embeds   bool   `json:"embeds,omitempty"` // the model only makes vectors
	Loaded   bool   `json:"loaded,omitempty"`
	Size     int64  `json:"size,omitempty"` // bytes on disk
	// Modified is when the model was pulled.
	Modified time.Time `json:"modified,omitzero"`
	// Cuts makes the server cut a prompt that does not fit its window, as some
	// runners do whatever they are told, instead of refusing it.
	Cuts bool `json:"cuts,omitempty"`
	// Effective is the window that the server really gives, whatever is asked.
	Effective int `json:"effective,omitempty"`
}

// Reply is one answer to a chat call.
type Reply struct {
	// When must occur in the text of the request's messages; "" always fits.
	When string `json:"when,omitempty"`
	// Times is how often the reply is given: 0 is once, -1 is for ever.
	Times int `json:"times,omitempty"`

	Text      string     `json:"text,omitempty"`
	Reasoning string     `json:"reasoning,omitempty"` // in the protocol's own field
	Calls     []ToolCall `json:"calls,omitempty"`
	Finish    string     `json:"finish,omitempty"` // as the protocol words it; made from the rest where empty
	Model     string     `json:"model,omitempty"`  // that answers, the asked one where empty

	// Pieces are the lengths, in bytes, of the pieces that Text is streamed in;
	// the rest comes in one. Nil streams word by word.
	Pieces []int `json:"pieces,omitempty"`

	PromptTokens    int  `json:"prompt_tokens,omitempty"` // counted by the server where 0
	CachedTokens    int  `json:"cached_tokens,omitempty"`
	OutputTokens    int  `json:"output_tokens,omitempty"`
	ReasoningTokens int  `json:"reasoning_tokens,omitempty"`
	NoUsage         bool `json:"no_usage,omitempty"`

	// Status other than 0 and 200 is an error reply with Body and Header.
	Status int         `json:"status,omitempty"`
	Body   string      `json:"body,omitempty"`
	Header http.Header `json:"header,omitempty"`

	// Raw, where set, is the body, sent piece by piece as it stands.
	Raw []string `json:"raw,omitempty"`
	// Cut breaks the connection off after the text, before any end marker.
	Cut bool `json:"cut,omitempty"`
	// Close ends the body regularly, but before any end marker.
	Close bool `json:"close,omitempty"`
	// NoDone leaves out the last line ("data: [DONE]") but gives the finish reason.
	NoDone bool `json:"no_done,omitempty"`
	// Silent sends nothing at all until the client is gone.
	Silent bool `json:"silent,omitempty"`
	// Stall sends the text and then nothing more until the client is gone.
	Stall bool `json:"stall,omitempty"`
	// Hold, where set, is waited for before the first byte is sent.
	Hold <-chan struct{} `json:"-"`
}

// ToolCall is a call that the scripted model makes.
type ToolCall struct {
	ID        string          `json:"id,omitempty"` // made where empty
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Load reads a Script from a JSON file.
func Load(path string) (Script, error) {
	var s Script
	b, err := os.ReadFile(path)
	if err != nil {
		return s, fmt.Errorf("reading the server's script: %w", err)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("reading the server's script %s: %w", path, err)
	}
	return s, nil
}
