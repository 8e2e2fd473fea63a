package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"towpath/internal/model"
	"towpath/internal/model/endpoint"
	"towpath/internal/model/stream"
	"towpath/internal/prompt"
)

// attempts bounds how often a request is sent again without a refused field.
const attempts = 7

// Call sends one chat request and waits for the whole reply. A request that is
// refused for a field that can be done without is sent again without it, and the
// field is left out from then on.
func (m *served) Call(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Reply, error) {
	if req.ToolChoice == model.ChoiceNone {
		req.Tools = nil
	}
	for range attempts {
		no := m.client.without(m.name)
		body := m.body(req, no)
		reply, err := m.once(ctx, req, body, emit)
		var refused *endpoint.Refusal
		if errors.As(err, &refused) && !refused.MidStream && retryable(err) {
			if more, ok := without(no, refused, body); ok {
				m.client.remember(m.name, more)
				continue
			}
		}
		m.learn(err)
		if err == nil && body.ToolChoice != nil && len(reply.ToolCalls) == 0 && reply.Finish == model.FinishStop {
			no.ignoresChoice = true
			m.client.remember(m.name, no)
		}
		return reply, named(err, m.id())
	}
	return model.Reply{}, &model.Error{Kind: model.KindRequest, Model: m.id(), URL: m.client.URL(),
		Message: "the server refuses one field of the request after the other", Mend: "check that the base URL is a chat server"}
}

// retryable says whether a refusal can be about a field.
func retryable(err error) bool {
	switch model.KindOf(err) {
	case model.KindRequest, model.KindProtocol, model.KindOverloaded, model.KindNoModel:
		return true
	}
	return false
}

func named(err error, id string) error {
	var e *model.Error
	if errors.As(err, &e) && e.Model == "" {
		e.Model = id
	}
	return err
}

func (c *Client) without(name string) refusedFields {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused[name]
}

func (c *Client) remember(name string, no refusedFields) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[name] = no
}

// learn keeps the window that an overflow stated.
func (m *served) learn(err error) {
	var e *model.Error
	if errors.As(err, &e) && e.Kind == model.KindOverflow && e.Window > 0 {
		m.client.mu.Lock()
		defer m.client.mu.Unlock()
		m.client.windows[m.name] = e.Window
	}
}

// once sends the request once.
func (m *served) once(ctx context.Context, req model.Request, body chatRequest, emit func(model.Delta)) (model.Reply, error) {
	c := m.client
	started := c.end.Now()
	s, err := c.end.Stream(ctx, "/chat/completions", body)
	if err != nil {
		var refused *endpoint.Refusal
		if errors.As(err, &refused) {
			return model.Reply{}, c.end.Classify(refused, c.asked(m.name, len(body.Tools) > 0))
		}
		return model.Reply{}, c.mend(err)
	}
	defer s.Close()
	in := bufio.NewReader(s)
	r := reading{m: m, s: s, in: in, emit: emit, started: started, acc: stream.New(stream.Options{Tools: req.Tools, Schema: len(req.Schema) > 0, Emit: emit})}
	if first, _ := in.Peek(1); strings.Contains(s.Type, "json") && string(first) == "{" {
		err = r.single()
	} else {
		err = r.events(ctx)
	}
	if err != nil {
		return model.Reply{}, err
	}
	if err := m.whole(r, body); err != nil {
		return model.Reply{}, err
	}
	return r.reply()
}

// reply puts the reply together once the stream has ended.
func (r *reading) reply() (model.Reply, error) {
	finish := finishOf(r.finish)
	if finish == "" {
		return model.Reply{}, &model.Error{Kind: model.KindInterrupted, URL: r.m.client.URL(), Raw: r.acc.Partial(),
			Message: fmt.Sprintf("the server gave up in the middle of the reply (%s)", r.finish)}
	}
	reply, err := r.acc.Finish(finish)
	if err != nil {
		return reply, err
	}
	reply.Model = r.m.id()
	if r.model != "" {
		reply.Model = r.m.client.id(r.model)
	}
	reply.Usage = r.usage.model(reply)
	reply.FirstByte, reply.Elapsed = r.first, r.m.client.end.Now().Sub(r.started)
	return reply, nil
}

// finishOf reads the reason why a reply ended; "" where it did not.
func finishOf(reason string) model.Finish {
	switch strings.ToLower(reason) {
	case "length", "max_tokens", "model_length", "max_output_tokens":
		return model.FinishLength
	case "tool_calls", "function_call", "tool_use":
		return model.FinishToolCalls
	case "content_filter", "safety", "recitation":
		return model.FinishFiltered
	case "error", "abort", "cancelled", "canceled", "insufficient_system_resource":
		return ""
	}
	return model.FinishStop
}

// reading is one reply that is being read.
type reading struct {
	m       *served
	s       *endpoint.Stream
	in      io.Reader // reads s
	acc     *stream.Accumulator
	emit    func(model.Delta) // may be nil
	started time.Time
	first   time.Duration
	finish  string // reason, once given
	done    bool   // the end marker came
	model   string // that answered
	usage   usage
}

// events reads server-sent events up to the end marker. A finish reason without
// an end marker is an end too; usage may come after it.
func (r *reading) events(ctx context.Context) error {
	events := stream.NewEvents(r.in)
	for {
		ev, err := events.Next()
		if err != nil {
			return r.ended(ctx, err)
		}
		data := strings.TrimSpace(string(ev.Data))
		if data == "[DONE]" {
			r.done = true
			return r.ended(ctx, io.EOF)
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			if ev.Name == "error" {
				return r.refused([]byte(data))
			}
			if _, next := events.Next(); next != nil { // the last piece: it was cut
				return r.ended(ctx, io.ErrUnexpectedEOF)
			}
			return &model.Error{Kind: model.KindProtocol, URL: r.m.client.URL(), Err: err, Raw: data[:min(len(data), 400)],
				Message: r.m.client.URL() + " sends an event that is not JSON"}
		}
		if err := r.take(c, ev.Name, []byte(data)); err != nil {
			return err
		}
	}
}

// ended says whether the stream may end here.
func (r *reading) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && r.finish == "" && !r.done {
		return context.Cause(ctx)
	}
	if r.finish != "" || r.done && !r.acc.Empty() {
		return nil
	}
	if errors.Is(err, stream.ErrTooLong) {
		return &model.Error{Kind: model.KindProtocol, URL: r.m.client.URL(), Err: err, Message: err.Error()}
	}
	if k := model.KindOf(err); k != "" && k != model.KindInterrupted {
		return err
	}
	return r.acc.Broken(err)
}

// single reads a reply that came in one piece, from a server that does not stream.
func (r *reading) single() error {
	b, err := io.ReadAll(r.in)
	if err != nil {
		return err
	}
	var c chunk
	if err := json.Unmarshal(b, &c); err != nil {
		return &model.Error{Kind: model.KindProtocol, URL: r.m.client.URL(), Err: err, Raw: string(b[:min(len(b), 400)]),
			Message: r.m.client.URL() + " answers with something that is not a chat reply", Mend: "check the base URL"}
	}
	if err := r.take(c, "", b); err != nil {
		return err
	}
	if r.finish == "" {
		return r.acc.Broken(io.EOF)
	}
	return nil
}

// refused reads an error that came in the middle of the stream.
func (r *reading) refused(data []byte) error {
	refused := endpoint.ParseRefusal(data)
	refused.MidStream = true
	return r.m.client.end.Classify(refused, r.m.client.asked(r.m.name, false))
}

func (r *reading) take(c chunk, event string, raw []byte) error {
	if event == "error" || len(c.Error) > 0 && string(c.Error) != "null" {
		return r.refused(raw)
	}
	if c.Model != "" {
		if !r.m.mayAnswer(c.Model) {
			return &model.Error{Kind: model.KindProtocol, URL: r.m.client.URL(),
				Message: fmt.Sprintf("%q answers instead of the model that was asked for", c.Model), Mend: "check which model the server has loaded"}
		}
		r.model = c.Model
	}
	r.s.Begun()
	if p := c.Progress; p != nil && p.Total > 0 && r.emit != nil {
		r.emit(model.Delta{Waiting: fmt.Sprintf("reading the prompt, %d%%", 100*p.Processed/p.Total)})
	}
	r.usage.take(c)
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		for _, d := range []*delta{choice.Delta, choice.Message} {
			if d == nil {
				continue
			}
			if err := r.delta(*d); err != nil {
				return err
			}
		}
		if choice.Finish != nil && *choice.Finish != "" {
			r.finish = *choice.Finish
			r.s.Ending()
		}
	}
	return nil
}

// mayAnswer says whether the model that answers can be the one asked for.
// llama.cpp serves one model and names its file; a router may choose any.
func (m *served) mayAnswer(answered string) bool {
	switch {
	case m.client.cfg.Provider == "llamacpp":
		return true
	case strings.HasPrefix(m.name, "openrouter/") || strings.HasSuffix(m.name, "/auto") || m.name == "auto" || m.name == "default":
		return true
	}
	return endpoint.SameModel(m.name, answered)
}

// whole reports a prompt that the server cut and answered all the same.
func (m *served) whole(r reading, body chatRequest) error {
	if r.usage.Prompt == 0 {
		return nil
	}
	c := m.client
	c.mu.Lock()
	window := c.windows[m.name]
	c.mu.Unlock()
	if window == 0 {
		window = c.cfg.MaxWindow
	}
	about := estimate(body)
	if !endpoint.CutPrompt(r.usage.Prompt, about, window) {
		return nil
	}
	return &model.Error{Kind: model.KindOverflow, Model: m.id(), URL: c.URL(), Prompt: about, Window: window,
		Message: fmt.Sprintf("the server cut the prompt: it read %d tokens of about %d", r.usage.Prompt, about),
		Mend:    "shorten the largest inputs, or give the model a larger window in the server"}
}

// estimate is about how many tokens the prompt has.
func estimate(b chatRequest) int {
	n := 0
	for _, m := range b.Messages {
		if n += 4; m.Content != nil {
			n += prompt.Estimate(*m.Content)
		}
		for _, call := range m.ToolCalls {
			n += 8 + prompt.Estimate(call.Function.Name) + prompt.Estimate(call.Function.Arguments)
		}
	}
	for _, t := range b.Tools {
		n += 8 + prompt.Estimate(t.Function.Name) + prompt.Estimate(t.Function.Description) + prompt.Estimate(string(t.Function.Parameters))
	}
	return n
}
