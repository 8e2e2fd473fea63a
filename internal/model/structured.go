package model

import (
	"context"
	"encoding/json"
	"fmt"

	"towpath/internal/schema"
)

// Structured asks for a reply that satisfies a JSON Schema and gives its JSON.
// The schema is passed to the model, with thinking off, and always checked here. One object is
// found in prose or a fence; where the text is empty and the reasoning holds the
// answer, that is taken and Reply.FromReasoning says so. A reply that does not
// satisfy the schema, or was cut, is sent back once with the reason; after that
// the error is of KindSchema with the text in Raw.
func Structured(ctx context.Context, m Model, req Request, want json.RawMessage) (json.RawMessage, Reply, error) {
	s, err := schema.Compile(want)
	if err != nil {
		return nil, Reply{}, &Error{Kind: KindRequest, Message: "the JSON Schema of the reply cannot be used: " + err.Error(),
			Mend: "mend the schema", Err: err}
	}
	req.Schema, req.Thinking = want, false // some servers put all of the answer into the thinking
	reply, err := m.Call(ctx, req, nil)
	if err != nil {
		return nil, reply, err
	}
	value, fault := read(s, &reply)
	if fault == nil {
		return value, reply, nil
	}
	answer := reply.Text
	if answer == "" {
		answer = "(empty)"
	}
	again := req
	again.Messages = append(append([]Message{}, req.Messages...),
		Message{Role: RoleAssistant, Text: bounded(answer, 8000)},
		Message{Role: RoleUser, Text: fmt.Sprintf("That reply cannot be used: %s. "+
			"Reply again with one JSON value alone, no other words, that satisfies this schema: %s", fault, schema.Short(want))})
	if reply.Finish == FinishLength {
		again.MaxOutput = 2 * req.Output()
		if again.Window > 0 {
			again.Window += again.MaxOutput - req.Output()
		}
	}
	second, err := m.Call(ctx, again, nil)
	if err != nil {
		return nil, second, err
	}
	value, fault2 := read(s, &second)
	if fault2 == nil {
		return value, second, nil
	}
	return nil, second, &Error{Kind: KindSchema, Model: second.Model,
		Message: fmt.Sprintf("the reply does not satisfy the JSON Schema, also after one repair: %s", fault2),
		Mend:    "take a model that holds replies to a schema, or a simpler schema",
		Raw:     bounded(second.Text, 16000), Err: fault2}
}

// read finds the value of a reply and checks it.
func read(s *schema.Schema, reply *Reply) (json.RawMessage, error) {
	if reply.Finish == FinishFiltered {
		return nil, fmt.Errorf("the server filtered the reply")
	}
	text, reasoned := reply.Text, false
	if blank(text) && !blank(reply.Reasoning) {
		text, reasoned = reply.Reasoning, true
	}
	if blank(text) {
		return nil, fmt.Errorf("the reply is empty")
	}
	value, err := s.Find(text)
	if err != nil {
		if reply.Finish == FinishLength {
			return nil, fmt.Errorf("it was cut at the limit of its length (%w)", err)
		}
		return nil, err
	}
	reply.FromReasoning = reasoned
	return value, nil
}
