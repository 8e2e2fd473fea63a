package child

import (
	"context"
	"sync"
	"time"
)

// watch notices that native code hangs: while it works, there must be a sign
// of progress now and then.
type watch struct {
	limit time.Duration
	mu    sync.Mutex
	timer *time.Timer
	fired chan struct{}
}

func newWatch(limit time.Duration) *watch {
	return &watch{limit: limit, fired: make(chan struct{})}
}

// run calls hung once if progress fails to come.
func (w *watch) run(ctx context.Context, hung func()) {
	select {
	case <-w.fired:
		hung()
	case <-ctx.Done():
	}
}

// start begins to watch.
func (w *watch) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(w.limit, func() { close(w.fired) })
}

// progress says that native code came back.
func (w *watch) progress() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Reset(w.limit)
	}
}

// stop ends watching.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}
