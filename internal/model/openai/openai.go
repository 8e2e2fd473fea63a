// Package openai talks to every server that speaks OpenAI's chat protocol.
package openai

import (
	"context"
	"net"
	"time"

	"towpath/internal/model"
	"towpath/internal/model/endpoint"
)

// Config says where a server is and how it is used.
type Config struct {
	Provider  string            // first part of the model's id, such as "groq"
	BaseURL   string            // with the version path, such as https://api.openai.com/v1
	Key       string            // sent as a bearer token; "" sends none
	KeyFrom   string            // where the key comes from (an environment variable), for error texts
	Headers   map[string]string // sent with each request
	MaxWindow int               // tokens; the window where the server does not state one; 0 is unknown
	Timeouts  endpoint.Timeouts
	Clock     func() time.Time                                                  // nil is time.Now
	Dial      func(ctx context.Context, network, addr string) (net.Conn, error) // nil is the network; a child process's socket goes here
}

// Client is one server. Safe for use by several goroutines. It remembers which
// fields the server refused.
type Client struct{ cfg Config }

// New makes a client. It contacts nothing.
func New(cfg Config) *Client { return &Client{cfg: cfg} }

// Model is a model of the server, by its name there. The result is also a
// model.Describer.
func (c *Client) Model(name string) model.Model { return nil }

// List gives the models that the server names.
func (c *Client) List(ctx context.Context) ([]model.Info, error) { return nil, nil }

// Known is a provider whose address is public.
type Known struct {
	Name    string // as in provider/model
	BaseURL string
	KeyEnv  string // environment variable that holds the key, "" where none is needed
	Local   bool   // a server on this machine
}

// Providers lists the known providers, by name.
func Providers() []Known {
	return []Known{
		{Name: "groq", BaseURL: "https://api.groq.com/openai/v1", KeyEnv: "GROQ_API_KEY"},
		{Name: "llamacpp", BaseURL: "http://127.0.0.1:8080/v1", Local: true},
		{Name: "lmstudio", BaseURL: "http://127.0.0.1:1234/v1", Local: true},
		{Name: "openai", BaseURL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY"},
		{Name: "openrouter", BaseURL: "https://openrouter.ai/api/v1", KeyEnv: "OPENROUTER_API_KEY"},
	}
}
