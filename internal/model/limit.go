package model

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"
)

// Slots bounds the calls in flight at one endpoint. Every model that the
// endpoint serves shares the endpoint's Slots. A slot is taken before a call is
// sent and given back when it ended, so that calls that start together cannot
// pass the bound together.
type Slots struct {
	n   int
	sem *semaphore.Weighted
}

// NewSlots allows n calls at once; less than 1 counts as 1.
func NewSlots(n int) *Slots {
	n = max(n, 1)
	return &Slots{n: n, sem: semaphore.NewWeighted(int64(n))}
}

// Limit wraps m so that its calls take one of the slots. Callers that have to
// wait are served in the order in which they came, and are told through the
// stream that they wait.
func (s *Slots) Limit(m Model) Model { return &limited{m: m, slots: s} }

type limited struct {
	m     Model
	slots *Slots
}

func (l *limited) Call(ctx context.Context, req Request, stream func(Delta)) (Reply, error) {
	if !l.slots.sem.TryAcquire(1) {
		if stream != nil {
			stream(Delta{Waiting: fmt.Sprintf("waiting for one of the %d calls at the server to end", l.slots.n)})
		}
		if err := l.slots.sem.Acquire(ctx, 1); err != nil {
			return Reply{}, err
		}
	}
	defer l.slots.sem.Release(1)
	return l.m.Call(ctx, req, stream)
}

func (l *limited) Describe(ctx context.Context) (Info, error) { return describe(ctx, l.m) }

// describe asks the wrapped model, for the middleware that passes it on.
func describe(ctx context.Context, m Model) (Info, error) {
	if d, ok := m.(Describer); ok {
		return d.Describe(ctx)
	}
	return Info{}, nil
}
