package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"towpath/internal/journal"
)

func isTerminal(w io.Writer) bool {
	f, ok := outFile(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

// outFile is the file that w writes to, if it is one.
func outFile(w io.Writer) (*os.File, bool) {
	if k, ok := w.(*keeper); ok {
		w = k.w
	}
	f, ok := w.(*os.File)
	return f, ok
}

// code6 is the style of code within text.
func (s style) code6(t string) string { return s.code("36", t) }

// observe shows an event.
func (u *chatUI) observe(e journal.Event) {
	if u.json {
		if u.events != nil {
			u.events.observe(e)
		}
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch e.Type {
	case journal.TextDelta:
		u.wipe()
		u.waits = wait{}
		u.streamed(e.Note)
	case journal.ReasoningDelta:
		if u.waits.what != "thinking" {
			u.waitFor("thinking")
		}
	case journal.Waiting:
		u.held.Reset()
		if u.page.Open() {
			u.note(u.style.dim("the answer broke off and is asked for again"))
		}
		u.waitFor(e.Note)
	case journal.ModelCall:
		u.asked(e.Request)
	case journal.ModelReply:
		if !u.nested {
			u.wipe()
			u.waits = wait{}
			u.replied(e.Reply)
		}
	case journal.ToolCall:
		u.called(e.Call)
	case journal.ToolResult:
		u.gave(e.Result)
	case journal.Nudge:
		u.note(u.style.dim(u.fit("(" + oneLine(e.Note) + ")")))
	case journal.Notice, journal.Warning:
		u.note(u.style.yellow("note:"), e.Note)
	}
}

// asked notes what the call in flight is for.
func (u *chatUI) asked(r *journal.Request) {
	u.nested = r != nil && r.Purpose != "turn"
	if u.nested {
		u.waitFor(r.Purpose)
		return
	}
	u.offers = r != nil && r.Tools.Size > 0
	u.waitFor("waiting for the model")
}

// streamed shows a piece of a reply. What may turn out to be a call that a model
// writes as text is held until that is clear.
func (u *chatUI) streamed(text string) {
	if u.quiet {
		return
	}
	if u.begun && u.held.Len() == 0 {
		u.page.Write(text)
		return
	}
	u.begun = true
	u.held.WriteString(text)
	if !u.offers || !mayBeCall(u.held.String()) {
		u.page.Write(u.held.String())
		u.held.Reset()
	} else if u.waits.since.IsZero() {
		u.waitFor("writing")
	}
}

// mayBeCall reports whether a text may still become a call.
func mayBeCall(text string) bool {
	t := strings.TrimLeft(text, " \n")
	if rest, ok := strings.CutPrefix(t, "```"); ok {
		info, body, more := strings.Cut(rest, "\n")
		if info = strings.TrimSpace(info); more {
			t = strings.TrimLeft(body, " \n")
		} else {
			t = ""
		}
		if info != "" && !strings.HasPrefix("json", info) && info != "tool_call" && info != "tool_code" {
			return false
		}
	}
	switch {
	case t == "", t[0] == '{', strings.Trim(t, "`") == "":
		return true
	case t[0] == '[':
		rest := strings.TrimLeft(t[1:], " \n")
		return rest == "" || rest[0] == '{'
	}
	for _, tag := range []string{"<tool", "<function", "<|"} {
		if strings.HasPrefix(t, tag) || strings.HasPrefix(tag, t) {
			return true
		}
	}
	return false
}

// replied ends what a reply showed.
func (u *chatUI) replied(r *journal.Reply) {
	if u.held.Len() > 0 && (r == nil || len(r.ToolCalls) == 0 || !r.Recovered) {
		u.page.Write(u.held.String())
	}
	u.held.Reset()
	u.begun = false
	_ = u.page.End() // see show
}

// width is that of the terminal, or a wide one's where there is none.
func (u *chatUI) width() int {
	if isTerminal(u.c.env.Out) {
		return wide(u.c.env.Out)()
	}
	return 200
}

// fit clips a line to the terminal.
func (u *chatUI) fit(s string) string { return clip(s, u.width()-1) }

func (u *chatUI) called(c *journal.Call) {
	if c == nil {
		return
	}
	u.count++
	f := &foldedCall{n: u.count, call: *c}
	u.calls = append(u.calls, f)
	if len(u.calls) > mostFolded {
		u.calls = append([]*foldedCall(nil), u.calls[len(u.calls)-mostFolded:]...)
	}
	u.note(u.style.dim(u.fit(fmt.Sprintf("[%d] %s %s %s", f.n, c.Server, c.Tool, oneLine(c.Arguments.Text)))))
	u.waitFor(c.Tool)
}

func (u *chatUI) gave(r *journal.Result) {
	if r == nil {
		return
	}
	u.waits = wait{}
	var f *foldedCall
	for _, c := range u.calls {
		if c.call.Key == r.Key {
			f = c
		}
	}
	if f == nil {
		return
	}
	const most = 64 << 10
	kept := *r
	if len(kept.Structured) > most {
		kept.Structured = nil // the record has it
	}
	f.result = &kept
	what := "gave " + bytesOf(int64(r.Text.Size))
	switch {
	case r.Error != "":
		what = "could not run: " + oneLine(r.Error)
	case r.IsError:
		what = "failed: " + oneLine(r.Text.Text)
	default:
		if text := u.beginning(r.Text); text != "" {
			what += ": " + text
		}
	}
	s := u.fit(fmt.Sprintf("[%d] %s, %s", f.n, short(r.Elapsed), what))
	if r.Error != "" || r.IsError {
		u.note(u.style.yellow(s))
		return
	}
	u.note(u.style.dim(s))
}

// beginning is the first words of a result.
func (u *chatUI) beginning(b journal.Body) string {
	text := b.Text
	if b.Blob != "" {
		var err error
		if text, err = u.session.Text(b); err != nil {
			return ""
		}
	}
	return oneLine(strings.ToValidUTF8(text[:min(len(text), 400)], ""))
}

// unfold shows a call and its result whole.
func (u *chatUI) unfold(f *foldedCall) {
	text := ""
	args, err := u.session.Text(f.call.Arguments)
	if err != nil {
		args = err.Error()
	}
	switch {
	case f.result == nil:
		text = "(it is not known what it gave)"
	case f.result.Error != "":
		text = f.result.Error
	default:
		if text, err = u.session.Text(f.result.Text); err != nil {
			text = err.Error()
		}
		if text == "" {
			text = string(f.result.Structured)
		}
	}
	const most = 64 << 10
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("\n... and %s more, which the record has whole", bytesOf(int64(len(text)-most)))
	}
	u.say(u.style.bold(fmt.Sprintf("[%d] %s %s", f.n, f.call.Server, f.call.Tool)), oneLine(args))
	for _, l := range strings.Split(text, "\n") {
		u.say(clean(l))
	}
}

// waitFor begins to wait for something.
func (u *chatUI) waitFor(what string) {
	now := u.c.env.Clock()
	u.waits.what, u.waits.since, u.waits.beat = what, now, now
}

// tick shows how long the turn has been waiting.
func (u *chatUI) tick() {
	t := time.NewTicker(250 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-u.stop:
			return
		case <-t.C:
			u.mu.Lock()
			u.draw()
			u.mu.Unlock()
		}
	}
}

func (u *chatUI) draw() {
	now := u.c.env.Clock()
	if u.reading || u.waits.since.IsZero() || now.Sub(u.waits.since) < time.Second/2 || u.page.Open() || u.pending != nil {
		return
	}
	text := oneLine(u.waits.what) + ", " + short(now.Sub(u.waits.since).Truncate(time.Second/10))
	if u.c.plain {
		if now.Sub(u.waits.beat) >= heartbeat {
			u.waits.beat = now
			fmt.Fprintln(u.notes, text)
		}
		return
	}
	fmt.Fprintf(u.notes, "\r\x1b[2K%s", u.style.dim(u.fit(text)))
	u.waits.drawn = true
}

func (u *chatUI) wipe() {
	if u.waits.drawn {
		fmt.Fprint(u.notes, "\r\x1b[2K")
		u.waits.drawn = false
	}
}
