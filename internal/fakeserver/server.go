// Package fakeserver is a scripted model server for tests. It speaks Ollama's
// native protocol (/api/...) and OpenAI's (/v1/...) over real sockets on
// 127.0.0.1, and can be told to misbehave in the ways that real servers do.
//
// A Server is safe for use by several goroutines.
package fakeserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
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

	*core
	http *http.Server
	stop context.CancelFunc
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
func Start(s Script) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return Serve(l, s), nil
}

// Serve starts a server on l, which may be any kind of listener. Close ends it.
func Serve(l net.Listener, s Script) *Server {
	c := newCore(s)
	ctx, stop := context.WithCancel(context.Background())
	srv := &Server{
		URL:  "http://" + l.Addr().String(),
		core: c,
		stop: stop,
		http: &http.Server{
			Handler:           c,
			BaseContext:       func(net.Listener) context.Context { return ctx },
			ReadHeaderTimeout: 30 * time.Second,
		},
	}
	go srv.http.Serve(l)
	return srv
}

// Handler is the server without a socket.
func Handler(s Script) http.Handler { return newCore(s) }

// Close ends the server and every call in flight.
func (s *Server) Close() {
	s.stop()
	s.http.Close()
}

// core is the server's state and its handler.
type core struct {
	script Script
	gone   chan struct{}

	mu        sync.Mutex
	requests  []Request
	used      []int // per reply, how often it was given
	loading   int   // 503 answers still to give
	inFlight  int
	maxFlight int
	ids       int
}

func newCore(s Script) *core {
	if len(s.Models) == 0 {
		s.Models = []Model{{Name: "test", Thinking: true, Vision: true}}
	}
	for i := range s.Models {
		if s.Models[i].Window == 0 {
			s.Models[i].Window = 8192
		}
	}
	if s.Version == "" {
		s.Version = "0.17.4"
	}
	return &core{
		script:  s,
		gone:    make(chan struct{}, 1024),
		used:    make([]int, len(s.Replies)),
		loading: s.Loading,
	}
}

// Requests are all requests so far, in order of arrival.
func (c *core) Requests() []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Request(nil), c.requests...)
}

// Chats are the chat requests so far, in order of arrival.
func (c *core) Chats() []Request {
	var chats []Request
	for _, r := range c.Requests() {
		if r.Path == "/api/chat" || strings.HasSuffix(r.Path, "/chat/completions") {
			chats = append(chats, r)
		}
	}
	return chats
}

// MaxInFlight is the largest number of chat calls served at one time so far.
func (c *core) MaxInFlight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.maxFlight
}

// Gone gives a channel that receives once for every chat call whose client went
// away before the reply was whole.
func (c *core) Gone() <-chan struct{} { return c.gone }

// Unused lists the When of the replies that no call took, "(any)" for those that
// fit every call.
func (c *core) Unused() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for i, r := range c.script.Replies {
		if c.used[i] == 0 && r.Times >= 0 {
			name := r.When
			if name == "" {
				name = "(any)"
			}
			names = append(names, name)
		}
	}
	return names
}

// ServeHTTP answers one request.
func (c *core) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req, err := readRequest(r)
	c.mu.Lock()
	if !c.script.Forget {
		c.requests = append(c.requests, req)
	}
	c.mu.Unlock()
	if err != nil {
		writeJSON(w, 400, map[string]any{"error": err.Error()})
		return
	}
	if c.script.Key != "" && r.Header.Get("Authorization") != "Bearer "+c.script.Key {
		writeJSON(w, 401, map[string]any{"error": map[string]any{
			"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}})
		return
	}
	switch {
	case r.URL.Path == "/" && c.script.Banner == "":
		fmt.Fprint(w, "Ollama is running")
	case r.URL.Path == "/api/version":
		writeJSON(w, 200, map[string]any{"version": c.script.Version})
	case r.URL.Path == "/api/tags":
		writeJSON(w, 200, map[string]any{"models": c.tags(false)})
	case r.URL.Path == "/api/ps":
		writeJSON(w, 200, map[string]any{"models": c.tags(true)})
	case r.URL.Path == "/api/show":
		c.show(w, req)
	case r.URL.Path == "/api/chat":
		c.chat(w, r, req, native{})
	case r.URL.Path == "/v1/models" && c.script.Banner == "":
		c.list(w)
	case r.URL.Path == "/v1/chat/completions":
		c.chat(w, r, req, compat{})
	case c.script.Banner != "":
		fmt.Fprint(w, c.script.Banner)
	default:
		http.NotFound(w, r)
	}
}

// find gives the model of that name; a missing tag is ":latest", as Ollama has it.
func (c *core) find(name string) (Model, bool) {
	for _, m := range c.script.Models {
		if m.Name == name || m.Name == name+":latest" || m.Name+":latest" == name {
			return m, true
		}
	}
	return Model{}, false
}
