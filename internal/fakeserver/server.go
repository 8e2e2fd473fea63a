// Package fakeserver is a scripted model server for tests. It speaks Ollama's
// native protocol (/api/...) and OpenAI's (/v1/...) over real sockets on
// 127.0.0.1, and can be told to misbehave in the ways that real servers do.
//
// A Server is safe for use by several goroutines.
package fakeserver

import (
	"encoding/json"
	"net/http"
)

// TB is the part of testing.TB that New needs.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Server is a running scripted server.
type Server struct {
	URL string // http://127.0.0.1:port, without a path; fits OLLAMA_HOST too
}

// Message is one message of a chat request.
type Message struct {
	Role       string            `json:"role"`
	Content    string            `json:"content"`
	ToolCalls  []json.RawMessage `json:"tool_calls,omitempty"`
	ToolCallID string            `json:"tool_call_id,omitempty"`
	ToolName   string            `json:"tool_name,omitempty"`
}

// Request is one request as the server got it.
type Request struct {
	Path     string
	Header   http.Header
	Body     []byte
	Native   bool // came over /api/chat
	Model    string
	Messages []Message
	Tools    []string       // names offered
	Options  map[string]any // of the native protocol
	Fields   map[string]any // the whole body, decoded
}

// New starts a server that ends with the test.
func New(t TB, s Script) *Server {
	t.Helper()
	srv, err := Start(s)
	if err != nil {
		t.Fatalf("starting the scripted model server: %v", err)
	}
	t.Cleanup(srv.Close)
	return srv
}

// Start starts a server on a free port of 127.0.0.1. Close ends it.
func Start(s Script) (*Server, error) { return &Server{}, nil }

// Handler is the server without a socket.
func Handler(s Script) http.Handler { return http.NotFoundHandler() }

// Close ends the server and every call in flight.
func (s *Server) Close() {}

// Requests are all requests so far, in order of arrival.
func (s *Server) Requests() []Request { return nil }

// Chats are the chat requests so far, in order of arrival.
func (s *Server) Chats() []Request { return nil }

// MaxInFlight is the largest number of chat calls served at one time so far.
func (s *Server) MaxInFlight() int { return 0 }

// Gone gives a channel that receives once for every chat call whose client went
// away before the reply was whole.
func (s *Server) Gone() <-chan struct{} { return nil }
