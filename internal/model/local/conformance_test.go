//go:build linux

package local

import (
	"testing"

	"towpath/internal/model"
	"towpath/internal/model/modeltest"
)

func TestSmallModelDoesWhatEveryModelMust(t *testing.T) {
	needSmall(t)
	p := newProvider(t, Config{})
	modeltest.Run(t, modeltest.Subject{
		New:      func(*testing.T) model.Model { return p.Model(SmallModel) },
		Required: true, Schema: true, Window: 8192,
	})
}
