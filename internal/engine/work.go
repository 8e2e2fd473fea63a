package engine

import (
	"context"
	"fmt"

	"towpath/internal/agent"
	"towpath/internal/journal"
	"towpath/internal/model"
	"towpath/internal/prompt"
	"towpath/internal/workspace"
)

// product is what work came to: of a stage the text of each target, of one
// conversation the text of each declared output, in their order.
type product struct {
	texts []string
	cut   string // why a limit cut the work short, "" if none did
}

// stageWork makes a stage's results. It is the one place where the engine
// hands over to whoever does the work; rounds and checks belong here.
func stageWork(ctx context.Context, r *stageRun) (product, error) {
	if r.st.Contract.ForEach != nil {
		return r.workItems(ctx)
	}
	opt := r.e.promptOptions()
	opt.Rejection = r.rejection
	return r.turn(ctx, r.first, opt, 0, r.past)
}

// context builds what a turn is sent.
func (r *stageRun) context(opt prompt.Options) (*prompt.Context, error) {
	c, err := prompt.Build(r.e.fsys, r.e.cfg.Workspace, r.st, opt)
	if err != nil {
		return nil, &Error{Code: CodeUsage, How: HowRefused, Err: err}
	}
	return c, nil
}

func (r *stageRun) toolTokens() int {
	var tools []prompt.Tool
	for _, o := range r.tools.Offers {
		s := o.Tool.Spec()
		tools = append(tools, prompt.Tool{Name: o.Name, Description: s.Description, Schema: s.Input})
	}
	return prompt.EstimateTools(tools)
}

// turn has one conversation: the turn for the first output, and one more call
// for each further output.
func (r *stageRun) turn(ctx context.Context, c *prompt.Context, opt prompt.Options, item int, past *journal.Past) (product, error) {
	if err := r.e.fits(r.st, c, r.toolTokens(), replyTokens(r.chosen), r.chosen.Info); err != nil {
		return product{}, err
	}
	limits, err := r.budget.take(r.e.now())
	if err != nil {
		return product{}, failed("raise it under Stop, or run the stage again", "%s", err)
	}
	calls, tokens := 0, 0
	defer func() { r.budget.give(limits, calls, tokens) }()
	scope := journal.Scope{Run: r.run, Stage: r.st.Name, Item: item, Of: len(r.items), Purpose: "turn", Past: past}
	if err := scope.Append(r.contextEvent(c)); err != nil {
		return product{}, err
	}
	t := r.agentTurn(c, limits, scope)
	out, err := agent.Run(journal.With(ctx, scope), t, messages(c))
	calls, tokens = out.Calls, out.Tokens
	if err != nil {
		return product{}, err
	}
	outputs := r.st.Contract.Outputs
	d := product{texts: []string{unfenced(outputs[0].Name, out.Text)}}
	d.note(out)
	for n := 2; n <= len(outputs); n++ {
		scope.Purpose = "output"
		more, err := agent.Ask(journal.With(ctx, scope), t, out.Messages, opt.OutputRequest(r.st, n))
		tokens += more.Tokens
		if err != nil {
			return product{}, fmt.Errorf("asking for %s: %w", outputs[n-1].Name, err)
		}
		d.texts = append(d.texts, unfenced(outputs[n-1].Name, more.Text))
		d.note(more)
		out.Messages = more.Messages
	}
	return d, nil
}

func messages(c *prompt.Context) []model.Message {
	user := model.Message{Role: model.RoleUser, Text: c.User}
	if c.System == "" {
		return []model.Message{user}
	}
	return []model.Message{{Role: model.RoleSystem, Text: c.System}, user}
}

// note keeps the first reason for which a turn was cut short.
func (d *product) note(out agent.Outcome) {
	if out.Stop == agent.StopAnswered || out.Stop == "" || d.cut != "" {
		return
	}
	d.cut = out.Reason
	if d.cut == "" {
		d.cut = "a limit was reached (" + string(out.Stop) + ")"
	}
}

func (r *stageRun) agentTurn(c *prompt.Context, limits agent.Limits, scope journal.Scope) agent.Turn {
	t := agent.Turn{
		Model: r.chosen.Model, Info: r.chosen.Info, Offers: r.tools.Offers, Required: r.tools.Required,
		Limits: limits, MaxReply: r.chosen.MaxReply, Temp: r.chosen.Temp, Thinking: r.chosen.Thinking,
		Seed: r.root, Approve: r.e.cfg.Approve, ResultMost: r.e.cfg.Result,
		Final: fmt.Sprintf("You cannot call tools any more. Write %s now, whole, from what you have gathered, and nothing else.",
			r.st.Contract.Outputs[0].Name),
		Observe: func(ev agent.Event) { r.observe(scope, ev) },
	}
	if r.chosen.Seed != "" {
		t.Seed = r.chosen.Seed
	}
	for _, p := range c.Parts {
		t.Parts = append(t.Parts, agent.Part{Name: p.Path, Tokens: p.Tokens})
		if p.Layer == workspace.LayerContract {
			t.Task = p.Text
		}
	}
	return t
}

// observe passes on what the agent does on its own account. What cannot be
// written there fails at the next event that matters.
func (r *stageRun) observe(scope journal.Scope, ev agent.Event) {
	switch ev.Kind {
	case "nudge", "trim":
		_ = scope.Append(journal.Event{Type: journal.Nudge, Note: ev.Note})
	case "warning":
		scope.Transient(journal.Event{Type: journal.Warning, Note: ev.Note})
	case "waiting":
		note := ev.Note
		if note == "" {
			note = ev.Delta.Waiting
		}
		scope.Transient(journal.Event{Type: journal.Waiting, Note: note})
	case "delta":
		switch d := ev.Delta; {
		case d.Waiting != "":
			scope.Transient(journal.Event{Type: journal.Waiting, Note: d.Waiting})
		case d.Text != "":
			scope.Transient(journal.Event{Type: journal.TextDelta, Note: d.Text})
		case d.Reasoning != "":
			scope.Transient(journal.Event{Type: journal.ReasoningDelta, Note: d.Reasoning})
		}
	}
}

func (r *stageRun) contextEvent(c *prompt.Context) journal.Event {
	built := &journal.Context{Hash: c.Hash, Tokens: c.Tokens, Tools: r.toolTokens(), Window: r.chosen.Info.Window}
	for _, p := range c.Parts {
		built.Files = append(built.Files, journal.ContextFile{
			Path: p.Path, Layer: int(p.Layer), Bytes: p.Bytes, Tokens: p.Tokens, Hash: p.Hash,
		})
	}
	return journal.Event{Type: journal.ContextBuilt, Context: built}
}
