package engine_test

import (
	"context"
	"time"

	"towpath/internal/engine"
	"towpath/internal/model"
	"towpath/internal/model/ollama"
	"towpath/internal/workspace"
)

// served gives every stage the scripted server's model, wired as the program
// wires it but for the length of the waits.
type served struct{ url string }

func (s served) Choose(ctx context.Context, _ *workspace.Stage, _ string) (engine.Chosen, error) {
	m := ollama.New(ollama.Config{Host: s.url}).Model("test")
	info, err := m.(model.Describer).Describe(ctx)
	if err != nil {
		return engine.Chosen{}, err
	}
	patient := model.Retry(model.Journaled(m, info.ID), model.RetryPolicy{Wait: time.Millisecond, Cap: 20 * time.Millisecond})
	return engine.Chosen{Model: patient, Info: info}, nil
}

func (s served) Known(*workspace.Stage) model.Info { return model.Info{ID: "ollama/test"} }
