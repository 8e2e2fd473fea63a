package engine

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"towpath/internal/agent"
	"towpath/internal/workspace"
)

// stop is what the Stop section of a stage without checks bounds. A zero field
// was not written.
type stop struct {
	calls  int
	tokens int
	time   time.Duration
}

var duration = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*(s|secs?|seconds?|m|mins?|minutes?|h|hours?)$`)

// parseStop reads the limits. Rounds and no progress are those of a loop and
// bound nothing here.
func parseStop(st *workspace.Stage) (stop, error) {
	var s stop
	for _, e := range st.Contract.Stop {
		key, value, ok := strings.Cut(e.Text, ":")
		if !ok {
			return s, fmt.Errorf("line %d: %q is not a limit; write it as in \"time: 30m\"", e.Line, e.Text)
		}
		value = strings.ToLower(strings.TrimSpace(value))
		var err error
		switch plain(key) {
		case "rounds", "no progress":
		case "time":
			s.time, err = parseTime(value)
		case "tokens":
			s.tokens, err = parseCount(value)
		case "tool calls":
			s.calls, err = parseCount(value)
		case "cost":
			err = fmt.Errorf("a limit on the cost is not kept by this version; take it out, or limit the tokens")
		default:
			err = fmt.Errorf("there is no such limit; there are rounds, time, tokens, tool calls, cost and no progress")
		}
		if err != nil {
			return s, fmt.Errorf("line %d: %s: %w", e.Line, strings.TrimSpace(key), err)
		}
	}
	return s, nil
}

func parseTime(value string) (time.Duration, error) {
	wrong := fmt.Errorf("%q is not a time of at most %d hours; write it as 90s, 30m or 1h", value, maxHours)
	if d, err := time.ParseDuration(strings.ReplaceAll(value, " ", "")); err == nil && d > 0 && d <= maxHours*time.Hour {
		return d, nil
	}
	m := duration.FindStringSubmatch(value)
	if m == nil {
		return 0, wrong
	}
	unit := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour}[m[2][0]]
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil || n <= 0 || n > float64(maxHours*time.Hour/unit) {
		return 0, wrong
	}
	return time.Duration(n * float64(unit)), nil
}

// maxHours bounds the time of a stage.
const maxHours = 1000

func parseCount(value string) (int, error) {
	n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "", " ", "").Replace(value))
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is not a whole number above zero", value)
	}
	return n, nil
}

// budget shares a stage's limits among the turns of its items. What a turn may
// use is taken out before it starts and what it left is put back, so that turns
// side by side cannot overshoot together.
type budget struct {
	mu       sync.Mutex
	base     agent.Limits // of one turn, where the stage sets none
	most     agent.Limits // of one turn, whatever the stage sets
	limit    stop
	calls    int // left
	tokens   int // left
	deadline time.Time
	slots    int // turns that may run at a time
	busy     int
}

func newBudget(base agent.Limits, limit stop, slots int, now time.Time) *budget {
	b := &budget{base: base, limit: limit, calls: limit.calls, tokens: limit.tokens, slots: max(slots, 1)}
	if limit.time > 0 {
		b.deadline = now.Add(limit.time)
	}
	return b
}

// take gives the limits of the next turn.
func (b *budget) take(now time.Time) (agent.Limits, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.base
	free := max(b.slots-b.busy, 1)
	if b.limit.calls > 0 {
		l.ToolCalls = (b.calls + free - 1) / free
		if l.ToolCalls == 0 {
			return l, fmt.Errorf("the stage's limit of %d tool calls is used up", b.limit.calls)
		}
	}
	if b.limit.tokens > 0 {
		l.Tokens = (b.tokens + free - 1) / free
		if l.Tokens == 0 {
			return l, fmt.Errorf("the stage's limit of %d tokens is used up", b.limit.tokens)
		}
	}
	if b.limit.time > 0 {
		l.Time = b.deadline.Sub(now)
		if l.Time <= 0 {
			return l, fmt.Errorf("the stage's limit of %s is over", b.limit.time)
		}
	}
	l.ToolCalls = lower(l.ToolCalls, b.most.ToolCalls)
	l.Tokens = lower(l.Tokens, b.most.Tokens)
	l.Time = lower(l.Time, b.most.Time)
	b.calls -= l.ToolCalls * has(b.limit.calls)
	b.tokens -= l.Tokens * has(b.limit.tokens)
	b.busy++
	return l, nil
}

// give puts back what a turn did not use.
func (b *budget) give(l agent.Limits, calls, tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy--
	b.calls += max(l.ToolCalls-calls, 0) * has(b.limit.calls)
	b.tokens += max(l.Tokens-tokens, 0) * has(b.limit.tokens)
}

// lower gives the lower of two limits, of which 0 is none.
func lower[T int | time.Duration](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func has(limit int) int {
	if limit > 0 {
		return 1
	}
	return 0
}
