package engine_test

import (
	"context"

	"towpath/internal/engine"
	"towpath/internal/model"
	"towpath/internal/model/ollama"
	"towpath/internal/workspace"
)

// served gives every stage the scripted server's model.
type served struct{ url string }

func (s served) Choose(ctx context.Context, _ *workspace.Stage, _ string) (engine.Chosen, error) {
	m := ollama.New(ollama.Config{Host: s.url}).Model("test")
	info, err := m.(model.Describer).Describe(ctx)
	if err != nil {
		return engine.Chosen{}, err
	}
	return engine.Chosen{Model: model.Journaled(m, info.ID), Info: info}, nil
}

func (s served) Known(*workspace.Stage) model.Info { return model.Info{ID: "ollama/test"} }
