// Package modeltest holds what every model.Model must do, as tests that each
// implementation runs.
package modeltest

import (
	"testing"

	"towpath/internal/model"
)

// Subject is the implementation under test.
type Subject struct {
	// New makes the model with a scripted or real model behind it.
	New func(t *testing.T) model.Model
	// Real says that a real model answers, whose words are not known beforehand.
	Real bool
	// Required says that ChoiceRequired and a named tool are honoured.
	Required bool
	// Window is the model's window in tokens; 0 leaves the overflow test out.
	Window int
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {}
