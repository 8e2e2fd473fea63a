// Package tool is one action that a model may ask for, and the narrow door
// through which it gets there: only the tools that a contract names are
// offered, and what is not offered cannot be called.
//
// Tools and Servers are safe for use by several goroutines.
package tool

import (
	"context"
	"encoding/json"
)

// Spec describes a tool.
type Spec struct {
	Server      string          `json:"server"`
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input_schema"`            // JSON Schema of the arguments
	Output      json.RawMessage `json:"output_schema,omitempty"` // JSON Schema of Result.Structured
	ReadOnly    bool            `json:"read_only"`               // changes nothing; a call may be repeated
	Destructive bool            `json:"destructive"`
	Idempotent  bool            `json:"idempotent"`
	Polling     bool            `json:"polling,omitempty"` // may be called again and again with equal arguments
}

// Source is a page or document that a call really read, for checks on what a
// result cites.
type Source struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}

// Result is what a call gave. IsError says that the tool ran and failed: the
// text is then for the model to read.
type Result struct {
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured,omitempty"`
	IsError    bool            `json:"is_error,omitempty"`
	Sources    []Source        `json:"sources,omitempty"`
	Untrusted  bool            `json:"untrusted,omitempty"` // Text holds words from outside (a page, a document)
}

// Tool runs once per call. args has been validated against Spec().Input. An
// error means that the tool could not be run at all (its server died, the
// context ended); a failure of the act itself is a Result with IsError.
type Tool interface {
	Spec() Spec
	Call(ctx context.Context, args json.RawMessage) (Result, error)
}

// Server is a named group of tools, started before its first Tools and ended
// by Close.
type Server interface {
	Name() string
	Tools(ctx context.Context) ([]Tool, error)
	Close() error
}
