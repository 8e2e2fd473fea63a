// Package agent is one turn: call the model, run the tools that it asks for,
// stop for the right reason, give the final text. It knows Model and Tool and
// no files. A turn runs in the caller's goroutine; tools that only read may
// run side by side.
package agent

import (
	"context"
	"encoding/json"
	"fmt"
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
type Offer = tool.Offered

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
	// Task is what the turn is about, in the words of the contract. Where tools
	// are required it is repeated once they were used, if it is short.
	Task    string
	Observe func(Event)
	Seed    string // makes fences reproducible: the id of the first run in a chain of resumes, or a recording's seed

	// ResultCap bounds what the model sees of one tool result, in estimated
	// tokens; 0 takes a share of the free window.
	ResultCap int
	// ResultMost bounds the same in bytes, however much is free; 0 does not.
	ResultMost int
	// Parts names what the prompt is made of, so that an error about its size
	// can say what is largest.
	Parts []Part
	// Conversation says that a person talks to the agent: any text is an answer,
	// also one that announces something, and no question but the last is the
	// task, so that to make room whole rounds of it go, oldest first.
	Conversation bool
	// Approve gives leave for a call with effects after text from outside was
	// read, or when the tool is destructive. nil means that nobody watches: such
	// a call ends the turn with a *LeaveError before it is made.
	Approve func(ctx context.Context, q Question) (bool, error)
}

// Part is a named piece of the prompt, usually a file.
type Part struct {
	Name   string
	Tokens int
}

// Question asks a person for leave to make a call.
type Question struct {
	Spec      tool.Spec
	Arguments json.RawMessage
	Untrusted bool // text from outside was read before the model asked for it
}

// LeaveError is a call that needs a person's leave in a run that nobody watches.
type LeaveError struct{ Question }

// Error says what waits for leave, and why.
func (e *LeaveError) Error() string {
	why := "it can destroy something"
	if e.Untrusted {
		why = "text from outside was read before the model asked for it"
	}
	return fmt.Sprintf("the call %s %s %s needs a person's leave: %s; start the run at a terminal to be asked",
		e.Spec.Server, e.Spec.Name, e.Arguments, why)
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
	Text       string // the final text, unwrapped; empty where the turn was cut short and only reports
	Stop       Stop
	Reason     string          // one sentence for a person, of a turn that was cut short
	Messages   []model.Message // the whole conversation, for the call after it
	Sources    []tool.Source   // what the tools really read
	Calls      int             // tool calls that ran
	Tokens     int             // prompt and output of all calls, as reported, else estimated
	Candidates []string        // text that came with tool calls or too early; never chosen silently
}

// Event is something that the agent did on its own account, for a person who
// watches: a nudge, a trim, a piece of text.
type Event struct {
	Kind  string // "nudge", "trim", "warning", "delta", "waiting"
	Note  string
	Delta model.Delta
}

// ReplyError is a turn without a text that can be accepted: the model's reply
// was empty, cut, filtered, only a plan, or came without a tool that the
// contract requires.
type ReplyError struct {
	Kind    ReplyFault
	Model   string // provider/model
	Message string // what happened, one sentence
	Mend    string
	Raw     string // the reply as it came, bounded
}

// Error gives model, message and mend.
func (e *ReplyError) Error() string {
	s := e.Message
	if e.Model != "" {
		s = e.Model + ": " + s
	}
	if e.Mend != "" {
		s += "; " + e.Mend
	}
	return s
}

// ReplyFault sorts the faults of replies.
type ReplyFault string

// The faults of replies.
const (
	FaultEmpty     ReplyFault = "empty"
	FaultCut       ReplyFault = "cut"       // by length, also when continued
	FaultReasoning ReplyFault = "reasoning" // the reasoning used the whole budget
	FaultFiltered  ReplyFault = "filtered"  // by the server
	FaultModel     ReplyFault = "model"     // another model answered
	FaultPlan      ReplyFault = "plan"      // only says what it would do
	FaultRequired  ReplyFault = "required"  // a required tool was not used
)
