// Package stream reads the streams that model servers send and gathers a reply
// from their pieces. The reply is the same for every way of cutting it.
//
// Nothing here is safe for use by several goroutines: one call has one stream.
package stream

import (
	"encoding/json"
	"fmt"
	"strings"

	"towpath/internal/model"
	"towpath/internal/model/salvage"
)

// maxReply bounds text, reasoning and arguments of one reply together, in bytes.
const maxReply = 32 << 20

// Options say what a reply may hold.
type Options struct {
	Tools  []model.ToolDef   // on offer; none leaves calls in text alone
	Schema bool              // the reply's text must be JSON
	Emit   func(model.Delta) // may be nil
}

// Accumulator gathers one reply.
type Accumulator struct {
	opt     Options
	content strings.Builder
	thought strings.Builder // from a field of its own
	split   splitter
	calls   calls
	inText  cycle
	inMind  cycle
	size    int
}

// New makes an Accumulator.
func New(opt Options) *Accumulator { return &Accumulator{opt: opt} }

// Text takes the next piece of the content. The error is a *model.Error of kind
// KindDegenerate when the content repeats itself without end, or KindProtocol
// when it is too large.
func (a *Accumulator) Text(s string) error {
	if s == "" {
		return nil
	}
	a.content.WriteString(s)
	a.emit(a.split.add(s))
	return a.check(&a.inText, s)
}

// Reasoning takes the next piece of reasoning that has a field of its own.
func (a *Accumulator) Reasoning(s string) error {
	if s == "" {
		return nil
	}
	a.thought.WriteString(s)
	a.emit(s, "")
	return a.check(&a.inMind, s)
}

// Call takes a piece of a tool call.
func (a *Accumulator) Call(p CallPiece) error {
	a.calls.add(p)
	return a.check(nil, p.Name+p.Arguments)
}

// Empty says whether nothing came so far.
func (a *Accumulator) Empty() bool { return a.size == 0 }

// Partial is what came of the content so far, bounded, for error texts.
func (a *Accumulator) Partial() string {
	const most = 2000
	s := a.content.String()
	if s == "" {
		s = a.thought.String()
	}
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func (a *Accumulator) emit(reasoning, text string) {
	if a.opt.Emit != nil && reasoning+text != "" {
		a.opt.Emit(model.Delta{Text: text, Reasoning: reasoning})
	}
}

func (a *Accumulator) check(c *cycle, s string) error {
	if a.size += len(s); a.size > maxReply {
		return &model.Error{Kind: model.KindProtocol, Message: fmt.Sprintf("the reply is larger than %d MiB", maxReply>>20)}
	}
	if c == nil {
		return nil
	}
	if unit := c.add(s); unit != "" {
		return a.degenerate(unit)
	}
	return nil
}

func (a *Accumulator) degenerate(unit string) error {
	return &model.Error{Kind: model.KindDegenerate, Raw: a.Partial(),
		Message: fmt.Sprintf("the reply repeats itself without end (%.60q)", unit),
		Mend:    "try again, with another temperature or another model"}
}

// Broken explains a stream that ended without an end marker. err is what the
// reader said, nil or io.EOF where the body ended regularly. Servers that notice
// a repetition themselves just stop, so that is told as what it is.
func (a *Accumulator) Broken(err error) error {
	for _, c := range []*cycle{&a.inText, &a.inMind} {
		if unit := c.ending(); unit != "" {
			return a.degenerate(unit)
		}
	}
	return &model.Error{Kind: model.KindInterrupted, Err: err, Raw: a.Partial(),
		Message: "the reply broke off before its end marker",
		Mend:    "run the same command again, and look at the server's log if it happens again"}
}

// Finish gives the reply, once the stream said that it ended and how. The
// provider fills in usage, model and times.
func (a *Accumulator) Finish(f model.Finish) (model.Reply, error) {
	a.emit(a.split.flush())
	if a.calls.lost > 0 {
		return model.Reply{}, &model.Error{Kind: model.KindProtocol, Raw: a.Partial(),
			Message: "the server sent pieces of a tool call that belong to no call"}
	}
	reasoning, text := Split(a.content.String())
	r := model.Reply{
		Text:      text,
		Reasoning: a.thought.String() + reasoning,
		Finish:    f,
		ToolCalls: a.calls.finish(f == model.FinishLength),
	}
	ended := f == model.FinishStop || f == model.FinishToolCalls
	if ended && len(r.ToolCalls) == 0 && len(a.opt.Tools) > 0 {
		if found := salvage.Calls(r.Text, a.opt.Tools); len(found) > 0 {
			r.ToolCalls, r.Recovered, r.Text = named(found), true, ""
		}
	}
	if a.opt.Schema && ended && len(r.ToolCalls) == 0 && strings.Trim(r.Text, blanks) == "" {
		// Some servers put a constrained answer where the reasoning goes.
		if s := strings.Trim(r.Reasoning, blanks); strings.HasPrefix(s, "{") && json.Valid([]byte(s)) {
			r.Text = s
		}
	}
	switch {
	case len(r.ToolCalls) > 0 && ended:
		r.Finish = model.FinishToolCalls
	case f == model.FinishToolCalls:
		r.Finish = model.FinishStop
	}
	return r, nil
}
