package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of a transcript, in bytes. What is cut is whole in the journal.
const (
	transcriptText  = 64 << 10
	transcriptWhole = 32 << 20
)

var errEnough = errors.New("the transcript is long enough")

// writeTranscript writes transcript.md beside a run's journal: the same for
// people. It can be made again from the journal at any time.
func writeTranscript(h *History, run string) error {
	w := &scribe{h: h, seen: map[Body]bool{}}
	err := h.Each(run, func(e Event) error {
		if w.out.Len() > transcriptWhole {
			w.out.WriteString("\nThe rest is in journal.jsonl.\n")
			return errEnough
		}
		w.event(e)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return h.tree.Create(path.Join(runDir(h.dir, run), transcript), []byte(w.out.String()))
}

// scribe turns events into Markdown.
type scribe struct {
	h    *History
	out  strings.Builder
	seen map[Body]bool // messages that were shown already
}

func (w *scribe) say(format string, args ...any) { fmt.Fprintf(&w.out, format, args...) }

func (w *scribe) heading(e Event, format string, args ...any) {
	item := ""
	if e.Item > 0 && e.Type != ItemStarted {
		item = fmt.Sprintf("item %d of %d, ", e.Item, e.Of)
	}
	w.say("\n## %s (%s%s)\n\n", fmt.Sprintf(format, args...), item, e.Time.UTC().Format("15:04:05"))
}

func (w *scribe) event(e Event) {
	switch {
	case e.Started != nil:
		w.started(e)
	case e.Context != nil:
		w.context(e)
	case e.Request != nil:
		w.request(e)
	case e.Reply != nil:
		w.reply(e)
	case e.Call != nil:
		w.heading(e, "Tool %s of %s", span(e.Call.Tool), span(e.Call.Server))
		w.body(e.Call.Arguments)
	case e.Result != nil:
		w.result(e)
	case e.Output != nil:
		w.heading(e, "Written: %s", span(e.Output.Path))
		w.say("%d bytes, SHA-256 %s", e.Output.Bytes, e.Output.Hash)
		if e.Output.Incomplete {
			w.say(", incomplete: a limit cut the work short")
		}
		w.say("\n")
	case e.Gate != nil:
		w.heading(e, "Gate: %s", span(e.Gate.Kind))
		for _, o := range e.Gate.Outputs {
			w.say("- %s\n", span(o))
		}
	case e.Decision != nil:
		w.decision(e)
	case e.Exit != nil:
		w.heading(e, "End: %s, exit code %d", span(e.Exit.How), e.Exit.Code)
		w.lines(e.Exit.Reason, e.Exit.Mend)
	case e.Ended != nil:
		w.ended(e)
	case e.Said != nil:
		w.heading(e, "Said")
		w.body(*e.Said)
	case e.Turned != nil:
		w.heading(e, "Turn ended: %s", span(e.Turned.Stop))
		w.lines(e.Turned.Reason, e.Turned.Error)
	case e.Type == ItemStarted:
		w.heading(e, "Item %d of %d", e.Item, e.Of)
		w.lines(e.Note)
	default:
		w.heading(e, "%s", span(strings.ReplaceAll(string(e.Type), "_", " ")))
		w.lines(e.Note)
		if len(e.Data) > 0 {
			w.fence(string(e.Data))
		}
	}
}

func (w *scribe) started(e Event) {
	s := e.Started
	w.say("# %s\n\nRun %s, %s.\n", oneLine(e.Stage), span(e.Run), e.Time.UTC().Format("2006-01-02 15:04:05 UTC"))
	if s.Model != "" {
		w.say("Model %s.\n", span(s.Model))
	}
	if s.Resumes != "" {
		w.say("Goes on from %s.\n", span(s.Resumes))
	}
	if len(s.Inputs) == 0 {
		return
	}
	w.say("\nRead:\n\n")
	for _, p := range slices.Sorted(maps.Keys(s.Inputs)) {
		w.say("- %s\n", span(p))
	}
}

func (w *scribe) context(e Event) {
	c := e.Context
	w.heading(e, "Context: about %d tokens", c.Tokens)
	if c.Tools > 0 {
		w.say("Tools take about %d more.\n", c.Tools)
	}
	if c.Window > 0 {
		w.say("The window has %d.\n", c.Window)
	}
	w.say("\n| layer | tokens | file |\n|---|---|---|\n")
	for _, f := range c.Files {
		w.say("| %d | %d | %s |\n", f.Layer, f.Tokens, strings.ReplaceAll(span(f.Path), "|", `\|`))
	}
}

// request shows what the model has not been told before. Its own words and the
// tools' results stand in the events before.
func (w *scribe) request(e Event) {
	r := e.Request
	w.heading(e, "Asked: %s", span(r.Model))
	if r.Attempt > 1 {
		w.say("Attempt %d.\n", r.Attempt)
	}
	for _, b := range r.Messages {
		if w.seen[b] {
			continue
		}
		w.seen[b] = true
		text, err := w.h.Text(b)
		if err != nil {
			w.lines(err.Error())
			continue
		}
		var m struct {
			Role string `json:"role"`
			Text string `json:"text"`
		}
		if json.Unmarshal([]byte(text), &m) != nil {
			w.fence(text)
			continue
		}
		if m.Role == "assistant" || m.Role == "tool" {
			continue
		}
		w.say("%s:\n\n", oneLine(m.Role))
		w.fence(m.Text)
	}
}

func (w *scribe) reply(e Event) {
	r := e.Reply
	if r.Error != "" {
		w.heading(e, "Failed: %s", span(r.Kind))
		w.lines(r.Error)
		return
	}
	w.heading(e, "Answered: %s", span(r.Model))
	w.say("%s%s\n", usage(r.Usage), took(r.Elapsed))
	if r.From != "" {
		w.say("Taken from %s.\n", span(r.From))
	}
	if r.Reasoning.Size > 0 {
		w.say("\nReasoning:\n\n")
		w.body(r.Reasoning)
	}
	if r.Text.Size > 0 {
		w.say("\n")
		w.body(r.Text)
	}
	for _, c := range r.ToolCalls {
		w.say("\nAsks for %s:\n\n", span(c.Name))
		w.fence(c.Arguments)
	}
}

func (w *scribe) result(e Event) {
	r := e.Result
	switch {
	case r.Error != "":
		w.heading(e, "Tool failed")
		w.lines(r.Error)
		return
	case r.IsError:
		w.heading(e, "Tool gave an error")
	default:
		w.heading(e, "Tool gave")
	}
	w.body(r.Text)
	for _, s := range r.Sources {
		w.say("- %s\n", span(s))
	}
}

func (w *scribe) decision(e Event) {
	d := e.Decision
	w.heading(e, "Decision: %s, by %s", span(d.What), span(d.Actor))
	if d.Edited {
		w.say("The output was edited.\n")
	}
	if d.Answer != "" {
		w.say("Answer: %s\n", span(d.Answer))
	}
	w.lines(d.Reason)
}

func (w *scribe) ended(e Event) {
	d := e.Ended
	w.heading(e, "Item ended: %s", span(d.Title))
	if d.Reused != "" {
		w.say("Taken from %s.\n", span(d.Reused))
	}
	if d.Incomplete {
		w.say("Incomplete: a limit cut the work short.\n")
	}
	for _, p := range d.Pieces {
		w.say("- %s\n", span(p.Kept))
	}
	w.lines(d.Error)
}

// lines writes texts as paragraphs of one line each.
func (w *scribe) lines(texts ...string) {
	for _, t := range texts {
		if t != "" {
			w.say("%s\n", span(t))
		}
	}
}

func (w *scribe) body(b Body) {
	text, err := w.h.Text(b)
	if err != nil {
		w.lines(err.Error())
		return
	}
	w.fence(text)
}

// fence writes a text so that nothing in it can end the block.
func (w *scribe) fence(text string) {
	note := ""
	if len(text) > transcriptText {
		note = fmt.Sprintf("Cut here: the whole text of %d bytes is in the journal.\n", len(text))
		text = cut(text, transcriptText)
	}
	marks := strings.Repeat("`", max(3, longestRun(text)+1))
	w.say("%stext\n%s", marks, text)
	if !strings.HasSuffix(text, "\n") {
		w.say("\n")
	}
	w.say("%s\n%s", marks, note)
}

func longestRun(text string) int {
	longest, run := 0, 0
	for _, c := range []byte(text) {
		if run++; c != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// span writes a text as code within a line.
func span(text string) string {
	text = oneLine(text)
	if text == "" {
		return "(nothing)"
	}
	marks := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return marks + text + marks
}

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 2000 {
		text = cut(text, 2000) + " ..."
	}
	return text
}

// cut gives the first n bytes, less what would split a letter.
func cut(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func usage(u Usage) string {
	show := func(n *int, what string) string {
		if n == nil {
			return "unknown " + what + " tokens"
		}
		return fmt.Sprintf("%d %s tokens", *n, what)
	}
	return show(u.Prompt, "prompt") + ", " + show(u.Output, "output")
}

func took(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return ", " + d.Round(time.Millisecond).String()
}
