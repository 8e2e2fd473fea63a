package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"

	"towpath/internal/journal"
)

// RetryPolicy bounds what Retry does about errors that pass. Zero fields take
// the defaults.
type RetryPolicy struct {
	Attempts int              // calls in all of one question, a loading model apart; default 5
	Wait     time.Duration    // first wait between attempts, doubled each time; default 1 s
	Cap      time.Duration    // longest single wait, also of one that the server asks for; default 60 s
	Crashes  int              // calls in all after crashes of what runs the model; default 2, 1 where the provider tries again itself
	Loading  time.Duration    // how long a server may take to load the model; default 5 min
	Random   func() float64   // 0 to 1, for jitter of at most a quarter of a wait; nil: none
	Now      func() time.Time // for Until; nil: time.Now
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.Attempts <= 0 {
		p.Attempts = 5
	}
	if p.Wait <= 0 {
		p.Wait = time.Second
	}
	if p.Cap <= 0 {
		p.Cap = time.Minute
	}
	if p.Crashes <= 0 {
		p.Crashes = 2
	}
	if p.Loading <= 0 {
		p.Loading = 5 * time.Minute
	}
	if p.Random == nil {
		p.Random = func() float64 { return 0 }
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	return p
}

// Retry repeats calls of m that failed for a reason that passes: a loading
// model, an overload, a rate limit, a reply that broke off, a crash of the
// local model (once), and a server that cannot be reached (once). A wait that
// the server asks for is honoured up to the cap. Beyond it, and when the
// attempts are used up by limits or overloads, the error has Until set: nothing
// else is wrong, and the run pauses (see PausedUntil). The stream is told why it
// waits; after a Waiting the reply begins anew.
func Retry(m Model, p RetryPolicy) Model { return &retried{m: m, policy: p.withDefaults()} }

// PausedUntil reports that err only asks for patience: the same call may
// succeed after the time that it gives.
func PausedUntil(err error) (time.Time, bool) {
	var e *Error
	if errors.As(err, &e) && !e.Until.IsZero() {
		return e.Until, true
	}
	return time.Time{}, false
}

type retried struct {
	m      Model
	policy RetryPolicy
}

func (r *retried) Describe(ctx context.Context) (Info, error) { return describe(ctx, r.m) }

func (r *retried) Call(ctx context.Context, req Request, stream func(Delta)) (Reply, error) {
	q := &question{policy: r.policy, seen: map[Kind]int{}, began: r.policy.Now()}
	waits := retrypolicy.NewBuilder[Reply]().
		HandleIf(func(_ Reply, err error) bool { return q.again(ctx, err) }).
		WithMaxAttempts(-1). // q counts, by kind
		WithDelayFunc(func(failsafe.ExecutionAttempt[Reply]) time.Duration { return q.wait }).
		OnRetryScheduled(func(failsafe.ExecutionScheduledEvent[Reply]) { tell(ctx, stream, q.why) }).
		Build()
	attempt := 0
	reply, err := failsafe.With(waits).WithContext(ctx).Get(func() (Reply, error) {
		attempt++
		return r.m.Call(withAttempt(ctx, attempt), req, stream)
	})
	if err != nil && ctx.Err() != nil && KindOf(err) == "" {
		return Reply{}, context.Cause(ctx)
	}
	return reply, q.final(err)
}

// question is what is known of one question while its attempts fail.
type question struct {
	policy RetryPolicy
	seen   map[Kind]int
	calls  int // failed attempts, loading apart
	began  time.Time
	wait   time.Duration // before the next attempt
	why    string
	pause  time.Time // set when only patience is missing
}

// again decides whether the call that failed with err is made once more, and
// after what wait.
func (q *question) again(ctx context.Context, err error) bool {
	var e *Error
	if ctx.Err() != nil || !errors.As(err, &e) {
		return false
	}
	q.seen[e.Kind]++
	if e.Kind != KindLoading {
		q.calls++
	}
	limit := 0 // attempts in all that errors of this kind are worth
	switch e.Kind {
	case KindLoading:
		return q.loading(e)
	case KindRateLimited, KindOverloaded:
		return q.patience(e)
	case KindQuota:
		q.pause = e.Until
		if q.pause.IsZero() && e.RetryAfter > 0 {
			q.pause = q.policy.Now().Add(e.RetryAfter)
		}
		return false
	case KindInterrupted:
		limit = 3
	case KindUnreachable:
		limit = 2
	case KindCrashed:
		limit = q.policy.Crashes
	}
	if q.seen[e.Kind] >= limit || q.calls >= q.policy.Attempts {
		return false
	}
	q.wait = q.backoff(q.seen[e.Kind])
	q.why = fmt.Sprintf("%s; trying again in %s", e.Message, round(q.wait))
	return true
}

func (q *question) loading(e *Error) bool {
	q.wait = min(q.backoff(q.seen[e.Kind]), 10*time.Second)
	if e.RetryAfter > 0 {
		q.wait = min(e.RetryAfter, q.policy.Cap)
	}
	spent := q.policy.Now().Sub(q.began)
	if spent+q.wait > q.policy.Loading {
		return false
	}
	q.why = fmt.Sprintf("the server is loading the model (%s so far)", round(spent))
	return true
}

// patience waits for a server that has too much to do, as long as it asks and
// the cap allows.
func (q *question) patience(e *Error) bool {
	q.wait = max(q.backoff(q.seen[e.Kind]), e.RetryAfter)
	if e.RetryAfter > q.policy.Cap || q.calls >= q.policy.Attempts {
		q.pause = e.Until
		if q.pause.IsZero() {
			q.pause = q.policy.Now().Add(max(e.RetryAfter, q.policy.Cap))
		}
		return false
	}
	q.why = fmt.Sprintf("%s; trying again in %s", e.Message, round(q.wait))
	return true
}

// backoff doubles from the first wait, never above the cap, jitter included.
func (q *question) backoff(n int) time.Duration {
	wait := q.policy.Wait << min(n-1, 20)
	if wait > q.policy.Cap || wait <= 0 {
		wait = q.policy.Cap
	}
	return min(wait+time.Duration(q.policy.Random()*float64(wait)/4), q.policy.Cap)
}

// final is the error as the caller sees it.
func (q *question) final(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	var exceeded retrypolicy.ExceededError
	if errors.As(err, &exceeded) {
		err = e
	}
	if q.pause.IsZero() || !e.Until.IsZero() {
		return err
	}
	paused := *e
	paused.Until = q.pause
	return &paused
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// tell says why a call waits: to its stream, or to whoever watches its run.
func tell(ctx context.Context, stream func(Delta), why string) {
	if stream != nil {
		stream(Delta{Waiting: why})
		return
	}
	if s, ok := journal.From(ctx); ok {
		s.Transient(journal.Event{Type: journal.Waiting, Note: why})
	}
}

type attemptKey struct{}

func withAttempt(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, attemptKey{}, n)
}

func attemptOf(ctx context.Context) int {
	if n, ok := ctx.Value(attemptKey{}).(int); ok {
		return n
	}
	return 1
}
