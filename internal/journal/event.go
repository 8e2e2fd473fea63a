// Package journal is the record of what happened: append-only events in
// history/, one folder a run, from which status, resume, traces and the web
// page are made.
//
// One Run is written by one process; its methods are safe for several
// goroutines. Readers need no lock.
package journal

import (
	"encoding/json"
	"time"
)

// Version is the value of Event.V that this program writes.
const Version = 1

// Type says what an Event records.
type Type string

// The types of events. Those under "transient" are shown while a run goes on
// and never written.
const (
	RunStarted    Type = "run_started"
	StageSkipped  Type = "stage_skipped" // output present
	ContextBuilt  Type = "context_built"
	ItemStarted   Type = "item_started"
	ItemEnded     Type = "item_ended"
	ModelCall     Type = "model_call"  // a request is about to be sent
	ModelReply    Type = "model_reply" // its reply, or its error
	ToolCall      Type = "tool_call"   // a tool is about to run
	ToolResult    Type = "tool_result" // what it gave
	Nudge         Type = "nudge"       // the agent was told something by the program
	Round         Type = "round"
	Check         Type = "check"
	Verdict       Type = "verdict"
	OutputWritten Type = "output_written"
	Gate          Type = "gate"
	Decision      Type = "decision" // a person approved, rejected or answered
	Exit          Type = "exit"

	// of conversations
	Said      Type = "said"       // a person said something
	TurnEnded Type = "turn_ended" // what the conversation holds after it, and how the turn ended
	Cleared   Type = "cleared"    // the conversation begins anew

	// transient
	TextDelta      Type = "text_delta"
	ReasoningDelta Type = "reasoning_delta"
	Waiting        Type = "waiting"
	Notice         Type = "notice" // something that is good to know
	Warning        Type = "warning"
)

// Event is one line of journal.jsonl. Exactly one of the payload fields is
// set, the one that belongs to Type.
type Event struct {
	V     int       `json:"v"`
	Run   string    `json:"run"` // the run folder's name
	Seq   int       `json:"seq"` // from 1, without gaps
	Time  time.Time `json:"time"`
	Type  Type      `json:"type"`
	Stage string    `json:"stage,omitempty"` // the stage folder's name
	Item  int       `json:"item,omitempty"`  // from 1; 0 outside a for-each
	Of    int       `json:"of,omitempty"`    // number of items

	Started  *Started        `json:"started,omitempty"`
	Context  *Context        `json:"context,omitempty"`
	Request  *Request        `json:"request,omitempty"`
	Reply    *Reply          `json:"reply,omitempty"`
	Call     *Call           `json:"call,omitempty"`
	Result   *Result         `json:"result,omitempty"`
	Output   *Output         `json:"output,omitempty"`
	Gate     *GateOpened     `json:"gate,omitempty"`
	Decision *Decided        `json:"decision,omitempty"`
	Exit     *Exited         `json:"exit,omitempty"`
	Ended    *Ended          `json:"ended,omitempty"`
	Said     *Body           `json:"said,omitempty"`
	Turned   *Turned         `json:"turned,omitempty"`
	Note     string          `json:"note,omitempty"` // of Nudge, Waiting, Warning, TextDelta, ...
	Data     json.RawMessage `json:"data,omitempty"` // payload of Round, Check and Verdict
}

// Body is a text that is kept in the event when it is short and by hash in
// history/blobs when it is long.
type Body struct {
	Text string `json:"text,omitempty"`
	Blob string `json:"blob,omitempty"` // SHA-256 in hex; the file's name below history/blobs
	Size int    `json:"size"`           // bytes
}

// Started is the payload of RunStarted: everything whose change makes a stage
// stale, by hash.
type Started struct {
	Towpath  string            `json:"towpath"`  // version of the program
	Contract string            `json:"contract"` // hash of the contract
	Inputs   map[string]string `json:"inputs"`   // workspace path of every file of layers 0 to 4 -> hash
	Outputs  []string          `json:"outputs"`  // workspace paths that are declared
	Model    string            `json:"model,omitempty"`
	Resumes  string            `json:"resumes,omitempty"` // run that this one goes on from
	Attended bool              `json:"attended"`          // a person started it at a terminal

	// Replaces holds the outputs that were there and that this run was told to
	// replace: workspace path -> hash. An output with another hash is not
	// overwritten.
	Replaces map[string]string `json:"replaces,omitempty"`
}

// Ended is the payload of ItemEnded.
type Ended struct {
	Title      string  `json:"title"`
	Context    string  `json:"context"`          // hash of what the item was sent
	Pieces     []Piece `json:"pieces,omitempty"` // one for each declared output, of an item that succeeded
	Incomplete bool    `json:"incomplete,omitempty"`
	Reused     string  `json:"reused,omitempty"` // run that made the pieces
	Error      string  `json:"error,omitempty"`
}

// Turned is the payload of TurnEnded.
type Turned struct {
	Messages []Body `json:"messages"`         // what stands after the question, each message as JSON
	Stop     string `json:"stop"`             // answered, or why the turn was cut short
	Reason   string `json:"reason,omitempty"` // of a turn that was cut short
	Error    string `json:"error,omitempty"`  // of a turn that failed
}

// Piece is an item's share of an output.
type Piece struct {
	Output string `json:"output"` // the output's name, as declared
	Kept   string `json:"kept"`   // path relative to the workspace
	Hash   string `json:"hash"`
}

// Context is the payload of ContextBuilt.
type Context struct {
	Hash   string        `json:"hash"` // of system and user text
	Tokens int           `json:"tokens"`
	Tools  int           `json:"tools_tokens"`
	Window int           `json:"window,omitempty"`
	Files  []ContextFile `json:"files"`
}

// ContextFile is a file's share of a context.
type ContextFile struct {
	Path   string `json:"path"`
	Layer  int    `json:"layer"`
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"`
	Hash   string `json:"hash"`
}

// Request is the payload of ModelCall.
type Request struct {
	Call        string          `json:"call"` // fingerprint of messages, tools, choice and schema
	Model       string          `json:"model"`
	Purpose     string          `json:"purpose,omitempty"` // "turn", "output", "summarize", ...
	Messages    []Body          `json:"messages"`          // each message as JSON, stored once
	Base        int             `json:"base,omitempty"`    // on disk only: seq of the ModelCall of this run with which it begins alike
	Shared      int             `json:"shared,omitempty"`  // on disk only: how many messages of Base come before Messages
	Tools       Body            `json:"tools"`
	Choice      string          `json:"choice,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	Window      int             `json:"window,omitempty"`
	Attempt     int             `json:"attempt"` // from 1
}

// Reply is the payload of ModelReply.
type Reply struct {
	Call      string        `json:"call"` // of the Request
	Text      Body          `json:"text"`
	Reasoning Body          `json:"reasoning"`
	ToolCalls []Asked       `json:"tool_calls,omitempty"`
	Recovered bool          `json:"recovered,omitempty"` // ToolCalls were read from text
	Finish    string        `json:"finish,omitempty"`
	Model     string        `json:"model,omitempty"`
	Usage     Usage         `json:"usage"`
	FirstByte time.Duration `json:"first_byte,omitempty"` // nanoseconds
	Elapsed   time.Duration `json:"elapsed,omitempty"`    // nanoseconds
	Error     string        `json:"error,omitempty"`
	Kind      string        `json:"error_kind,omitempty"`
	From      string        `json:"from,omitempty"` // the run that it was taken from, when it was not asked for again
}

// Call is the payload of ToolCall.
type Call struct {
	Key       string `json:"key"` // from run and content: the same call has the same key after a resume
	ID        string `json:"id"`  // as the model gave it
	Server    string `json:"server"`
	Tool      string `json:"tool"`
	Arguments Body   `json:"arguments"`
	ReadOnly  bool   `json:"read_only"`
}

// Result is the payload of ToolResult.
type Result struct {
	Key        string          `json:"key"`
	ID         string          `json:"id"`
	Text       Body            `json:"text"`
	Structured json.RawMessage `json:"structured,omitempty"`
	IsError    bool            `json:"is_error,omitempty"`
	Sources    []string        `json:"sources,omitempty"`
	Untrusted  bool            `json:"untrusted,omitempty"`
	Elapsed    time.Duration   `json:"elapsed"`         // nanoseconds
	Error      string          `json:"error,omitempty"` // the tool could not be run, or nobody knows how far it came
	From       string          `json:"from,omitempty"`  // the run that it was taken from, when it was not called again
}

// Output is the payload of OutputWritten.
type Output struct {
	Path       string `json:"path"` // workspace path
	Hash       string `json:"hash"`
	Bytes      int    `json:"bytes"`
	Incomplete bool   `json:"incomplete,omitempty"`
	Kept       string `json:"kept"` // path of the model's own version, below the run's folder
}

// GateOpened is the payload of Gate.
type GateOpened struct {
	Kind    string   `json:"kind"` // stop, approve, none
	Outputs []string `json:"outputs"`
}

// Decided is the payload of Decision.
type Decided struct {
	What    string            `json:"what"`   // approved, rejected, answered
	Hashes  map[string]string `json:"hashes"` // workspace path of each output -> hash at that moment
	Edited  bool              `json:"edited"` // a person changed the output since it was written
	Actor   string            `json:"actor"`  // the user's name on this machine
	Reason  string            `json:"reason,omitempty"`
	Answer  string            `json:"answer,omitempty"` // done, repeat, skip
	Call    string            `json:"call,omitempty"`   // key of the tool call that was answered
	RunName string            `json:"of,omitempty"`     // the run that the decision is about
}

// Exited is the payload of Exit.
type Exited struct {
	How    string    `json:"how"` // all_done, gate, until, failed, unknown_call, interrupted, paused, surrender, hand_off
	Code   int       `json:"code"`
	Reason string    `json:"reason,omitempty"`
	Mend   string    `json:"mend,omitempty"`
	Until  time.Time `json:"until,omitzero"`
	Next   string    `json:"next,omitempty"` // the stage that comes next

	Outputs []string `json:"outputs,omitempty"` // workspace paths that a person is asked to read
}

// Asked is a tool call as a model asked for it.
type Asked struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Usage counts tokens. A nil field is unknown, which is not zero.
type Usage struct {
	Prompt    *int `json:"prompt,omitempty"`
	Cached    *int `json:"cached,omitempty"`
	Output    *int `json:"output,omitempty"`
	Reasoning *int `json:"reasoning,omitempty"`
}
