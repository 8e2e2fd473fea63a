package engine

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"towpath/internal/agent"
	"towpath/internal/workspace"
)

func stopped(lines ...string) *workspace.Stage {
	st := &workspace.Stage{}
	for i, l := range lines {
		st.Contract.Stop = append(st.Contract.Stop, workspace.Entry{Text: l, Line: i + 1})
	}
	return st
}

func TestLimitsAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]stop{
		"time: 30m":           {time: 30 * time.Minute},
		"Time: 90 seconds":    {time: 90 * time.Second},
		"time: 1.5 hours":     {time: 90 * time.Minute},
		"time: 1h30m":         {time: 90 * time.Minute},
		"tokens: 200000":      {tokens: 200000},
		"tokens: 200,000":     {tokens: 200000},
		"**tool calls**: 40":  {calls: 40},
		"rounds: 6":           {},
		"no progress: 3":      {},
		"time : 2 min":        {time: 2 * time.Minute},
		"tokens: 1_000 000":   {tokens: 1000000},
		"`tool calls`:   40 ": {calls: 40},
	} {
		got, err := parseStop(stopped(text))
		if err != nil || got != want {
			t.Errorf("%q gives %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"time: soon", "time: -3m", "tokens: none", "tool calls: 0", "cost: $1", "time", "patience: 3"} {
		if _, err := parseStop(stopped("rounds: 1", text)); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q gives %v, want an error that names line 2", text, err)
		}
	}
}

func TestBudgetIsReservedBeforeItIsSpent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	b := newBudget(agent.Limits{ToolCalls: 7, Tokens: 9}, stop{calls: 10}, 10, now)
	var mu sync.Mutex
	var wg sync.WaitGroup
	total := 0
	for range 10 {
		wg.Go(func() {
			l, err := b.take(now)
			if err != nil {
				return
			}
			if l.Tokens != 9 {
				t.Errorf("tokens %d, want the turn's own 9", l.Tokens)
			}
			mu.Lock()
			total += l.ToolCalls
			mu.Unlock()
		})
	}
	wg.Wait()
	if total != 10 {
		t.Errorf("ten turns side by side may make %d calls together, the limit is 10", total)
	}
	if _, err := b.take(now); err == nil {
		t.Error("an eleventh turn was let in")
	}
	b.give(agent.Limits{ToolCalls: 1}, 0, 0)
	if l, err := b.take(now); err != nil || l.ToolCalls != 1 {
		t.Errorf("what was given back is not there: %+v, %v", l, err)
	}
}

// A contract comes with a workspace; what the user allows holds for it too.
func TestContractCannotLoosenTheUsersLimits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	b := newBudget(agent.Limits{ToolCalls: 5, Time: time.Minute}, stop{calls: 100, tokens: 900, time: time.Hour}, 1, now)
	b.most = agent.Limits{ToolCalls: 5, Time: time.Minute}
	l, err := b.take(now)
	if want := (agent.Limits{ToolCalls: 5, Tokens: 900, Time: time.Minute}); err != nil || l != want {
		t.Errorf("the turn may use %+v, %v; want %+v", l, err, want)
	}
}

func TestStagesTimeIsSharedByItsItems(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	b := newBudget(agent.Limits{}, stop{time: time.Minute}, 1, now)
	if l, err := b.take(now.Add(45 * time.Second)); err != nil || l.Time != 15*time.Second {
		t.Errorf("the turn has %v, %v; want the 15 s that are left", l.Time, err)
	}
	if _, err := b.take(now.Add(time.Minute)); err == nil {
		t.Error("a turn was let in after the time was over")
	}
}

func FuzzStop(f *testing.F) {
	for _, s := range []string{"time: 30m", "tokens: 9999999999999999999", "tool calls: 4", "cost: $1", ":", "time: 1e308h", "time: 9999999999h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseStop(stopped(text))
		if err == nil && (s.calls < 0 || s.tokens < 0 || s.time < 0) {
			t.Errorf("%q gives %+v", text, s)
		}
	})
}

func FuzzMergeMarker(f *testing.F) {
	f.Add([]byte("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n"))
	f.Add([]byte("Title\n=======\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if line := mergeMarker(data); line < 0 || line > strings.Count(string(data), "\n")+1 {
			t.Errorf("line %d of %q", line, data)
		}
	})
}

func TestMergeMarkersNeedEachOther(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n":                        2,
		"a\r\n<<<<<<< HEAD\r\nb\r\n=======\r\nc\r\n>>>>>>> x\r\n":            2,
		"Title\n=======\ntext\n":                                             0,
		"<<<<<<< HEAD\n":                                                     0,
		">>>>>>> x\n=======\n<<<<<<< HEAD\n":                                 0,
		"<<<<<<< A\n<<<<<<< B\nx\n=======\ny\n>>>>>>> B\n=======\n>>>>>>> A": 1,
	} {
		if got := mergeMarker([]byte(text)); got != want {
			t.Errorf("%q gives line %d, want %d", text, got, want)
		}
	}
}

func TestHeadingsAreComparedAsPeopleReadThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, title, want string }{
		{"## A b\n\n## A b\n\ntext", "A b", "## A b\n\ntext"},
		{"# **A B**\n## a b:\ntext", "A b", "## a b:\ntext"},
		{"**A b**\n\n## A b\ntext", "A b", "## A b\ntext"},
		{"## A b\n\ntext\n\n## A b\n", "A b", "## A b\n\ntext\n\n## A b\n"},
		{"## Other\n\n## A b\n", "A b", "## Other\n\n## A b\n"},
		{"A b\n\n## A b\n", "A b", "A b\n\n## A b\n"},
		{"## A b", "A b", "## A b"},
	} {
		if got := oneHeading(c.text, c.title); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.text, got, c.want)
		}
	}
}

func TestEmptyResultIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " \n\t\n", strings.Repeat("x", MaxOutput)} {
		if _, err := accept("a.md", text); err == nil {
			t.Errorf("a text of %d bytes was accepted", len(text))
		}
	}
	if data, err := accept("a.md", "\n\n  indented\n\n\n"); err != nil || string(data) != "  indented\n" {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestExitCodesAreFoundInTheChain(t *testing.T) {
	t.Parallel()
	if got := ExitCode(errors.Join(errors.New("x"), usage("", "y"))); got != CodeUsage {
		t.Errorf("got %d", got)
	}
}
