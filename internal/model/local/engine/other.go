//go:build !linux || !(amd64 || arm64) || nolocal

package engine

import (
	"context"
	"errors"
)

// ErrPlatform says that there is no engine here.
var ErrPlatform = errors.New("local models run on Linux (amd64, arm64) only; use Ollama or another server instead")

// Options of Open.
type Options struct {
	Threads int
	Room    func() int64
}

// Model is a loaded model; there is none on this platform.
type Model struct{}

// Load loads the library.
func Load(string) error { return ErrPlatform }

// Supported says why models cannot run here.
func Supported() error { return ErrPlatform }

// Open loads a model.
func Open(string, Options) (*Model, error) { return nil, ErrPlatform }

// Close frees everything.
func (*Model) Close() {}

// Window is the largest number of tokens that the model was made for.
func (*Model) Window() int { return 0 }

// Template is the model's own chat template.
func (*Model) Template() string { return "" }

// Marks gives the texts of the tokens that begin and end a text.
func (*Model) Marks() (bos, eos string) { return "", "" }

// AddsBOS reports whether a prompt must begin with the token for it.
func (*Model) AddsBOS() bool { return false }

// Controls gives the texts of the tokens that steer the model.
func (*Model) Controls() []string { return nil }

// Tokens splits a text.
func (*Model) Tokens(string, bool, bool) []Token { return nil }

// Run makes one reply.
func (*Model) Run(context.Context, Job) (Outcome, error) { return Outcome{}, ErrPlatform }
