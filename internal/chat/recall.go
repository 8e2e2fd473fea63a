package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"towpath/internal/durable"
	"towpath/internal/engine"
	"towpath/internal/journal"
	"towpath/internal/model"
	"towpath/internal/prompt"
	"towpath/internal/tool"
)

// Past is an earlier conversation.
type Past struct {
	ID      string    `json:"id"` // the name of its newest run
	Began   time.Time `json:"began"`
	Last    time.Time `json:"last"` // its last event
	Turns   int       `json:"turns"`
	Model   string    `json:"model,omitempty"`
	Title   string    `json:"title"`             // the first question, one line
	Problem string    `json:"problem,omitempty"` // why it cannot be read

	runs []string // of the conversation, the oldest first
}

// mostListed bounds the runs that List looks into.
const mostListed = 200

// List gives the conversations in a history, the newest last. One that cannot
// be read is there with its problem.
func List(tree *durable.Tree, dir string) ([]Past, error) {
	h := journal.Open(tree, dir)
	runs, err := h.Runs(Stage)
	if err != nil {
		return nil, err
	}
	runs = runs[max(0, len(runs)-mostListed):]
	var all []*Past
	byRun := map[string]*Past{}
	for _, r := range runs {
		one := &Past{ID: r.Name, Began: r.Time, Last: r.Time, runs: []string{r.Name}}
		resumes := ""
		err := h.Each(r.Name, func(e journal.Event) error {
			one.Last = e.Time
			switch {
			case e.Started != nil:
				one.Model, resumes = e.Started.Model, e.Started.Resumes
			case e.Said != nil:
				one.Turns++
				if one.Title == "" {
					text, _ := h.Text(*e.Said) // a text that is gone leaves no title
					one.Title = title(text)
				}
			}
			return nil
		})
		if err != nil {
			one.Problem = err.Error()
		}
		if before := byRun[resumes]; before != nil {
			one.join(*before)
			if before.ID == resumes { // it is taken up, not branched off
				all = slices.DeleteFunc(all, func(p *Past) bool { return p == before })
			}
		}
		byRun[r.Name] = one
		all = append(all, one)
	}
	out := make([]Past, 0, len(all))
	for _, p := range all {
		if p.Turns > 0 || p.Problem != "" {
			out = append(out, *p)
		}
	}
	return out, nil
}

// join puts an earlier conversation before this one.
func (p *Past) join(before Past) {
	p.runs = slices.Concat(before.runs, p.runs)
	p.Began = before.Began
	p.Turns += before.Turns
	if before.Title != "" {
		p.Title = before.Title
	}
}

func title(text string) string {
	const most = 200 // bytes
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// Pick finds a conversation by its name or the beginning or end of it; "" is
// the newest.
func Pick(all []Past, id string) (Past, error) {
	if len(all) == 0 {
		return Past{}, refuse("there is no conversation to resume yet; start one with towpath chat")
	}
	if id == "" {
		return all[len(all)-1], nil
	}
	var found []Past
	for _, p := range all {
		if slices.Contains(p.runs, id) {
			return p, nil
		}
		if strings.HasPrefix(p.ID, id) || strings.HasSuffix(p.ID, id) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Past{}, refuse("there is no conversation %q; towpath chat --list shows them", id)
	}
	return Past{}, refuse("%d conversations are called %q...; write more of the name, towpath chat --list shows them", len(found), id)
}

func refuse(format string, args ...any) error {
	return &engine.Error{Code: engine.CodeUsage, How: engine.HowRefused, Err: fmt.Errorf(format, args...)}
}

// Line is something that was said in an earlier conversation.
type Line struct {
	Question string
	Answer   string // as far as it came
}

// Resume takes an earlier conversation up, before the first question. It gives
// the last question and answer, and what a person should know about how the
// conversation ended: a call with effects that nothing confirms.
func (s *Session) Resume(p Past) (Line, []string, error) {
	if s.run != nil {
		return Line{}, nil, errors.New("a conversation is under way; start anew to resume another")
	}
	if p.Problem != "" {
		return Line{}, nil, errors.New(p.Problem)
	}
	r := &recalling{h: journal.Open(s.cfg.Tree, s.cfg.Dir), talk: &s.talk}
	for _, run := range p.runs {
		if err := r.h.Each(run, r.event); err != nil {
			return Line{}, nil, fmt.Errorf("resuming %s: %w", p.ID, err)
		}
		r.cutOff()
	}
	s.resumes, s.last = p.ID, r.last.Answer
	s.tools.outside = s.tools.outside || r.outside
	return r.last, r.notes, nil
}

// recalling makes a conversation of its record.
type recalling struct {
	h        *journal.History
	talk     *talk
	open     []model.Message // of the round whose end was not seen; the first is the question
	calls    map[string]journal.Call
	last     Line
	notes    []string
	outside  bool // text from outside was read
	question string
}

func (r *recalling) event(e journal.Event) error {
	r.outside = r.outside || e.Result != nil && e.Result.Untrusted
	switch {
	case e.Type == journal.Cleared:
		r.talk.rounds, r.open = nil, nil
	case e.Said != nil:
		r.cutOff()
		text, err := r.h.Text(*e.Said)
		if err != nil {
			return err
		}
		r.question, r.calls = text, map[string]journal.Call{}
		r.open = []model.Message{{Role: model.RoleUser, Text: text}}
	case r.open == nil:
	case e.Turned != nil:
		return r.turned(e.Turned)
	case e.Reply != nil && e.Reply.Error == "" && len(e.Reply.ToolCalls) > 0:
		text, err := r.h.Text(e.Reply.Text)
		if err != nil {
			return err
		}
		m := model.Message{Role: model.RoleAssistant, Text: text}
		for _, c := range e.Reply.ToolCalls {
			m.ToolCalls = append(m.ToolCalls, model.ToolCall(c))
		}
		r.open = append(r.open, m)
	case e.Call != nil:
		r.calls[e.Call.Key] = *e.Call
	case e.Result != nil:
		return r.result(e.Result)
	}
	return nil
}

// turned takes a round as it was kept.
func (r *recalling) turned(t *journal.Turned) error {
	messages := r.open[:1]
	for _, b := range t.Messages {
		text, err := r.h.Text(b)
		if err != nil {
			return err
		}
		var m model.Message
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			return fmt.Errorf("a message of the conversation cannot be read: %w", err)
		}
		messages = append(messages, m)
	}
	r.add(messages)
	return nil
}

// result takes what a tool gave in a round whose end was not seen.
func (r *recalling) result(res *journal.Result) error {
	text, err := r.h.Text(res.Text)
	if err != nil {
		return err
	}
	call := r.calls[res.Key]
	if res.Error == "" || call.ReadOnly {
		delete(r.calls, res.Key)
	}
	const most = 4000 // tokens: the rest is in the record
	var kept tool.Kept
	note, shown := kept.Cut(text, most, res.Untrusted, "")
	if res.Untrusted {
		shown = tool.Fence(shown, res.Key)
	}
	m := model.Message{Role: model.RoleTool, ToolCallID: res.ID, ToolName: call.Tool, Text: strings.TrimSpace(note + "\n" + shown), IsError: res.IsError || res.Error != ""}
	if m.Text == "" {
		m.Text = "(no output)"
	}
	r.open = append(r.open, m)
	return nil
}

// cutOff closes a round whose end was not seen.
func (r *recalling) cutOff() {
	if r.open == nil {
		return
	}
	why := "the program ended before this was answered"
	for _, c := range r.calls {
		if !c.ReadOnly {
			what := c.Server + " " + c.Tool
			r.notes = append(r.notes, fmt.Sprintf("the call %s was started and nothing says whether it was done; look before you ask for it again", what))
			why += "; nobody knows whether the call " + what + " took effect"
		}
	}
	r.add(closed(r.open, "", why))
}

func (r *recalling) add(messages []model.Message) {
	r.open, r.calls = nil, nil
	r.talk.rounds = append(r.talk.rounds, newRound(messages))
	if n := r.talk.tokens(); n > r.talk.bound() {
		r.talk.shrink(r.talk.bound() * 3 / 4)
	}
	r.last = Line{Question: r.question}
	if m := messages[len(messages)-1]; m.Role == model.RoleAssistant {
		r.last.Answer = m.Text
	}
}

// Use of the window, for a person.
type Use struct {
	Parts   []prompt.Part // of the system text
	System  int           // tokens of the system text
	Tools   int           // tokens of the tools' descriptions
	Offers  int           // number of tools
	Talk    int           // tokens of the conversation
	Rounds  int           // questions in it
	Dropped int           // questions that went to make room
	Reply   int           // tokens kept for the reply
	Window  int           // 0: nobody states it
}

// Context says what the next question will be sent with. Figures are estimates,
// corrected by what the server counted last.
func (s *Session) Context() Use {
	real := func(n int) int { return int(float64(n)*s.talk.scale + 0.5) }
	u := Use{Parts: s.cfg.System.Parts, System: real(s.cfg.System.Tokens), Talk: real(s.talk.tokens()), Rounds: len(s.talk.rounds),
		Dropped: s.talk.dropped, Reply: s.talk.reply, Window: s.talk.size}
	if offers := s.offers(); len(offers) > 0 {
		u.Tools, u.Offers = real(s.tools.tokens), len(offers)
	}
	return u
}
