package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"towpath/internal/tool/mcpclient/process"
)

// link is one connection to a server, from its start to its end.
type link struct {
	server  *Server
	session *mcp.ClientSession
	proc    *process.Process // nil over HTTP
	words   *tail            // what the server said; nil over HTTP
	gone    chan struct{}    // closed once the connection is broken
	lost    atomic.Bool      // the server forgot the session
	calls   sync.WaitGroup
	once    sync.Once
	endErr  error

	listing chan struct{} // holds one token: whoever has it may list
	stale   atomic.Bool   // the server says that its tools changed
	specs   []described
	listed  bool

	mu       sync.Mutex
	tokens   int
	progress map[string]func(string)
}

func (s *Server) newLink() *link {
	return &link{server: s, gone: make(chan struct{}), listing: make(chan struct{}, 1), progress: map[string]func(string){}}
}

// alive reports whether calls can be made.
func (l *link) alive() bool {
	select {
	case <-l.gone:
		return false
	default:
		return !l.lost.Load()
	}
}

// open makes the session over a transport. version "" begins with the newest.
func (l *link) open(ctx context.Context, t mcp.Transport, version string) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "towpath", Version: l.server.cfg.Version}, l.options())
	session, err := client.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return err
	}
	l.session = session
	go func() {
		_ = session.Wait()
		close(l.gone)
	}()
	return nil
}

// options say what this side offers servers: nothing of the user's but answers
// to questions, where somebody can be asked.
func (l *link) options() *mcp.ClientOptions {
	opt := &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { l.stale.Store(true) },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			l.progressed(fmt.Sprint(r.Params.ProgressToken), r.Params.Message)
		},
	}
	if elicit := l.server.cfg.Elicit; elicit != nil {
		opt.ElicitationHandler = func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			a, err := elicit(ctx, Question{Server: l.server.cfg.Name, Message: r.Params.Message,
				Schema: encoded(r.Params.RequestedSchema), URL: r.Params.URL})
			if err != nil {
				return nil, err
			}
			return &mcp.ElicitResult{Action: a.Action, Content: a.Content}, nil
		}
	}
	return opt
}

// end closes the session and ends the process with all its children, once the
// calls in flight are done.
func (l *link) end() error {
	l.once.Do(func() {
		l.calls.Wait()
		if l.session != nil {
			done := make(chan struct{})
			go func() {
				_ = l.session.Close()
				close(done)
			}()
			late := time.NewTimer(closeWithin)
			select {
			case <-done:
			case <-late.C:
			}
			late.Stop()
		}
		if l.proc != nil {
			l.endErr = l.proc.Stop(l.server.time.Stop)
		}
	})
	return l.endErr
}

// closeWithin bounds the farewell to a server.
const closeWithin = 2 * time.Second

// lastWords says how the server ended and what it said last.
func (l *link) lastWords() string {
	if l.proc == nil {
		return "the connection broke"
	}
	text := ""
	select {
	case <-l.proc.Ended():
		text = l.proc.How()
	default:
		text = "it closed its output"
	}
	return text + l.said()
}

// said gives what the server said last, as the end of a sentence.
func (l *link) said() string {
	if l.words == nil {
		return ""
	}
	if said := l.server.cfg.Hide(l.words.said(600)); said != "" {
		return "; it said: " + said
	}
	return ""
}

var (
	errLateStart = errors.New("it did not answer in time")
	errNoAnswer  = errors.New("no answer in time")
	errTooLong   = errors.New("it took too long")
)

// connect starts the server or connects to it.
func (s *Server) connect(ctx context.Context) (*link, error) {
	slow := time.AfterFunc(slowStart, func() {
		s.cfg.Note(fmt.Sprintf("waiting for the server %s to start", s.cfg.Name))
	})
	defer slow.Stop()
	if s.cfg.URL != "" {
		return s.dial(ctx)
	}
	version, probe := "", s.time.Probe
	var last error
	for range maxLaunches {
		l, pipe, err := s.launch(ctx, version, probe)
		if err == nil {
			return l, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		last = err
		var next string
		switch next = listedVersion(err, version); {
		case next != "":
			version, probe = next, 0
		case pipe == nil || version != "":
			return nil, last
		case !pipe.heard.Load(): // it died of the question for the newer protocol
			version = newestWithHandshake
		case pipe.silent.Load() && probe > 0: // it may have been too slow for it
			probe = 0
		default:
			return nil, last
		}
	}
	return nil, last
}

const (
	maxLaunches         = 3
	slowStart           = 5 * time.Second
	newestWithHandshake = "2025-11-25"
)

// launch starts the process and makes a session with it.
func (s *Server) launch(ctx context.Context, version string, probe time.Duration) (*link, *pipe, error) {
	l := s.newLink()
	l.words = &tail{}
	proc, err := process.Start(process.Spec{
		Command: s.cfg.Command, Args: s.cfg.Args, Env: s.cfg.Env, Dir: s.cfg.Dir, Stderr: l.words, Guard: s.cfg.Guard,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("the server %s: %w", s.cfg.Name, err)
	}
	l.proc = proc
	pipe := newPipe(proc, l.words, probe)
	err = l.open(ctx, pipe, version)
	if err == nil {
		return l, pipe, nil
	}
	early := false
	select {
	case <-pipe.eof:
		early = true
	default:
	}
	stop := s.time.Stop
	if early || ctx.Err() != nil {
		stop = 100 * time.Millisecond
	}
	if serr := proc.Stop(stop); serr != nil {
		s.cfg.Note(fmt.Sprintf("the server %s: %v", s.cfg.Name, serr))
	}
	return nil, pipe, s.notStarted(ctx, l, early, err)
}

// notStarted says why a server did not start.
func (s *Server) notStarted(ctx context.Context, l *link, early bool, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errLateStart):
		return fmt.Errorf("the server %s did not answer within %s of its start%s; if it needs longer, set servers.%s.start_timeout",
			s.cfg.Name, s.time.Start, l.said(), s.cfg.Name)
	case ctx.Err() != nil:
		return ctx.Err()
	case early:
		return &startError{s.cfg.Name, l.lastWords(), err}
	}
	return &startError{s.cfg.Name, "it refused: " + s.cfg.Hide(err.Error()) + l.said(), err}
}

// startError is a server that was started and is of no use.
type startError struct {
	name, why string
	err       error
}

// Error says what happened.
func (e *startError) Error() string {
	return fmt.Sprintf("the server %s did not start: %s", e.name, e.why)
}

// Unwrap gives the cause.
func (e *startError) Unwrap() error { return e.err }

// listedVersion gives the newest version with a handshake, other than the one
// that was asked for, that an error lists as one that the server speaks.
func listedVersion(err error, asked string) string {
	e := answerIn(err)
	if e == nil {
		return ""
	}
	text := e.Message + " " + string(e.Data)
	for _, v := range mcp.SupportedProtocolVersions() {
		if v < newestWithHandshake && v != asked && strings.Contains(text, v) {
			return v
		}
	}
	return ""
}
