// Package ollama talks to an Ollama server in its native protocol, which alone
// lets the client set the context window and forbid silent truncation.
package ollama

import (
	"context"
	"time"

	"towpath/internal/model"
	"towpath/internal/model/endpoint"
)

// Config says where the server is and how it is used.
type Config struct {
	Host      string // in any form that OLLAMA_HOST takes; "" is 127.0.0.1:11434
	KeepAlive string // how long the server keeps a model loaded, such as "10m"; "" leaves it to the server
	MaxWindow int    // tokens; caps the window that is asked for; 0 is the model's own
	Timeouts  endpoint.Timeouts
	Clock     func() time.Time // nil is time.Now
}

// Client is one Ollama server. Safe for use by several goroutines. It remembers
// the window asked for per model, which never shrinks.
type Client struct{ cfg Config }

// New makes a client. It contacts nothing.
func New(cfg Config) *Client { return &Client{cfg: cfg} }

// URL is the server's address.
func (c *Client) URL() string { return "" }

// Model is a model of the server, by its name there, such as "qwen3.5:9b". The
// result is also a model.Describer.
func (c *Client) Model(name string) model.Model { return nil }

// List gives the models that the server has, newest first, with what is known of
// each. It asks the server for each model's capabilities.
func (c *Client) List(ctx context.Context) ([]model.Info, error) { return nil, nil }

// Version asks the server for its version: the cheapest way to learn whether one
// answers.
func (c *Client) Version(ctx context.Context) (string, error) { return "", nil }
