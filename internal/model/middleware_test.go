package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// answers gives its steps in order; the last one again and again.
type answers struct {
	mu    sync.Mutex
	steps []func(context.Context, Request) (Reply, error)
	asked []Request
}

func (a *answers) Call(ctx context.Context, req Request, stream func(Delta)) (Reply, error) {
	a.mu.Lock()
	step := a.steps[min(len(a.asked), len(a.steps)-1)]
	a.asked = append(a.asked, req)
	a.mu.Unlock()
	return step(ctx, req)
}

func text(s string) func(context.Context, Request) (Reply, error) {
	return func(context.Context, Request) (Reply, error) { return Reply{Text: s, Finish: FinishStop}, nil }
}

func fault(e Error) func(context.Context, Request) (Reply, error) {
	return func(context.Context, Request) (Reply, error) { return Reply{}, &e }
}

func script(steps ...func(context.Context, Request) (Reply, error)) *answers {
	return &answers{steps: steps}
}

func TestFingerprintSaysWhatIsAsked(t *testing.T) {
	t.Parallel()
	base := func() Request {
		return Request{
			Messages: []Message{{Role: RoleUser, Text: "hi"}, {Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "a1", Name: "f", Arguments: "{}"}}},
				{Role: RoleTool, ToolCallID: "a1", ToolName: "f", Text: "x"}},
			Tools:  []ToolDef{{Name: "f", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}},
			Schema: json.RawMessage(`{"a":1,"b":2}`),
		}
	}
	want := Fingerprint(base())
	if len(want) != 64 {
		t.Fatalf("fingerprint %q", want)
	}
	temp := 0.9
	for name, change := range map[string]func(*Request){
		"sampling":      func(r *Request) { r.Temperature, r.MaxOutput, r.Window, r.Thinking = &temp, 9, 9, true },
		"order of keys": func(r *Request) { r.Schema = json.RawMessage(`{ "b": 2, "a": 1 }`) },
		"spaces":        func(r *Request) { r.Tools[0].Schema = json.RawMessage(`{ "properties": {}, "type": "object"}`) },
		"ids": func(r *Request) {
			r.Messages[1].ToolCalls[0].ID, r.Messages[2].ToolCallID = "zz", "zz"
		},
	} {
		r := base()
		change(&r)
		if Fingerprint(r) != want {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
	seen := map[string]string{want: "nothing"}
	for name, change := range map[string]func(*Request){
		"text":      func(r *Request) { r.Messages[0].Text = "ho" },
		"arguments": func(r *Request) { r.Messages[1].ToolCalls[0].Arguments = `{"a":1}` },
		"error":     func(r *Request) { r.Messages[2].IsError = true },
		"tools":     func(r *Request) { r.Tools = nil },
		"choice":    func(r *Request) { r.ToolChoice = ChoiceRequired },
		"schema":    func(r *Request) { r.Schema = nil },
		"order":     func(r *Request) { r.Messages[0], r.Messages[1] = r.Messages[1], r.Messages[0] },
	} {
		r := base()
		change(&r)
		if f := Fingerprint(r); seen[f] != "" {
			t.Errorf("%s gives the fingerprint of %s", name, seen[f])
		} else {
			seen[f] = name
		}
	}
	r := base()
	Fingerprint(r)
	if r.Messages[1].ToolCalls[0].ID != "a1" {
		t.Error("the request was changed")
	}
}

func TestLoadingModelIsWaitedForAndShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loading := fault(Error{Kind: KindLoading, Status: 503, Message: "Loading model"})
		m := script(loading, loading, loading, loading, loading, text("hello"))
		var waits []string
		reply, err := Retry(m, RetryPolicy{Attempts: 2}).Call(t.Context(), Request{}, func(d Delta) {
			if d.Waiting != "" {
				waits = append(waits, d.Waiting)
			}
		})
		if err != nil || reply.Text != "hello" || len(waits) != 5 || !strings.Contains(waits[0], "loading the model") {
			t.Errorf("reply %+v, error %v, waits %q", reply, err, waits)
		}
	})
}

func TestModelThatNeverLoadsIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := script(fault(Error{Kind: KindLoading, Message: "Loading model"}))
		began := time.Now()
		_, err := Retry(m, RetryPolicy{Loading: time.Minute}).Call(t.Context(), Request{}, nil)
		if KindOf(err) != KindLoading || time.Since(began) > time.Minute {
			t.Errorf("error %v after %s", err, time.Since(began))
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := script(fault(Error{Kind: KindRateLimited, Status: 429, RetryAfter: 5 * time.Second}), text("hello"))
		began := time.Now()
		_, err := Retry(m, RetryPolicy{Random: func() float64 { return 1 }}).Call(t.Context(), Request{}, nil)
		if took := time.Since(began); err != nil || took < 5*time.Second || took > 6*time.Second || len(m.asked) != 2 {
			t.Errorf("error %v after %s and %d calls", err, took, len(m.asked))
		}
	})
}

func TestLongRetryAfterPausesWithoutAnotherCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := script(fault(Error{Kind: KindRateLimited, Status: 429, RetryAfter: 18000 * time.Second}))
		began := time.Now()
		_, err := Retry(m, RetryPolicy{}).Call(t.Context(), Request{}, nil)
		until, ok := PausedUntil(err)
		if !ok || !until.Equal(began.Add(18000*time.Second)) || len(m.asked) != 1 || time.Since(began) != 0 {
			t.Errorf("error %v, until %s, %d calls", err, until, len(m.asked))
		}
		if KindOf(err) != KindRateLimited {
			t.Errorf("kind %s", KindOf(err))
		}
	})
}

func TestOverloadInTheStreamIsRetriedThenPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := fault(Error{Kind: KindOverloaded, Message: "overloaded_error"})
		m := script(busy, busy, text("hello"))
		if reply, err := Retry(m, RetryPolicy{}).Call(t.Context(), Request{}, nil); err != nil || reply.Text != "hello" {
			t.Errorf("reply %+v, error %v", reply, err)
		}
		m = script(busy)
		_, err := Retry(m, RetryPolicy{Attempts: 4}).Call(t.Context(), Request{}, nil)
		if _, ok := PausedUntil(err); !ok || len(m.asked) != 4 {
			t.Errorf("error %v after %d calls", err, len(m.asked))
		}
	})
}

func TestCrashRetriesDoNotMultiply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := script(fault(Error{Kind: KindCrashed, Message: "it died twice"}))
		_, err := Retry(m, RetryPolicy{Crashes: 1}).Call(t.Context(), Request{}, nil)
		if KindOf(err) != KindCrashed || len(m.asked) != 1 {
			t.Errorf("error %v after %d calls, want 1: the provider tried again itself", err, len(m.asked))
		}
	})
}

func TestEachKindIsRetriedAsItAllows(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]int{
		KindUnreachable: 2, KindCrashed: 2, KindInterrupted: 3, KindOverflow: 1, KindAuth: 1, KindRequest: 1,
		KindNoModel: 1, KindNoTools: 1, KindTimeout: 1, KindQuota: 1, KindSchema: 1, KindProtocol: 1, KindDegenerate: 1, KindNotRecorded: 1,
	} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := script(fault(Error{Kind: kind, Message: "no"}))
				_, err := Retry(m, RetryPolicy{}).Call(t.Context(), Request{}, nil)
				if KindOf(err) != kind || len(m.asked) != want {
					t.Errorf("error %v after %d calls, want %d", err, len(m.asked), want)
				}
			})
		})
	}
}

func TestJitterIsCapped(t *testing.T) {
	t.Parallel()
	q := &question{policy: RetryPolicy{Random: func() float64 { return 1 }}.withDefaults()}
	for n, want := range map[int]time.Duration{1: 1250 * time.Millisecond, 2: 2500 * time.Millisecond, 7: time.Minute, 90: time.Minute} {
		if got := q.backoff(n); got != want {
			t.Errorf("wait %d is %s, want %s", n, got, want)
		}
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		m := script(fault(Error{Kind: KindRateLimited, RetryAfter: 30 * time.Second}))
		_, err := Retry(m, RetryPolicy{}).Call(ctx, Request{}, nil)
		if err == nil || len(m.asked) != 1 {
			t.Errorf("error %v after %d calls", err, len(m.asked))
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestFanOutNeverPassesTheCap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		server := script(func(context.Context, Request) (Reply, error) {
			n := now.Add(1)
			defer now.Add(-1)
			if n > 2 {
				return Reply{}, &Error{Kind: KindOverloaded, Status: 503, Message: "server busy"}
			}
			for {
				m := most.Load()
				if n <= m || most.CompareAndSwap(m, n) {
					break
				}
			}
			time.Sleep(time.Second)
			return Reply{Text: "ok", Finish: FinishStop}, nil
		})
		slots := NewSlots(2)
		a, b := slots.Limit(server), slots.Limit(server)
		var wait sync.WaitGroup
		for i := range 20 {
			m := a
			if i%2 == 1 {
				m = b
			}
			wait.Add(1)
			go func() {
				defer wait.Done()
				if _, err := m.Call(t.Context(), Request{}, nil); err != nil {
					t.Error(err)
				}
			}()
		}
		wait.Wait()
		if most.Load() != 2 {
			t.Errorf("%d at a time", most.Load())
		}
	})
}

const summary = `{"type":"object","properties":{"summary":{"type":"string"}},"required":["summary"]}`

func TestSchemaIsCheckedWhateverTheServerSays(t *testing.T) {
	t.Parallel()
	m := script(text(`{"{"summary":..`), text("Sure! {\"summary\":\"ok\"}"))
	value, _, err := Structured(t.Context(), m, Request{Messages: []Message{{Role: RoleUser, Text: "sum up"}}}, json.RawMessage(summary))
	if err != nil || string(value) != `{"summary":"ok"}` {
		t.Fatalf("%s, error %v", value, err)
	}
	if string(m.asked[0].Schema) != summary {
		t.Errorf("the schema that was passed is %s", m.asked[0].Schema)
	}
	repair := m.asked[1].Messages
	if len(repair) != 3 || !strings.Contains(repair[2].Text, "{summary: string}") {
		t.Errorf("the repair is %+v", repair)
	}
	m = script(text("# Markdown prose"))
	_, _, err = Structured(t.Context(), m, Request{}, json.RawMessage(summary))
	var e *Error
	if !errors.As(err, &e) || e.Kind != KindSchema || e.Raw != "# Markdown prose" || len(m.asked) != 2 {
		t.Errorf("error %v after %d calls", err, len(m.asked))
	}
}

func TestAnswerInTheReasoningIsReadAndLabelled(t *testing.T) {
	t.Parallel()
	m := script(func(context.Context, Request) (Reply, error) {
		return Reply{Reasoning: `{"summary":"deep"}`, Finish: FinishStop}, nil
	})
	value, reply, err := Structured(t.Context(), m, Request{Thinking: true}, json.RawMessage(summary))
	if err != nil || string(value) != `{"summary":"deep"}` || !reply.FromReasoning || m.asked[0].Thinking {
		t.Errorf("%s, %+v, error %v", value, reply, err)
	}
	m = script(text(`{"summary":"plain"}`))
	if _, reply, err := Structured(t.Context(), m, Request{}, json.RawMessage(summary)); err != nil || reply.FromReasoning {
		t.Errorf("%+v, error %v", reply, err)
	}
}

func TestCutStructuredReplyIsNotCompleted(t *testing.T) {
	t.Parallel()
	cut := func(context.Context, Request) (Reply, error) {
		return Reply{Text: `{"summary":"half`, Finish: FinishLength}, nil
	}
	m := script(cut, text(`{"summary":"whole"}`))
	value, _, err := Structured(t.Context(), m, Request{MaxOutput: 100}, json.RawMessage(summary))
	if err != nil || string(value) != `{"summary":"whole"}` || m.asked[1].MaxOutput != 200 {
		t.Errorf("%s, error %v, asked for %d", value, err, m.asked[1].MaxOutput)
	}
	if _, _, err := Structured(t.Context(), script(cut), Request{}, json.RawMessage(summary)); KindOf(err) != KindSchema {
		t.Errorf("error %v", err)
	}
}

func TestBadSchemaIsRefusedBeforeTheCall(t *testing.T) {
	t.Parallel()
	m := script(text("x"))
	if _, _, err := Structured(t.Context(), m, Request{}, json.RawMessage(`{"type":1}`)); KindOf(err) != KindRequest || len(m.asked) != 0 {
		t.Errorf("error %v after %d calls", err, len(m.asked))
	}
}

func ExamplePausedUntil() {
	err := fmt.Errorf("stage 02: %w", &Error{Kind: KindQuota, Message: "quota used up", Until: time.Date(2030, 1, 2, 3, 4, 0, 0, time.UTC)})
	until, ok := PausedUntil(err)
	fmt.Println(until.Format(time.RFC3339), ok)
	// Output: 2030-01-02T03:04:00Z true
}
