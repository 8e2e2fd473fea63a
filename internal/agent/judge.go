package agent

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"towpath/internal/model"
)

// judge decides whether a reply without tool calls is the turn's result. done is
// false when the model was told what is missing and is to be called again.
func (r *turn) judge(ctx context.Context, reply model.Reply) (done bool, err error) {
	text := reply.Text
	empty := blank(text)
	switch {
	case reply.Finish == model.FinishFiltered:
		return false, r.fault(FaultFiltered, reply, "the server filtered the reply", "change the input or take another model")
	case empty && reply.Finish == model.FinishLength:
		return false, r.reasoned(reply)
	case r.unmet() != nil:
		return false, r.remind(text)
	case empty:
		return false, r.empty(reply)
	case reply.Finish == model.FinishLength:
		if text, err = r.goOn(ctx, text); err != nil {
			return false, err
		}
	}
	if what := onlyPlans(text); what != "" && !r.Conversation {
		return false, r.planned(reply, what)
	}
	text = Unwrap(text)
	if blank(text) {
		return false, r.empty(reply)
	}
	r.out.Text = text
	r.messages = append(r.messages, model.Message{Role: model.RoleAssistant, Text: text})
	return true, nil
}

// blank reports that nothing of a text can be seen.
func blank(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool {
		return !unicode.IsSpace(c) && !unicode.IsControl(c) && !unicode.Is(unicode.Cf, c)
	})
}

func (r *turn) fault(kind ReplyFault, reply model.Reply, message, mend string) error {
	return &ReplyError{Kind: kind, Model: r.Info.ID, Message: message, Mend: mend, Raw: bounded(reply.Text)}
}

// first reports that a fault is met for the first time.
func (r *turn) first(kind ReplyFault) bool {
	r.once[kind]++
	return r.once[kind] == 1
}

// reasoned raises the budget once when the reasoning used all of it.
func (r *turn) reasoned(reply model.Reply) error {
	if strings.TrimSpace(reply.Reasoning) == "" {
		return r.empty(reply)
	}
	budget := r.maxReply
	more := budget * 4
	if r.window > 0 {
		more = min(more, r.window-r.real(r.estimate(r.messages, r.defs)))
	}
	if !r.first(FaultReasoning) || more <= budget {
		return r.fault(FaultReasoning, reply,
			fmt.Sprintf("the reasoning used the whole budget of %d tokens, and no answer came", budget),
			"turn thinking off for this model or allow longer replies")
	}
	r.maxReply, r.Thinking = more, false
	r.say("nudge", fmt.Sprintf("the reasoning used the whole budget of %d tokens; asking again with %d", budget, more))
	return nil
}

// remind asks, at most twice, for a required tool.
func (r *turn) remind(text string) error {
	group := r.unmet()
	if strings.TrimSpace(text) != "" {
		r.out.Candidates = append(r.out.Candidates, text)
	}
	if r.once[FaultRequired] >= 2 {
		return r.requiredError(group, "")
	}
	r.once[FaultRequired]++
	if strings.TrimSpace(text) != "" {
		r.messages = append(r.messages, model.Message{Role: model.RoleAssistant, Text: text})
	}
	r.nudge(fmt.Sprintf("Before you answer you must call %s, and use what it gives. Call it now.", strings.Join(group, " or ")))
	return nil
}

// empty asks once more for a text.
func (r *turn) empty(reply model.Reply) error {
	if !r.first(FaultEmpty) {
		message := "the reply is empty, also after asking again"
		if len(r.out.Candidates) > 0 {
			message += "; text that came together with a tool call is kept in the journal and was not taken for the result"
		}
		return r.fault(FaultEmpty, reply, message, "run it again or take another model")
	}
	ask := "Your reply was empty. Write the result now, complete, as text."
	if len(r.out.Candidates) > 0 {
		ask = "Your reply was empty. What you wrote together with a tool call does not count: write the whole result now, complete, as text."
	}
	r.nudge(ask)
	return nil
}

// goOn lets a text that was cut by its length be continued once.
func (r *turn) goOn(ctx context.Context, text string) (string, error) {
	before := r.messages
	r.messages = append(append([]model.Message{}, before...), model.Message{Role: model.RoleAssistant, Text: text})
	r.nudge("Your reply was cut at its length limit. Go on exactly where it stopped, from the very next character. Do not repeat anything and add no remark.")
	reply, err := r.send(ctx, model.ChoiceAuto, nil)
	r.messages = before
	if err != nil {
		return "", err
	}
	whole := join(text, reply.Text)
	if reply.Finish == model.FinishLength || blank(reply.Text) {
		return "", r.fault(FaultCut, model.Reply{Text: whole},
			fmt.Sprintf("the reply was cut at %d tokens, and again after it was continued once", r.maxReply),
			"allow longer replies or ask for less in one stage")
	}
	if reply.Finish == model.FinishFiltered {
		return "", r.fault(FaultFiltered, reply, "the server filtered the reply", "change the input or take another model")
	}
	return whole, nil
}

// join puts a continuation behind a text; what it repeats of the end is left
// out.
func join(text, more string) string {
	const least, most = 20, 2000
	more = strings.TrimPrefix(more, "\ufeff")
	for n := min(len(text), len(more), most); n >= least; n-- {
		if text[len(text)-n:] == more[:n] {
			return text + more[n:]
		}
	}
	return text + more
}

// planned turns down, once, a text that only says what it will do.
func (r *turn) planned(reply model.Reply, what string) error {
	if !r.first(FaultPlan) {
		return r.fault(FaultPlan, reply, "the reply "+what+", also after asking again", "make the process more direct or take another model")
	}
	r.out.Candidates = append(r.out.Candidates, reply.Text)
	r.messages = append(r.messages, model.Message{Role: model.RoleAssistant, Text: reply.Text})
	r.nudge("That " + what + ". Write the result itself now: only its text, without saying what you do.")
	return nil
}

func bounded(s string) string {
	const most = 16000
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "\n[cut]"
}
