package child

import (
	"context"
	"errors"
	"sync"
)

// maxWaiting bounds the queue.
const maxWaiting = 64

var errBusy = errors.New("too many requests are waiting")

// turns lets one request work at a time, in the order in which they came.
type turns struct {
	mu      sync.Mutex
	busy    bool
	waiting []chan struct{}
}

func newTurns() *turns { return &turns{} }

// try takes the turn if nobody has it.
func (t *turns) try() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy {
		return false
	}
	t.busy = true
	return true
}

// enter stands in line. The channel closes when it is this request's turn;
// whoever gives up before calls leave.
func (t *turns) enter() (chan struct{}, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := make(chan struct{})
	if !t.busy {
		t.busy = true
		close(turn)
		return turn, nil
	}
	if len(t.waiting) >= maxWaiting {
		return nil, errBusy
	}
	t.waiting = append(t.waiting, turn)
	return turn, nil
}

// leave gives the turn up, or the place in line.
func (t *turns) leave(turn chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, w := range t.waiting {
		if w == turn {
			t.waiting = append(t.waiting[:i], t.waiting[i+1:]...)
			return
		}
	}
	t.next()
}

// done gives the turn to the next in line.
func (t *turns) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next()
}

func (t *turns) next() {
	if len(t.waiting) == 0 {
		t.busy = false
		return
	}
	close(t.waiting[0])
	t.waiting = t.waiting[1:]
}

// wait stands in line until it is this request's turn. beat is called now and
// then while it waits.
func (t *turns) wait(ctx context.Context, beat <-chan struct{}, on func()) error {
	turn, err := t.enter()
	if err != nil {
		return err
	}
	for {
		select {
		case <-turn:
			return nil
		case <-beat:
			on()
		case <-ctx.Done():
			t.leave(turn)
			return ctx.Err()
		}
	}
}
