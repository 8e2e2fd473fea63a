package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"towpath/internal/model"
)

// late is the cause with which a call is ended that took too long.
type late struct {
	what  string
	limit time.Duration
}

func (l *late) Error() string { return fmt.Sprintf("%s took longer than %s", l.what, l.limit) }

// watch ends a call whose next piece, or whose end, does not come in time.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	total  *time.Timer

	mu     sync.Mutex
	limits Timeouts
	piece  *time.Timer
	begun  bool
	done   bool
}

func (e *Endpoint) watch(ctx context.Context) *watch {
	w := &watch{limits: e.limits}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.total = time.AfterFunc(e.limits.Total, func() { w.cancel(&late{"the whole reply", e.limits.Total}) })
	w.piece = time.AfterFunc(e.limits.FirstByte, w.tooLate)
	return w
}

func (w *watch) tooLate() {
	w.mu.Lock()
	begun, idle := w.begun, w.limits.Idle
	w.mu.Unlock()
	if begun {
		w.cancel(&late{"the next piece of the reply", idle})
		return
	}
	w.cancel(&late{"the first piece of the reply", w.limits.FirstByte})
}

// alive notes that something came.
func (w *watch) alive(begun bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return
	}
	w.begun = w.begun || begun
	limit := w.limits.FirstByte
	if w.begun {
		limit = w.limits.Idle
	}
	w.piece.Reset(limit)
}

func (w *watch) stop() {
	w.mu.Lock()
	w.done = true
	w.piece.Stop()
	w.mu.Unlock()
	w.total.Stop()
	w.cancel(context.Canceled)
}

// Stream is the body of an answer that is still coming. It is bounded in time
// and, after unpacking, in size. Closing it ends the request.
type Stream struct {
	Type string // content type

	body  io.ReadCloser
	watch *watch
	end   *Endpoint
	left  int64
}

// Read reads from the body. Other errors than io.EOF have a kind.
func (s *Stream) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if n > 0 {
		s.watch.alive(false)
		s.left -= int64(n)
		if s.left < 0 {
			return n, &model.Error{Kind: model.KindProtocol, URL: s.end.URL(),
				Message: fmt.Sprintf("the reply of %s is larger than %d MiB", s.end.URL(), maxStream>>20)}
		}
	}
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && s.watch.ctx.Err() == nil {
		return n, err
	}
	return n, s.end.explain(s.watch, err, true)
}

// Begun notes that the first piece of the reply itself came: from here on the
// time between two pieces counts.
func (s *Stream) Begun() { s.watch.alive(true) }

// Ending notes that all that matters has come: what may follow is not waited for
// as long.
func (s *Stream) Ending() {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	s.watch.limits.Idle = min(s.watch.limits.Idle, 10*time.Second)
	if !s.watch.done {
		s.watch.piece.Reset(s.watch.limits.Idle)
	}
}

// Close ends the request.
func (s *Stream) Close() error {
	s.watch.stop()
	return s.body.Close()
}

// dialTimeout marks a connection that did not come about in time.
type dialTimeout struct{ err error }

func (d *dialTimeout) Error() string { return d.err.Error() }
func (d *dialTimeout) Unwrap() error { return d.err }

type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// boundedDial gives up after limit, whatever dial does.
func boundedDial(dial dialFunc, limit time.Duration) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		short, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		conn, err := dial(short, network, addr)
		var slow net.Error
		if err != nil && ctx.Err() == nil && (short.Err() != nil || errors.As(err, &slow) && slow.Timeout()) {
			return nil, &dialTimeout{err}
		}
		return conn, err
	}
}
