// Package engine is the driver: which stage comes next, what it is given, when
// it may go on, and what is kept of it. The file system is the state; the
// journal says how it came about.
//
// An Engine is used for one workspace. Its methods may be called from several
// goroutines; what writes takes the workspace's lock and lets it go before it
// returns, so that at a gate nothing is held. What reads takes none.
package engine

import (
	"context"
	"io/fs"
	"time"

	"towpath/internal/agent"
	"towpath/internal/durable"
	"towpath/internal/journal"
	"towpath/internal/model"
	"towpath/internal/tool"
	"towpath/internal/workspace"
)

// Chosen is the model that a stage's calls go to.
type Chosen struct {
	Model    model.Model // journals its calls to the journal.Scope of the context
	Info     model.Info  // what is known of it
	MaxReply int         // tokens reserved for a reply; 0 is 2,048
	Temp     *float64    // nil is the provider's default
	Thinking bool
	Seed     string // of a recording that is made or played; "" is the run's own name
}

// Models finds the model for a stage.
type Models interface {
	// Choose gives the model for a stage and a purpose ("turn"), ready to be
	// called: its server answers and has it. It is asked once for each stage
	// that a run may reach, before anything is spent. An error says what to do.
	Choose(ctx context.Context, st *workspace.Stage, purpose string) (Chosen, error)
	// Known gives what is known of that model without asking any server.
	Known(st *workspace.Stage) model.Info
}

// Servers starts the tool servers that a contract names.
type Servers interface {
	// Check says, before anything is spent, whether the named servers could be
	// started.
	Check(ctx context.Context, st *workspace.Stage, names []string) error
	// Open starts the named servers for one stage. The engine closes each when
	// the stage ends, whatever its end.
	Open(ctx context.Context, st *workspace.Stage, names []string) ([]tool.Server, error)
	// Known gives the tools of a server without starting or contacting it; ok
	// is false when that cannot be known.
	Known(name string) (specs []tool.Spec, ok bool)
	// Names lists every server that is configured or built in.
	Names() []string
}

// Config is what an Engine is made of.
type Config struct {
	Tree      *durable.Tree
	Dir       string // tree path of the workspace
	Workspace *workspace.Workspace
	Models    Models
	Servers   Servers
	Vars      map[string]string   // [vars] of the settings
	Limits    agent.Limits        // of a turn, where the contract says nothing
	Most      agent.Limits        // of a turn, whatever the contract says; what is 0 is not bounded
	Result    int                 // the most bytes that a model is shown of one tool result; 0: its window decides
	Secrets   []string            // values that must not reach the journal or an output
	Clock     func() time.Time    // nil is time.Now
	Observe   func(journal.Event) // sees every event of a Run, one at a time; must not call the Engine's writing methods
	Actor     string              // the user's name, for decisions
	Attended  bool                // a person watches
	Version   string              // of the program, for the journal

	// Reply gives the tokens that are kept for a reply of the stage's model, as
	// far as they are set, for Probe. Nil: 2,048.
	Reply func(st *workspace.Stage) int
	// Approve asks the person who watches for leave to make a call; nil means
	// that nobody can be asked. See agent.Turn.
	Approve func(ctx context.Context, q agent.Question) (bool, error)
	// MayWrite says whether the user's own settings let a stage write to a tree
	// path outside its output folder. Nil: never.
	MayWrite func(treePath string) bool
	// Project turns a file that is not text into text; see prompt.Options.
	Project func(name string, data []byte) (string, error)
}

// Engine drives one workspace.
type Engine struct {
	cfg     Config
	fsys    fs.FS
	now     func() time.Time
	observe func(journal.Event)
}

// New makes an engine. It reads and contacts nothing.
func New(cfg Config) *Engine {
	e := &Engine{cfg: cfg, fsys: cfg.Tree.FS(), now: cfg.Clock, observe: cfg.Observe}
	if e.now == nil {
		e.now = time.Now
	}
	if e.observe == nil {
		e.observe = func(journal.Event) {}
	}
	return e
}

// Options are what one Run is asked for. Stages are named by number, name or
// folder.
type Options struct {
	Until  string  // go on through stop gates up to and with this stage
	Stage  string  // run this stage alone
	Again  string  // run this stage alone though its output is there; the old one is kept in history
	Stale  bool    // run stale stages again, and what depends on them, but no output that a person edited
	All    bool    // pass stop gates; never one that needs approval
	Input  *string // the first stage's new input.md; the old one is kept in history
	DryRun bool    // say what would run; write nothing, contact nothing
}

// The kinds of end of a run, as they stand in journal.Exited.How.
const (
	HowDone        = "done"         // the stage is done and the run goes on to the next
	HowAllDone     = "all_done"     // nothing is left to do
	HowGate        = "gate"         // a person may read and edit, then go on
	HowUntil       = "until"        // the stage that was named is done
	HowDryRun      = "dry_run"      // nothing was run
	HowRefused     = "refused"      // the command or a contract is wrong
	HowFailed      = "failed"       // something failed; no output was written
	HowUnknownCall = "unknown_call" // a call with effects was started and not confirmed
	HowInterrupted = "interrupted"  // Ctrl-C or SIGTERM
	HowHandOff     = "hand_off"     // a call waits for a person's leave
	HowPaused      = "paused"       // until a stated time
	HowLocked      = "locked"       // another run holds the workspace
	HowDecided     = "decided"      // the entry of a person's decision
	HowEnded       = "ended"        // a conversation was ended
	HowSurrender   = "surrender"    // a limit stopped the work, and there is no result
)

// State is where a stage stands.
type State string

// The states of a stage.
const (
	Waiting     State = "waiting"     // its turn has not come
	Blocked     State = "blocked"     // an input is missing, or a file must be mended first
	Running     State = "running"     // now
	Done        State = "done"        // every declared output is there
	AtGate      State = "at_gate"     // done, and a person may read it before the next stage
	HandedOff   State = "handed_off"  // parked until a person answers
	Surrendered State = "surrendered" // its loop gave up
	Failed      State = "failed"      // its last run failed
)

// StageStatus says where one stage stands.
type StageStatus struct {
	Stage      string         `json:"stage"` // the folder's name
	State      State          `json:"state"`
	Edited     bool           `json:"edited"`     // a person changed an output since it was written
	Stale      bool           `json:"stale"`      // an input or the contract changed since
	Incomplete bool           `json:"incomplete"` // a limit cut the work short
	Gate       workspace.Gate `json:"gate"`
	Approved   bool           `json:"approved"`             // the present outputs were approved
	Changed    []string       `json:"changed,omitempty"`    // display paths of what makes it stale
	Outputs    []string       `json:"outputs"`              // display paths of the declared outputs
	Missing    []string       `json:"missing,omitempty"`    // outputs that are not there, or inputs of a blocked stage
	Undeclared []string       `json:"undeclared,omitempty"` // display paths of other files in output/
	Problems   []string       `json:"problems,omitempty"`   // lint errors that stop it, each one sentence
	Reason     string         `json:"reason,omitempty"`     // why it stands there, one sentence
	Mend       string         `json:"mend,omitempty"`       // what to do
	Run        string         `json:"run,omitempty"`        // its last run
	Ended      time.Time      `json:"ended,omitzero"`
}

// Answer is what a person says about a call that was started and not confirmed.
type Answer string

// The answers.
const (
	AnswerDone   Answer = "done"   // it took effect
	AnswerRepeat Answer = "repeat" // call it again
	AnswerSkip   Answer = "skip"   // go on without it
)
