package agent

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"towpath/internal/model"
	"towpath/internal/model/dialogue"
)

// send makes one call with the conversation as it stands. It sees to it that the
// prompt fits, and gives a reply that a second try could not better: an overflow
// and a reply without end are tried once more.
func (r *turn) send(ctx context.Context, choice model.ToolChoice, defs []model.ToolDef) (model.Reply, error) {
	if len(defs) == 0 {
		choice = model.ChoiceAuto
	}
	if err := r.fit(defs); err != nil {
		return model.Reply{}, err
	}
	temp, overflowed, degenerated := r.Temp, false, false
	for {
		r.messages = dialogue.Normalise(r.messages)
		estimate := r.estimate(r.messages, defs)
		reply, err := r.Model.Call(ctx, model.Request{
			Messages: r.messages, Tools: defs, ToolChoice: choice, Temperature: temp,
			MaxOutput: r.maxReply, Window: r.real(estimate) + r.maxReply, Thinking: r.Thinking,
		}, r.stream())
		var e *model.Error
		switch {
		case err == nil:
			r.count(reply, estimate)
			return reply, r.sameModel(reply)
		case errors.As(err, &e) && e.Kind == model.KindOverflow && !overflowed:
			overflowed = true
			if !r.shrinkFor(e, estimate, defs) {
				return reply, r.overflow(defs, e)
			}
		case errors.As(err, &e) && e.Kind == model.KindOverflow:
			return reply, r.overflow(defs, e)
		case errors.As(err, &e) && e.Kind == model.KindRequest && r.quarantine(e, &defs):
		case errors.As(err, &e) && e.Kind == model.KindDegenerate && !degenerated:
			degenerated = true // what it said is not part of the conversation
			warmer := model.DefaultTemperature + 0.4
			if r.Temp != nil {
				warmer = *r.Temp + 0.4
			}
			temp = &warmer
			r.say("nudge", "the reply repeated itself without end; it was dropped and is asked for again")
		default:
			return reply, err
		}
	}
}

// quarantine takes back the offer of a tool that the server names in its
// refusal, so that one bad schema does not spoil every request. The only tool of
// a required group is not given up.
func (r *turn) quarantine(e *model.Error, defs *[]model.ToolDef) bool {
	bad := -1
	for i, d := range *defs {
		named := strings.Contains(e.Message+" "+e.Raw, "'"+d.Name+"'") || strings.Contains(e.Message+" "+e.Raw, `"`+d.Name+`"`)
		if !named {
			continue
		}
		if bad >= 0 {
			return false // it names several: then it speaks of something else
		}
		bad = i
	}
	if bad < 0 {
		return false
	}
	name := (*defs)[bad].Name
	for _, group := range r.Required {
		if len(group) == 1 && group[0] == name {
			return false
		}
	}
	r.say("warning", fmt.Sprintf("the server refuses the tool %s, which is left out: %s", name, e.Message))
	*defs = slices.Delete(slices.Clone(*defs), bad, bad+1)
	r.defs = slices.DeleteFunc(r.defs, func(d model.ToolDef) bool { return d.Name == name })
	r.names = slices.DeleteFunc(r.names, func(n string) bool { return n == name })
	delete(r.tools, name)
	return true
}

// count adds what a call cost; what the server does not report is estimated.
func (r *turn) count(reply model.Reply, estimate int) {
	if p := reply.Usage.Prompt; p != nil && *p > 0 {
		r.learn(estimate, *p)
		r.out.Tokens += *p
	} else {
		r.out.Tokens += estimate
	}
	if o := reply.Usage.Output; o != nil && *o > 0 {
		r.out.Tokens += *o
		return
	}
	r.out.Tokens += r.text(reply.Text) + r.text(reply.Reasoning)
	for _, c := range reply.ToolCalls {
		r.out.Tokens += r.text(c.Arguments)
	}
}

// sameModel refuses a reply of another model than the one that was asked.
func (r *turn) sameModel(reply model.Reply) error {
	if r.Info.ID == "" || reply.Model == "" || same(r.Info.ID, reply.Model) {
		return nil
	}
	return &ReplyError{Kind: FaultModel, Model: r.Info.ID,
		Message: fmt.Sprintf("another model answered: %s", reply.Model),
		Mend:    "name the model as the server does, or load it there", Raw: bounded(reply.Text)}
}

// same compares names as servers spell them: with a date or a tag behind, in
// another case, or as the path of a file.
func same(asked, answered string) bool {
	a, b := strings.ToLower(asked), strings.ToLower(answered)
	if a == b {
		return true
	}
	_, a, _ = strings.Cut(a, "/")
	if _, rest, ok := strings.Cut(b, "/"); ok && strings.HasSuffix(strings.ToLower(asked), "/"+rest) {
		return true
	}
	for _, b := range []string{b, strings.TrimPrefix(b, strings.ToLower(asked[:len(asked)-len(a)])), path.Base(b)} {
		for _, a := range []string{a, path.Base(a)} {
			a, b := strings.TrimSuffix(a, ".gguf"), strings.TrimSuffix(b, ".gguf")
			if a == b || extends(a, b) || extends(b, a) {
				return true
			}
		}
	}
	return false
}

// extends reports that long is short with a version, date or tag behind it.
func extends(short, long string) bool {
	rest, ok := strings.CutPrefix(long, short)
	return ok && short != "" && rest != "" && strings.ContainsRune(":@-", rune(rest[0]))
}

// fit makes the prompt fit the window, as far as it is known: whole rounds go,
// oldest first, then the largest tool results are shortened.
func (r *turn) fit(defs []model.ToolDef) error {
	if r.window <= 0 || r.fits(defs) {
		return nil
	}
	left := 0
	for !r.fits(defs) && r.dropExchange() {
		left++
	}
	if left > 0 {
		r.say("trim", fmt.Sprintf("%d of the oldest questions and answers are left out to make room", left))
	}
	dropped := 0
	for !r.fits(defs) && r.dropRound() {
		dropped++
	}
	if dropped > 0 {
		if !r.trimmed {
			r.trimmed = true
			r.note("to make room, the oldest rounds of tool calls are dropped from this conversation; do not make their calls again")
		}
		r.say("trim", fmt.Sprintf("%d oldest rounds were dropped to fit the window of %d tokens", dropped, r.window))
	}
	for !r.fits(defs) && r.shrinkLargest() {
	}
	if !r.fits(defs) {
		return r.overflow(defs, nil)
	}
	return nil
}

func (r *turn) fits(defs []model.ToolDef) bool {
	return r.real(r.estimate(r.messages, defs))+r.maxReply <= r.window
}

// dropRound removes the oldest round: what the model said or asked, with the
// results. The task, which is the first user text, the last user text and the
// latest round stay.
func (r *turn) dropRound() bool {
	if r.dropExchange() {
		return true
	}
	msgs := r.messages
	first, lastUser, lastCall := -1, -1, -1
	for i, m := range msgs {
		switch {
		case m.Role == model.RoleUser && first < 0:
			first, lastUser = i, i
		case m.Role == model.RoleUser:
			lastUser = i
		case m.Role == model.RoleAssistant:
			lastCall = i
		}
	}
	start := first + 1
	if first < 0 || start >= len(msgs) || start == lastUser || start == lastCall {
		return false
	}
	end := start + 1
	for end < len(msgs) && end != lastUser && end != lastCall && msgs[end].Role != model.RoleUser &&
		(msgs[end].Role == model.RoleTool || msgs[start].Role == model.RoleUser) {
		end++
	}
	r.messages = append(append([]model.Message{}, msgs[:start]...), msgs[end:]...)
	return true
}

// dropExchange removes, in a conversation, the oldest question with all that
// came of it, as long as it is not the one to be answered.
func (r *turn) dropExchange() bool {
	if !r.Conversation {
		return false
	}
	oldest, next := -1, -1
	for i, m := range r.messages {
		switch {
		case m.Role != model.RoleUser:
		case oldest < 0:
			if strings.HasPrefix(m.Text, r.task) {
				return false
			}
			oldest = i
		case next < 0:
			next = i
		}
	}
	if next < 0 {
		return false
	}
	r.messages = slices.Concat(r.messages[:oldest], r.messages[next:])
	return true
}

// shrinkFor shortens results after the server said that the prompt is too long.
// It reports whether anything could be shortened.
func (r *turn) shrinkFor(e *model.Error, estimate int, defs []model.ToolDef) bool {
	r.learn(estimate, e.Prompt)
	if e.Window > 0 && (r.window == 0 || e.Window < r.window) {
		r.window = e.Window
	}
	changed := r.shrinkLargest()
	if r.window > 0 {
		for !r.fits(defs) && r.shrinkLargest() {
			changed = true
		}
		for !r.fits(defs) && r.dropRound() {
			changed = true
		}
	}
	if !changed {
		changed = r.dropRound()
	}
	if changed {
		r.say("trim", "the prompt did not fit the window; the largest tool results were shortened")
	}
	return changed
}

// shrinkLargest halves what the model sees of the largest tool result.
func (r *turn) shrinkLargest() bool {
	const least = 100 // tokens that are always left of a result
	at, size := -1, 2*least
	for i, m := range r.messages {
		if m.Role == model.RoleTool && r.raw[m.ToolCallID] != nil && r.text(m.Text) > size {
			at, size = i, r.text(m.Text)
		}
	}
	if at < 0 {
		return false
	}
	res := r.raw[r.messages[at].ToolCallID]
	res.limit = size / 2
	shorter := r.render(res)
	if r.text(shorter) >= size {
		r.raw[r.messages[at].ToolCallID] = nil // nothing more to gain here
		return true
	}
	r.messages[at].Text = shorter
	return true
}

// overflow says with figures what does not fit.
func (r *turn) overflow(defs []model.ToolDef, cause *model.Error) error {
	system, task, history := 0, 0, 0
	for _, m := range r.messages {
		switch {
		case m.Role == model.RoleSystem:
			system += r.size(m)
		case m.Role == model.RoleUser && task == 0:
			task = r.size(m)
		default:
			history += r.size(m)
		}
	}
	tools := toolTokens(defs)
	e := &model.Error{Kind: model.KindOverflow, Model: r.Info.ID, URL: r.Info.URL, Window: r.window,
		Prompt: r.real(system + task + history + tools)}
	window := "the server's window"
	if r.window > 0 {
		window = fmt.Sprintf("the window of %d tokens", r.window)
	}
	e.Message = fmt.Sprintf("the prompt does not fit %s: about %d tokens of system text, %d of task, %d of conversation, %d of tools (%d tools), "+
		"and %d are kept for the reply", window, system, task, history, tools, len(defs), r.maxReply)
	if large := r.largest(3); large != "" {
		e.Message += "; the largest inputs are " + large
	}
	e.Mend = "shorten the inputs, offer fewer tools, or take a model with a larger window"
	if cause != nil {
		e.Status, e.Err = cause.Status, cause
		if cause.Prompt > 0 {
			e.Prompt = cause.Prompt
		}
	}
	return e
}

// largest names the n largest parts of the prompt.
func (r *turn) largest(n int) string {
	parts := append([]Part{}, r.Parts...)
	sort.SliceStable(parts, func(i, j int) bool { return parts[i].Tokens > parts[j].Tokens })
	var words []string
	for _, p := range parts[:min(n, len(parts))] {
		words = append(words, fmt.Sprintf("%s (%d)", p.Name, p.Tokens))
	}
	return strings.Join(words, ", ")
}
