package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"towpath/internal/model"
	"towpath/internal/schema"
	"towpath/internal/tool"
)

const (
	sideBySide = 8 // calls that only read, at a time
	patience   = 3 // invalid arguments in a row of one tool
)

// result is what a tool gave, whole, so that it can be shown shorter later.
type result struct {
	text      string
	untrusted bool
	limit     int    // tokens that the model sees
	seed      string // of the fence
	notes     []string
}

// planned is a call that the model asked for, with what becomes of it.
type planned struct {
	call   model.ToolCall
	tool   tool.Tool
	spec   tool.Spec
	args   json.RawMessage
	refuse string // why it is not run
	ran    bool
	result tool.Result
	err    error
}

// callTools runs the calls of one reply and adds them, with their results, to
// the conversation. Every call gets a result, also when the turn ends here.
func (r *turn) callTools(ctx context.Context, reply model.Reply) (*cut, error) {
	if strings.TrimSpace(reply.Text) != "" {
		r.out.Candidates = append(r.out.Candidates, reply.Text)
	}
	limit := r.resultCap(len(reply.ToolCalls))
	if r.tools[r.reader] != nil {
		r.tools[r.reader] = r.kept.Reader(limit * 9 / 10) // a page must not be cut again
	}
	plan, stop := r.plan(reply.ToolCalls)
	calls := make([]model.ToolCall, len(plan))
	for i, p := range plan {
		calls[i] = p.call
	}
	r.messages = append(r.messages, model.Message{Role: model.RoleAssistant, Text: reply.Text, ToolCalls: calls})
	err := r.runAll(ctx, plan)
	for _, p := range plan {
		r.answer(p, limit)
	}
	r.openReader()
	if err != nil {
		return nil, err
	}
	for _, p := range plan {
		if p.tool != nil && p.spec.Polling {
			continue
		}
		if c := r.guard.add(signature(p)); c != nil && stop == nil {
			stop = c
		}
	}
	if stop == nil && r.guard.repeated {
		r.nudge("you made the same call with the same arguments again. Its result will not change: use what you have, ask for something else, or answer")
	}
	r.guard.repeated = false
	return stop, nil
}

// plan decides, before anything runs, which calls run. The limit of calls is
// taken here, so that calls side by side cannot pass it together.
func (r *turn) plan(calls []model.ToolCall) ([]*planned, *cut) {
	var stop *cut
	var plan []*planned
	for _, c := range calls {
		p := &planned{call: r.identify(c)}
		plan = append(plan, p)
		if r.asked >= r.Limits.ToolCalls {
			p.refuse = "not run: the limit of tool calls of this turn is reached"
			stop = &cut{StopCalls, fmt.Sprintf("the limit of %d tool calls was reached", r.Limits.ToolCalls)}
			continue
		}
		r.asked++
		t, ok := r.tools[c.Name]
		if !ok {
			p.refuse = r.unknown(c.Name)
			continue
		}
		p.spec = t.Spec()
		args, err := tool.Validate(p.spec, c.Arguments)
		if err != nil {
			p.refuse = err.Error()
			r.failed[c.Name] = p.refuse
			r.invalid[c.Name]++
			if r.invalid[c.Name] >= patience && stop == nil {
				stop = &cut{StopInvalid, fmt.Sprintf("%s was called %d times with arguments that cannot be used; the last time: %s",
					c.Name, r.invalid[c.Name], err)}
			}
			continue
		}
		r.invalid[c.Name] = 0
		p.tool, p.args = t, args
	}
	return plan, stop
}

// identify gives the call an id of its own, where the server gave none.
func (r *turn) identify(c model.ToolCall) model.ToolCall {
	for n := len(r.ids) + 1; c.ID == "" || r.ids[c.ID]; n++ {
		c.ID = fmt.Sprintf("call_%d", n)
	}
	r.ids[c.ID] = true
	return c
}

func (r *turn) unknown(name string) string {
	nearest := tool.Nearest(name, r.names)
	for _, n := range r.names {
		if strings.HasSuffix(n, "_"+name) {
			nearest = n
			break
		}
	}
	return (&tool.UnknownError{What: "tool", Name: name, Nearest: nearest, Known: r.names}).Error()
}

// runAll runs the plan in order. Calls that only read run side by side, up to
// the next one with effects.
func (r *turn) runAll(ctx context.Context, plan []*planned) error {
	for i := 0; i < len(plan); {
		if plan[i].tool == nil {
			i++
			continue
		}
		if !plan[i].spec.ReadOnly {
			if err := r.runWithEffects(ctx, plan[i]); err != nil {
				return err
			}
			i++
			continue
		}
		end := i
		for end < len(plan) && (plan[end].tool == nil || plan[end].spec.ReadOnly) {
			end++
		}
		readAll(ctx, plan[i:end])
		for _, p := range plan[i:end] {
			if err := r.settle(ctx, p); err != nil {
				return err
			}
		}
		i = end
	}
	return nil
}

func readAll(ctx context.Context, plan []*planned) {
	slots := make(chan struct{}, sideBySide)
	var wait sync.WaitGroup
	for _, p := range plan {
		if p.tool == nil {
			continue
		}
		wait.Add(1)
		go func() {
			defer wait.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			p.run(ctx)
		}()
	}
	wait.Wait()
}

// run calls the tool. A panic of a tool costs the call and not the run.
func (p *planned) run(ctx context.Context) {
	defer func() {
		if v := recover(); v != nil {
			p.err = fmt.Errorf("the tool broke: %v", v)
		}
	}()
	if err := ctx.Err(); err != nil {
		p.err = err
		return
	}
	p.ran = true
	p.result, p.err = p.tool.Call(tool.WithCallID(ctx, p.call.ID), p.args)
}

// runWithEffects asks for leave where it is needed, then runs the call.
func (r *turn) runWithEffects(ctx context.Context, p *planned) error {
	if r.tainted || p.spec.Destructive {
		q := Question{Spec: p.spec, Arguments: p.args, Untrusted: r.tainted}
		if r.Approve == nil {
			return &LeaveError{q}
		}
		ok, err := r.Approve(ctx, q)
		if err != nil {
			return fmt.Errorf("asking for leave to call %s: %w", p.spec.Name, err)
		}
		if !ok {
			p.tool, p.refuse = nil, "not run: the person who watches this run refused it"
			return nil
		}
	}
	p.run(ctx)
	return r.settle(ctx, p)
}

// settle takes in what a call gave. The error is one that ends the turn.
func (r *turn) settle(ctx context.Context, p *planned) error {
	if p.tool == nil {
		return nil
	}
	var unknown *tool.UnknownCallError
	switch {
	case p.err == nil:
	case errors.As(p.err, &unknown):
		return p.err
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		p.result = tool.Result{Text: "the tool could not be run: " + p.err.Error(), IsError: true}
	}
	r.out.Calls++
	if p.result.Untrusted {
		r.tainted = true
	}
	for _, s := range p.result.Sources {
		if !slices.ContainsFunc(r.out.Sources, func(o tool.Source) bool { return o.URL == s.URL }) {
			r.out.Sources = append(r.out.Sources, s)
		}
	}
	if p.result.IsError {
		r.failed[p.call.Name] = firstLine(p.result.Text)
	} else {
		r.used[p.call.Name] = true
	}
	return nil
}

// answer adds the call's result to the conversation.
func (r *turn) answer(p *planned, limit int) {
	m := model.Message{Role: model.RoleTool, ToolCallID: p.call.ID, ToolName: p.call.Name}
	switch {
	case p.refuse != "":
		m.Text, m.IsError = p.refuse, true
	case !p.ran:
		m.Text, m.IsError = "not run: the turn ended", true
	case p.err != nil && p.result.Text == "":
		m.Text, m.IsError = "not finished: the turn ended", true
	default:
		m.IsError = p.result.IsError
		text := p.result.Text
		if strings.TrimSpace(text) == "" {
			text = string(p.result.Structured)
		}
		if strings.TrimSpace(text) == "" {
			text = "(no output)"
		}
		res := &result{text: text, untrusted: p.result.Untrusted, limit: limit, seed: r.Seed + "/" + p.call.ID}
		r.raw[p.call.ID] = res
		m.Text = r.render(res)
	}
	r.messages = append(r.messages, m)
}

// render is a result as the model sees it: cut to its limit, fenced when it
// comes from outside, with the program's notes below.
func (r *turn) render(res *result) string {
	reader := r.reader
	if len(r.defs) == 0 {
		reader = ""
	}
	note, text := r.kept.Cut(res.text, res.limit, res.untrusted, reader)
	if res.untrusted {
		text = tool.Fence(text, res.seed)
	}
	if note != "" {
		text = note + "\n" + text
	}
	for _, n := range res.notes {
		text += "\n\n" + n
	}
	return text
}

// resultCap is how many tokens of one result the model sees, when n results come
// at once: together at most half of what is free.
func (r *turn) resultCap(n int) int {
	const (
		least   = 256
		unknown = 8000 // where nobody states the window
	)
	most := math.MaxInt
	if r.ResultMost > 0 {
		most = max(r.ResultMost/bytesPerToken, 1)
	}
	if r.ResultCap > 0 {
		return min(r.ResultCap, most)
	}
	if r.window <= 0 {
		return min(unknown, most)
	}
	free := r.window - r.maxReply - r.real(r.estimate(r.messages, r.defs))
	return min(max(free/2/max(n, 1), least), most)
}

// bytesPerToken turns a limit in bytes into one in tokens; English has about so
// many, and other writing more, so that the limit is not passed.
const bytesPerToken = 4

// signature is what makes two calls the same.
func signature(p *planned) string {
	args, err := schema.Canonical([]byte(p.call.Arguments))
	if p.args != nil {
		args, err = schema.Canonical(p.args)
	}
	if err != nil {
		args = []byte(p.call.Arguments)
	}
	return p.call.Name + "\x00" + string(args)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if len(line) > 300 {
		line = strings.ToValidUTF8(line[:300], "") + "..."
	}
	return line
}
