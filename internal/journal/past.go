package journal

import (
	"fmt"
	"slices"
	"sync"
)

// State says what is known of a tool call from an interrupted run.
type State string

// The states of a call. An answer is a person's word about a call that was
// unknown.
const (
	StateNone           State = ""        // never started, or it only read and gave nothing: call it
	StateDone           State = "done"    // its result is known
	StateUnknown        State = "unknown" // it has effects, was started, and nothing confirms it
	StateAnsweredDone   State = "answered_done"
	StateAnsweredRepeat State = "answered_repeat"
	StateAnsweredSkip   State = "answered_skip"
)

// Past answers what an interrupted run knows already, so that its work is not
// done, paid for, or felt outside twice. A nil Past knows nothing. It may be
// used from several goroutines.
type Past struct {
	history *History
	mu      sync.Mutex
	replies map[replyKey][]Reply
	calls   map[string]*pastCall
	order   []string // keys of calls, as they were first started
}

type replyKey struct {
	item int
	call string
}

type pastCall struct {
	call   Call
	result Result
	state  State
}

// NewPast reads a chain of runs, each resuming the one before, the oldest
// first, and what people decided about them.
func NewPast(h *History, runs ...string) (*Past, error) {
	p := &Past{history: h, replies: map[replyKey][]Reply{}, calls: map[string]*pastCall{}}
	if len(runs) == 0 {
		return p, nil
	}
	all, err := h.withDecisions(runs)
	if err != nil {
		return nil, err
	}
	for _, run := range all {
		inChain := slices.Contains(runs, run)
		err := h.Each(run, func(e Event) error {
			if inChain || e.Type == Decision && e.Decision != nil && slices.Contains(runs, e.Decision.RunName) {
				p.add(run, e)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading what an interrupted run did: %w", err)
		}
	}
	return p, nil
}

// withDecisions gives the chain and, in order among them, the runs of its stage
// after its first: a decision about the chain is a run of its own.
func (h *History) withDecisions(runs []string) ([]string, error) {
	names, err := h.names()
	if err != nil {
		return nil, err
	}
	var all []string
	first := slices.IndexFunc(names, func(n runName) bool { return slices.Contains(runs, n.name) })
	if first < 0 {
		return slices.Clone(runs), nil
	}
	stage := names[first].stage
	for _, n := range names[first:] {
		if slices.Contains(runs, n.name) || n.stage == stage {
			all = append(all, n.name)
		}
	}
	return all, nil
}

// add takes one event into account. Events come in the order in which they
// happened, so the last word counts.
func (p *Past) add(run string, e Event) {
	switch {
	case e.Type == ModelReply && e.Reply != nil:
		if e.Reply.Error != "" || e.Reply.From != "" {
			return
		}
		if !p.readable(e.Reply.Text, e.Reply.Reasoning) {
			return // a power cut took it: it is asked for again
		}
		r := *e.Reply
		r.From = run
		k := replyKey{e.Item, r.Call}
		p.replies[k] = append(p.replies[k], r)
	case e.Type == ToolCall && e.Call != nil:
		c := p.at(e.Call.Key)
		c.call = *e.Call
		if c.state = StateUnknown; e.Call.ReadOnly {
			c.state = StateNone
		}
	case e.Type == ToolResult && e.Result != nil:
		c := p.at(e.Result.Key)
		if e.Result.Error != "" || !p.readable(e.Result.Text) || e.Result.From != "" && c.state == StateDone {
			return
		}
		c.state, c.result = StateDone, *e.Result
		if c.result.From == "" {
			c.result.From = run
		}
	case e.Type == Decision && e.Decision != nil && e.Decision.Call != "":
		c := p.at(e.Decision.Call)
		switch e.Decision.Answer {
		case "done":
			c.state = StateAnsweredDone
		case "repeat":
			c.state = StateAnsweredRepeat
		case "skip":
			c.state = StateAnsweredSkip
		}
	}
}

// readable reports whether texts are whole.
func (p *Past) readable(all ...Body) bool {
	for _, b := range all {
		if _, err := p.history.Text(b); err != nil {
			return false
		}
	}
	return true
}

func (p *Past) at(key string) *pastCall {
	c := p.calls[key]
	if c == nil {
		c = &pastCall{}
		p.calls[key] = c
		p.order = append(p.order, key)
	}
	return c
}

// Reply gives the next reply, not yet given out, to the request with that
// fingerprint within an item (0 outside a for-each). Its From names the run
// that it comes from. Equal requests are answered in their order.
func (p *Past) Reply(item int, call string) (Reply, bool) {
	if p == nil {
		return Reply{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k := replyKey{item, call}
	left := p.replies[k]
	if len(left) == 0 {
		return Reply{}, false
	}
	p.replies[k] = left[1:]
	return left[0], true
}

// Result gives what is known of the call with that key. The Result is set with
// StateDone only; its From names the run that it comes from.
func (p *Past) Result(key string) (Result, State) {
	if p == nil {
		return Result{}, StateNone
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[key]
	if c == nil {
		return Result{}, StateNone
	}
	if c.state == StateDone {
		return c.result, StateDone
	}
	return Result{}, c.state
}

// Text gives the text of a body in a reply or result that Past gave out.
func (p *Past) Text(b Body) (string, error) {
	if b.Blob == "" || p == nil || p.history == nil {
		return b.Text, nil
	}
	return p.history.Text(b)
}

// Unknown gives the calls that a person has to answer for, in the order in
// which they were started.
func (p *Past) Unknown() []Call {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var calls []Call
	for _, key := range p.order {
		if c := p.calls[key]; c.state == StateUnknown {
			calls = append(calls, c.call)
		}
	}
	return calls
}
