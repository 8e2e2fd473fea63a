package engine

import (
	"context"

	"towpath/internal/journal"
	"towpath/internal/model"
	"towpath/internal/prompt"
	"towpath/internal/tool"
	"towpath/internal/workspace"
)

// Engine drives one workspace.
type Engine struct{ cfg Config }

// New makes an engine. It reads and contacts nothing.
func New(cfg Config) *Engine { return &Engine{cfg: cfg} }

// Run goes on with the workspace as opt asks, until a gate, the end or an
// error, and says how it ended. The error is nil when nothing went wrong, also
// at a gate that waits for approval (Exited.Code is 4 then); else it is an
// *Error. Exited is filled in either case and was the last event observed.
func (e *Engine) Run(ctx context.Context, opt Options) (journal.Exited, error) {
	return journal.Exited{}, nil
}

// Status says where every stage stands, in order. It needs no history and
// takes no lock.
func (e *Engine) Status() ([]StageStatus, error) { return nil, nil }

// Approve records that a person approves the stage's outputs as they are now.
func (e *Engine) Approve(stage string) (journal.Decided, error) { return journal.Decided{}, nil }

// Reject moves the stage's outputs into history. The next run of the stage is
// given both them and the reason.
func (e *Engine) Reject(stage, reason string) (journal.Decided, error) {
	return journal.Decided{}, nil
}

// Answer says what became of the calls with effects that the stage's last run
// started and did not confirm.
func (e *Engine) Answer(stage string, a Answer) (journal.Decided, error) {
	return journal.Decided{}, nil
}

// Diff gives what a person changed since the model wrote the stage's outputs,
// as a unified diff; "" is no change.
func (e *Engine) Diff(stage string) (string, error) { return "", nil }

// ProbeResult is what a stage would be sent.
type ProbeResult struct {
	Stage      string             `json:"stage"`
	Context    *prompt.Context    `json:"context"`
	Item       *workspace.Item    `json:"item,omitempty"`            // whose context it is, nil without a for-each
	Items      workspace.ItemList `json:"items,omitzero"`            // of its for-each
	Pending    string             `json:"pending,omitempty"`         // why the items are not known yet
	Tools      []tool.Spec        `json:"tools"`                     // that would be offered, as far as known
	ToolTokens int                `json:"tool_tokens"`               // estimate for their schemas
	Unknown    []string           `json:"unknown_servers,omitempty"` // whose tools are known only once started
	Model      model.Info         `json:"model"`
	Reply      int                `json:"reply_tokens"` // reserved for the reply
}

// Probe builds what a stage would be sent, for item n of its for-each (0 is
// the first). It calls no model, contacts no server and takes no lock.
func (e *Engine) Probe(stage string, item int) (*ProbeResult, error) { return &ProbeResult{}, nil }

// Planned is a stage and what a run would do with it.
type Planned struct {
	Stage  string `json:"stage"`
	Action string `json:"action"` // "skip", "run"
	Why    string `json:"why"`
}

// Plan says what Run would do, stage by stage, up to where it would stop.
func (e *Engine) Plan(opt Options) ([]Planned, error) { return nil, nil }
