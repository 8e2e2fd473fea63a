// Package engine runs one GGUF model with llama.cpp's library. It is meant for
// the child process alone: native code may abort whatever process it is in.
//
// A Model does one thing at a time: the caller sees to it that Run, Tokens and
// Close never overlap.
package engine

import (
	"errors"
	"fmt"
)

// Token is an entry of a model's vocabulary.
type Token = int32

// Job is one reply to make.
type Job struct {
	Prompt      []Token
	MaxOutput   int     // tokens; more than 0
	Temperature float64 // 0 takes the likeliest token each time
	Seed        uint64  // of the random choices
	Grammar     string  // GBNF that the reply is held to; none if empty
	Trigger     string  // the text after which Grammar holds; from the start if empty
	Release     string  // with a Trigger, the text that ends the grammar's hold
	// Progress is told how many tokens of the prompt are done, and how many of
	// these were there already. May be nil.
	Progress func(done, cached, total int)
	// Emit takes the next piece of text, whole characters only. False ends the
	// reply. It must not be nil.
	Emit func(text string) bool
}

// Finish says why a reply ended.
type Finish string

// The ways in which a Run ends well.
const (
	FinishStop   Finish = "stop"   // the model ended its reply, or the grammar is complete
	FinishLength Finish = "length" // MaxOutput or the window is used up
	FinishCaller Finish = "caller" // Emit said so
)

// Outcome is what a Run came to.
type Outcome struct {
	Finish      Finish
	Prompt      int  // tokens
	Cached      int  // tokens of the prompt that were not computed again
	Output      int  // tokens made, the one that ends the reply included
	Constrained bool // a grammar was in force when the reply ended or before
}

// OverflowError says that a prompt leaves no room for a reply.
type OverflowError struct {
	Prompt, Window int // tokens
}

// Error gives both figures.
func (e *OverflowError) Error() string {
	return fmt.Sprintf("the prompt has %d tokens and the window holds %d", e.Prompt, e.Window)
}

// Errors of a Run.
var (
	// ErrDegenerate says that the reply repeats itself without end.
	ErrDegenerate = errors.New("the reply repeats itself without end")
	// ErrGrammar says that the library does not take the grammar.
	ErrGrammar = errors.New("the library does not accept the grammar")
	// ErrStuck says that no token satisfies the grammar.
	ErrStuck = errors.New("no token satisfies the grammar")
)
