package fakeserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// ToolServer is a scripted tool server over HTTP. It is safe for use by several
// goroutines.
type ToolServer struct {
	URL string

	// Before, where it is set, may answer a request in the server's place, and
	// says whether it did. n counts the requests, from 1. It is set before the
	// first request.
	Before func(w http.ResponseWriter, r *http.Request, n int, method string) bool

	tools *toolServer
	http  *http.Server

	mu       sync.Mutex
	requests []ToolRequest
	sessions map[string]bool
	made     int
}

// ToolRequest is one request as the server got it.
type ToolRequest struct {
	HTTP   string // GET, POST, DELETE
	Method string // of the message
	Header http.Header
}

// NewToolServer starts a server that ends with the test.
func NewToolServer(t TB, s Tools) *ToolServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("starting the scripted tool server: %v", err)
	}
	srv := &ToolServer{URL: "http://" + l.Addr().String() + "/mcp", tools: newToolServer(s), sessions: map[string]bool{}}
	srv.tools.send = func(any) {}
	srv.tools.raw = func(string) {}
	srv.http = &http.Server{Handler: srv, ReadHeaderTimeout: 30 * time.Second}
	go srv.http.Serve(l)
	t.Cleanup(func() { srv.http.Close() })
	return srv
}

// Requests are all requests so far, in order of arrival.
func (s *ToolServer) Requests() []ToolRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]ToolRequest(nil), s.requests...)
}

// Forget ends every session, as a server does that was started again.
func (s *ToolServer) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

// ServeHTTP answers one request.
func (s *ToolServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	var m rpcMessage
	_ = json.Unmarshal(body, &m)
	s.mu.Lock()
	s.requests = append(s.requests, ToolRequest{r.Method, m.Method, r.Header.Clone()})
	n := len(s.requests)
	s.mu.Unlock()
	if s.Before != nil && s.Before(w, r, n, m.Method) {
		return
	}
	if r.Method != http.MethodPost {
		http.Error(w, "there is no stream", http.StatusMethodNotAllowed)
		return
	}
	id := r.Header.Get("Mcp-Session-Id")
	s.mu.Lock()
	if m.Method == "initialize" {
		s.made++
		id = fmt.Sprintf("session-%d", s.made)
		s.sessions[id] = true
		w.Header().Set("Mcp-Session-Id", id)
	}
	known := s.sessions[id]
	s.mu.Unlock()
	if !known && m.Method != "server/discover" {
		http.Error(w, "Session not found", http.StatusNotFound)
		return
	}
	answer := s.tools.take(m)
	if answer == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer())
}
