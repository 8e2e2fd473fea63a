// Package agent is one turn: call the model, run the tools that it asks for,
// stop for the right reason, give the final text. It knows Model and Tool and
// no files. A turn runs in the caller's goroutine; tools that only read may
// run side by side.
package agent

import (
	"context"
	"time"

	"towpath/internal/model"
	"towpath/internal/tool"
)

// Limits bound one turn. A zero field takes the default.
type Limits struct {
	ToolCalls int           // default 40
	Time      time.Duration // default 30 minutes
	Tokens    int           // prompt and output of all calls; 0: no limit
}

// Offer is a tool under the name by which the model knows it.
type Offer struct {
	Name string // server_tool, mapped to what every provider takes
	Tool tool.Tool
}

// Turn is what one turn needs.
type Turn struct {
	Model    model.Model
	Info     model.Info // what is known of the model
	Offers   []Offer
	Required [][]string // of each group of offered names, one must have returned without error
	Limits   Limits
	MaxReply int // tokens reserved for the reply; 0 is 2,048
	Temp     *float64
	Thinking bool
	Final    string // what the last call without tools asks for, when the turn is cut short; "" only reports
	Observe  func(Event)
	Seed     string // makes fences reproducible: the run's id
}

// Stop says why a turn ended.
type Stop string

// The ends of a turn. All but StopAnswered mean that the turn was cut short.
const (
	StopAnswered Stop = "answered"
	StopCalls    Stop = "tool_calls"
	StopTime     Stop = "time"
	StopTokens   Stop = "tokens"
	StopRepeat   Stop = "repetition"
	StopInvalid  Stop = "invalid_arguments"
)

// Outcome is how a turn ended.
type Outcome struct {
	Text     string // the final text, unwrapped
	Stop     Stop
	Reason   string          // one sentence for a person, of a turn that was cut short
	Messages []model.Message // the whole conversation, for the call after it
	Sources  []tool.Source   // what the tools really read
	Calls    int             // tool calls that ran
}

// Event is something that the agent did on its own account, for a person who
// watches: a nudge, a trim, a piece of text.
type Event struct {
	Kind  string // "nudge", "trim", "delta", "waiting"
	Note  string
	Delta model.Delta
}

// Runner is the part of this package that callers need.
type Runner interface {
	Run(ctx context.Context, t Turn, messages []model.Message) (Outcome, error)
}
