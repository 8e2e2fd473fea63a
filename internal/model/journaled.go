package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"towpath/internal/journal"
)

// Journaled records every call of m in the run that the context belongs to:
// one event before and one after each attempt, each message stored once. A
// question that an interrupted run had answered already is answered from its
// journal without a call; the one event of it names the run that the reply was
// taken from. id is provider/model. Outside of a run it only fills in the
// request's defaults.
func Journaled(m Model, id string) Model { return &journaled{m: m, id: id} }

type journaled struct {
	m  Model
	id string
}

func (j *journaled) Describe(ctx context.Context) (Info, error) { return describe(ctx, j.m) }

func (j *journaled) Call(ctx context.Context, req Request, stream func(Delta)) (Reply, error) {
	req = req.WithDefaults()
	scope, ok := journal.From(ctx)
	if !ok {
		return j.m.Call(ctx, req, stream)
	}
	call := Fingerprint(req)
	if known, ok := scope.Past.Reply(scope.Item, call); ok {
		return fromPast(scope, known, stream)
	}
	asked, err := j.request(ctx, scope, req, call)
	if err != nil {
		return Reply{}, err
	}
	if err := scope.Append(journal.Event{Type: journal.ModelCall, Request: &asked}); err != nil {
		return Reply{}, fmt.Errorf("journalling a model call: %w", err)
	}
	reply, err := j.m.Call(ctx, req, stream)
	answered, errBody := answer(scope.Run, call, reply, err)
	if errBody != nil {
		return Reply{}, errors.Join(err, errBody)
	}
	if werr := scope.Append(journal.Event{Type: journal.ModelReply, Reply: &answered}); werr != nil {
		return Reply{}, errors.Join(err, fmt.Errorf("journalling a model's reply: %w", werr))
	}
	return reply, err
}

func (j *journaled) request(ctx context.Context, scope journal.Scope, req Request, call string) (journal.Request, error) {
	out := journal.Request{Call: call, Model: j.id, Purpose: scope.Purpose, Choice: string(req.ToolChoice),
		Schema: req.Schema, Temperature: req.Temperature, Window: req.Window, Attempt: attemptOf(ctx)}
	for _, m := range req.Messages {
		body, err := jsonBody(scope.Run, m)
		if err != nil {
			return out, err
		}
		out.Messages = append(out.Messages, body)
	}
	if len(req.Tools) > 0 {
		body, err := jsonBody(scope.Run, req.Tools)
		if err != nil {
			return out, err
		}
		out.Tools = body
	}
	return out, nil
}

func jsonBody(run *journal.Run, v any) (journal.Body, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return journal.Body{}, fmt.Errorf("journalling a model call: %w", err)
	}
	body, err := run.Body(string(data))
	if err != nil {
		return journal.Body{}, fmt.Errorf("journalling a model call: %w", err)
	}
	return body, nil
}

// answer is the record of a reply, or of the error in its place.
func answer(run *journal.Run, call string, reply Reply, err error) (journal.Reply, error) {
	out := journal.Reply{Call: call, Finish: string(reply.Finish), Model: reply.Model, Recovered: reply.Recovered,
		Usage: journal.Usage(reply.Usage), FirstByte: reply.FirstByte, Elapsed: reply.Elapsed}
	text := reply.Text
	if err != nil {
		out.Error, out.Kind = err.Error(), string(KindOf(err))
		var e *Error
		if errors.As(err, &e) && text == "" {
			text = e.Raw
		}
	}
	var err1, err2 error
	out.Text, err1 = run.Body(text)
	out.Reasoning, err2 = run.Body(reply.Reasoning)
	for _, c := range reply.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, journal.Asked(c))
	}
	if bad := errors.Join(err1, err2); bad != nil {
		return out, fmt.Errorf("journalling a model's reply: %w", bad)
	}
	return out, nil
}

// fromPast gives a reply that an interrupted run had received already.
func fromPast(scope journal.Scope, known journal.Reply, stream func(Delta)) (Reply, error) {
	text, err1 := scope.Past.Text(known.Text)
	reasoning, err2 := scope.Past.Text(known.Reasoning)
	if err := errors.Join(err1, err2); err != nil {
		return Reply{}, fmt.Errorf("reading a reply of the interrupted run %s: %w", known.From, err)
	}
	reply := Reply{Text: text, Reasoning: reasoning, Recovered: known.Recovered, Finish: Finish(known.Finish), Model: known.Model,
		Usage: Usage(known.Usage), FirstByte: known.FirstByte, Elapsed: known.Elapsed}
	for _, c := range known.ToolCalls {
		reply.ToolCalls = append(reply.ToolCalls, ToolCall(c))
	}
	if err := scope.Append(journal.Event{Type: journal.ModelReply, Reply: &known}); err != nil {
		return Reply{}, fmt.Errorf("journalling a model's reply: %w", err)
	}
	if stream != nil && text != "" {
		stream(Delta{Text: text})
	}
	return reply, nil
}
