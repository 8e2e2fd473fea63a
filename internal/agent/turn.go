package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"towpath/internal/model"
	"towpath/internal/prompt"
	"towpath/internal/tool"
)

// The limits of a turn where nothing is said.
const (
	DefaultToolCalls = 40
	DefaultTime      = 30 * time.Minute
)

var errTime = errors.New("the time limit of the turn is over")

// turn is a Turn in progress. It belongs to one goroutine.
type turn struct {
	Turn
	messages []model.Message
	defs     []model.ToolDef
	tools    map[string]tool.Tool
	names    []string // offered, in order
	reader   string   // name of the tool that reads on in cut results
	kept     tool.Kept
	raw      map[string]*result // of tool results in messages, by call id
	ids      map[string]bool    // of calls
	sizes    map[string]int     // estimates of texts
	out      Outcome
	guard    guard
	asked    int            // tool calls that the model asked for
	invalid  map[string]int // invalid arguments in a row, by tool
	used     map[string]bool
	failed   map[string]string // last error of a tool, by name
	tainted  bool              // text from outside was read
	task     string            // the last user text that the turn began with
	trimmed  bool              // the model was told that rounds are dropped
	maxReply int
	window   int     // 0: not known
	scale    float64 // tokens as the server counts them, per estimated token
	forced   int     // calls made with a required choice
	once     map[ReplyFault]int
}

// begin checks what can be checked before anything is sent.
func begin(t Turn, messages []model.Message) (*turn, error) {
	r := &turn{
		Turn: t, messages: append([]model.Message{}, messages...),
		tools: map[string]tool.Tool{}, raw: map[string]*result{}, ids: map[string]bool{}, sizes: map[string]int{},
		invalid: map[string]int{}, used: map[string]bool{}, failed: map[string]string{}, once: map[ReplyFault]int{},
		maxReply: t.MaxReply, window: t.Info.Window, scale: 1,
	}
	if r.maxReply <= 0 {
		r.maxReply = model.DefaultMaxOutput
	}
	if r.Limits.ToolCalls <= 0 {
		r.Limits.ToolCalls = DefaultToolCalls
	}
	if r.Limits.Time <= 0 {
		r.Limits.Time = DefaultTime
	}
	for _, m := range messages {
		if m.Role == model.RoleUser {
			r.task = m.Text
		}
		for _, c := range m.ToolCalls {
			r.ids[c.ID] = true
		}
	}
	if len(t.Offers) > 0 && t.Info.Tools != nil && !*t.Info.Tools {
		return r, &model.Error{Kind: model.KindNoTools, Model: t.Info.ID, URL: t.Info.URL,
			Message: fmt.Sprintf("this model cannot call tools, and the stage offers %d", len(t.Offers)),
			Mend:    "take a model that can (towpath models lists them), or write none below Tools"}
	}
	for _, o := range t.Offers {
		if err := r.offer(o); err != nil {
			return r, err
		}
	}
	r.reader = "read_result"
	for r.tools[r.reader] != nil {
		r.reader += "_"
	}
	return r, nil
}

// offer adds a tool under its name.
func (r *turn) offer(o Offer) error {
	spec := o.Tool.Spec()
	if r.tools[o.Name] != nil {
		return fmt.Errorf("two tools are offered as %q", o.Name)
	}
	schema, err := tool.NormaliseSchema(spec.Input)
	if err != nil {
		return fmt.Errorf("offering %s: %w", o.Name, err)
	}
	r.tools[o.Name] = o.Tool
	r.names = append(r.names, o.Name)
	r.defs = append(r.defs, model.ToolDef{Name: o.Name, Description: spec.Description, Schema: schema})
	return nil
}

// openReader offers read_result from the first result on that was cut.
func (r *turn) openReader() {
	if r.kept.Empty() || r.tools[r.reader] != nil || len(r.defs) == 0 {
		return
	}
	if err := r.offer(Offer{Name: r.reader, Tool: r.kept.Reader(r.resultCap(1))}); err != nil {
		r.say("warning", err.Error())
	}
}

func (r *turn) say(kind, note string) {
	if r.Observe != nil {
		r.Observe(Event{Kind: kind, Note: note})
	}
}

// stream passes on what the model says while it says it.
func (r *turn) stream() func(model.Delta) {
	if r.Observe == nil {
		return nil
	}
	return func(d model.Delta) {
		if d.Waiting != "" {
			r.Observe(Event{Kind: "waiting", Note: d.Waiting, Delta: d})
			return
		}
		r.Observe(Event{Kind: "delta", Delta: d})
	}
}

// estimate is the prompt's size in tokens, as estimated.
func (r *turn) estimate(messages []model.Message, defs []model.ToolDef) int {
	sum := toolTokens(defs)
	for _, m := range messages {
		sum += r.size(m)
	}
	return sum
}

// size is a message's share of the prompt.
func (r *turn) size(m model.Message) int {
	n := r.text(m.Text) + perMessage
	for _, c := range m.ToolCalls {
		n += r.text(c.Name) + r.text(c.Arguments) + perMessage
	}
	return n
}

const perMessage = 4 // tokens that a chat template adds around a message

func (r *turn) text(s string) int {
	n, ok := r.sizes[s]
	if !ok {
		n = prompt.Estimate(s)
		r.sizes[s] = n
	}
	return n
}

func toolTokens(defs []model.ToolDef) int {
	var tools []prompt.Tool
	for _, d := range defs {
		tools = append(tools, prompt.Tool{Name: d.Name, Description: d.Description, Schema: d.Schema})
	}
	return prompt.EstimateTools(tools)
}

// real corrects an estimate by what the server has reported so far.
func (r *turn) real(estimate int) int { return int(float64(estimate)*r.scale + 0.5) }

// learn takes the server's own count of a prompt that was estimated.
func (r *turn) learn(estimate, counted int) {
	if estimate > 0 && counted > 0 {
		r.scale = min(max(float64(counted)/float64(estimate), 0.5), 3)
	}
}

// note tells the model something on the program's behalf: below the last tool
// result, else as user text. It never makes two messages of one role in a row,
// and never user text between a tool's result and the model's next word, which
// some chat templates refuse.
func (r *turn) note(text string) {
	last := len(r.messages) - 1
	if last >= 0 && r.messages[last].Role == model.RoleTool {
		text = "[Note from the program that runs you: " + text + "]"
		if res := r.raw[r.messages[last].ToolCallID]; res != nil {
			res.notes = append(res.notes, text)
		}
		r.messages[last].Text += "\n\n" + text
		return
	}
	if last >= 0 && r.messages[last].Role == model.RoleUser {
		r.messages[last].Text += "\n\n" + text
		return
	}
	r.messages = append(r.messages, model.Message{Role: model.RoleUser, Text: text})
}

// nudge is a note that a person who watches should see.
func (r *turn) nudge(text string) {
	r.note(text)
	r.say("nudge", text)
}

// unmet gives the first group of required tools of which none was used.
func (r *turn) unmet() []string {
	for _, group := range r.Required {
		met := false
		for _, name := range group {
			met = met || r.used[name]
		}
		if !met && len(group) > 0 {
			return group
		}
	}
	return nil
}

// timeOver tells the turn's own limit from an end that the caller wants.
func timeOver(timed, outer context.Context) bool {
	return outer.Err() == nil && errors.Is(context.Cause(timed), errTime)
}
