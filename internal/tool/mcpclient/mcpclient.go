// Package mcpclient is the client side of the Model Context Protocol: it starts
// tool servers or connects to them, lists their tools and calls them. Both eras
// of the protocol are spoken: the one with a handshake (2024-11-05 to
// 2025-11-25) and the one without (2026-07-28).
//
// Servers misbehave: they print banners on standard output, die in mid-call,
// hang, lose their sessions, page their lists, change their tools and send
// megabytes. Each of these costs at most the call that it concerns, with an
// error that says what happened.
//
// The protocol itself is the public SDK's. Its transports are ours, or stand
// behind ours: what comes in is bounded and checked before the SDK sees it. The
// SDK's types do not leave this package.
//
// A Server is safe for use by several goroutines.
package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"towpath/internal/tool"
)

// Config says how a server is reached. One of Command and URL is set.
type Config struct {
	Name string // by which contracts name it

	Command string // name in PATH, or a path from Dir
	Args    []string
	Env     []string // the server's whole environment, NAME=value; see Environment
	Dir     string   // its working folder
	Guard   []string // see process.Spec

	URL     string
	Headers func() (map[string]string, error) // read for every connection, and again when the server refuses; may be nil

	Timeouts Timeouts
	Restarts int                      // how often it is started again when it ends, without a good answer in between; 0 is 4
	Hide     func(text string) string // takes secrets out of what the server said; may be nil
	Note     func(text string)        // is told, in a sentence, what a person may want to know; may be nil
	Version  string                   // of this program, for the server

	// Elicit answers a server that asks the user something in mid-call. Nil
	// tells servers that nobody can be asked.
	Elicit func(ctx context.Context, q Question) (Answer, error)
}

// Timeouts bound what is waited for. A zero field is its default.
type Timeouts struct {
	Start time.Duration // from starting the server to its list of tools; 2 minutes, since launchers may have to install it first
	Call  time.Duration // from a call, or from its last sign of progress, to the next; 1 minute
	Most  time.Duration // for a whole call, whatever progress it reports; 10 minutes
	Probe time.Duration // for an answer in the newer protocol, before the older one is tried; 5 seconds
	Stop  time.Duration // from closing the server's input to ending it; 2 seconds
}

func (t Timeouts) withDefaults() Timeouts {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&t.Start, 2*time.Minute)
	set(&t.Call, time.Minute)
	set(&t.Most, 10*time.Minute)
	set(&t.Probe, 5*time.Second)
	set(&t.Stop, 2*time.Second)
	t.Most = max(t.Most, t.Call)
	return t
}

// Question is what a server wants to know from the user.
type Question struct {
	Server  string
	Message string
	Schema  json.RawMessage // JSON Schema of Answer.Content
	URL     string          // a page to be opened instead
}

// Answer is what the user says.
type Answer struct {
	Action  string // accept, decline or cancel
	Content map[string]any
}

// Server is one tool server. It is started by the first call of Start or Tools,
// again by a call that finds it dead, and ended by Close.
type Server struct {
	cfg  Config
	time Timeouts

	turn    chan struct{} // holds one token: whoever has it may start the server
	closing context.Context
	close   context.CancelFunc

	mu      sync.Mutex
	link    *link // nil before the first start
	ended   int   // how often the server ended without a good answer in between
	closed  bool
	clients sync.WaitGroup
}

// New makes a server that is not started yet.
func New(cfg Config) *Server {
	if cfg.Restarts == 0 {
		cfg.Restarts = 4
	}
	if cfg.Hide == nil {
		cfg.Hide = func(s string) string { return s }
	}
	if cfg.Note == nil {
		cfg.Note = func(string) {}
	}
	s := &Server{cfg: cfg, time: cfg.Timeouts.withDefaults(), turn: make(chan struct{}, 1)}
	s.closing, s.close = context.WithCancel(context.Background())
	return s
}

// Name is the name by which contracts know the server.
func (s *Server) Name() string { return s.cfg.Name }

// Start starts the server, or connects to it, and reads its tools. An error
// says what the server said last.
func (s *Server) Start(ctx context.Context) error {
	_, err := s.ready(ctx)
	return err
}

// Tools lists the server's tools. They are listed anew when the server says that
// they changed, and when it was started again.
func (s *Server) Tools(ctx context.Context) ([]tool.Tool, error) {
	specs, err := s.specs(ctx)
	if err != nil {
		return nil, err
	}
	tools := make([]tool.Tool, len(specs))
	for i, spec := range specs {
		tools[i] = &remote{s, spec}
	}
	return tools, nil
}

func (s *Server) specs(ctx context.Context) ([]described, error) {
	for again := false; ; again = true {
		l, err := s.ready(ctx)
		if err != nil {
			return nil, err
		}
		specs, err := l.tools(ctx)
		if err == nil || again || !errors.Is(err, errSessionLost) {
			return specs, err
		}
		l.lost.Store(true)
		s.drop(l)
	}
}

// About says which server answers, and the version of the protocol it speaks.
// Both are empty before the server was started.
func (s *Server) About() (name, version, protocol string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil {
		return "", "", ""
	}
	res := s.link.session.InitializeResult()
	if res == nil {
		return "", "", ""
	}
	if res.ServerInfo != nil {
		name, version = res.ServerInfo.Name, res.ServerInfo.Version
	}
	return name, version, res.ProtocolVersion
}

// Close ends the server and everything that it started, and every call in
// flight. It may be called twice.
func (s *Server) Close() error {
	s.close()
	s.mu.Lock()
	l := s.link
	first := !s.closed
	s.closed, s.link = true, nil
	s.mu.Unlock()
	var err error
	if first && l != nil {
		err = l.end()
	}
	s.clients.Wait()
	return err
}

// ready gives a connection that works, starting the server where there is none.
func (s *Server) ready(ctx context.Context) (*link, error) {
	if l := s.current(); l != nil {
		return l, nil
	}
	if s.closing.Err() != nil {
		return nil, s.closedError()
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closing.Done():
		return nil, s.closedError()
	}
	if l := s.current(); l != nil {
		return l, nil
	}
	if err := s.again(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.time.Start, errLateStart)
	defer cancel()
	stop := context.AfterFunc(s.closing, cancel)
	defer stop()
	l, err := s.connect(ctx)
	if err != nil && s.closing.Err() != nil {
		return nil, s.closedError()
	}
	if err != nil {
		s.mu.Lock()
		s.ended++
		s.mu.Unlock()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.clients.Go(func() { _ = l.end() })
		return nil, s.closedError()
	}
	s.link = l
	return l, nil
}

func (s *Server) closedError() error {
	return fmt.Errorf("the server %s was stopped", s.cfg.Name)
}

// current gives the connection, if it works.
func (s *Server) current() *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil && s.link.alive() {
		return s.link
	}
	return nil
}

// drop gives a connection up. Calls that it still carries are let finish.
func (s *Server) drop(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == l {
		s.link = nil
	}
	s.clients.Go(func() { _ = l.end() })
}

// again clears away a connection that broke, and waits a while before the
// server is started again, longer each time.
func (s *Server) again(ctx context.Context) error {
	s.mu.Lock()
	old := s.link
	s.link = nil
	if old != nil {
		s.ended++
	}
	ended := s.ended
	s.mu.Unlock()
	if old != nil {
		if err := old.end(); err != nil {
			s.cfg.Note(fmt.Sprintf("the server %s: %v", s.cfg.Name, err))
		}
	}
	if ended == 0 {
		return nil
	}
	if ended > s.cfg.Restarts {
		why := ""
		if old != nil {
			why = ": " + old.lastWords()
		}
		return fmt.Errorf("the server %s ended %d times in a row and is not started again%s", s.cfg.Name, ended, why)
	}
	if old != nil {
		s.cfg.Note(fmt.Sprintf("the server %s ended and is started again: %s", s.cfg.Name, old.lastWords()))
	}
	wait := time.NewTimer(backoff(ended))
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing.Done():
		return s.closedError()
	}
}

// backoff is how long a server that ended n times is left alone: nothing the
// first time.
func backoff(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	return min(250*time.Millisecond<<(n-2), 5*time.Second)
}

// good notes a good answer: the server is worth starting again.
func (s *Server) good() {
	s.mu.Lock()
	s.ended = 0
	s.mu.Unlock()
}

// remote is one tool of a server.
type remote struct {
	server *Server
	spec   described
}

// Spec describes the tool as its server does.
func (r *remote) Spec() tool.Spec { return r.spec.Spec }

// Call calls the tool.
func (r *remote) Call(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	return r.server.call(ctx, r.spec, args)
}

// Versions are the versions of the protocol that are spoken, newest first.
func Versions() []string { return slices.Clone(mcp.SupportedProtocolVersions()) }
