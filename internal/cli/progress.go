package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"towpath/internal/journal"
	"towpath/internal/prompt"
)

// progress shows what a run is doing: a line for everything that is worth
// keeping, and on a terminal one more that is written over while something
// takes its time. Elsewhere a line is printed every quarter of a minute.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	tty   bool // lines may be written over
	wide  func() int
	clock func() time.Time
	style style
	shown func(string) string // a workspace path as it is opened from here
	typed func(string) string // a sentence with its commands as they are typed here
	once  sync.Once
	stop  chan struct{}
	done  chan struct{}

	stage   string
	began   time.Time // of the stage
	call    time.Time // of the call in flight; zero outside one
	doing   string
	waiting string
	item    int
	of      int
	calls   int // tool calls of the stage
	in, out int // tokens of the stage that a server reported
	unknown bool
	text    strings.Builder // of the reply in flight
	waited  time.Time       // last line of a wait
	held    string          // error of a call, until it is clear whether something else says it
	drawn   bool            // a line stands there that is to be written over
	beat    time.Time       // last line of a call in flight, off a terminal
}

const heartbeat = 15 * time.Second

func newProgress(w io.Writer, tty bool, wide func() int, st style, clock func() time.Time) *progress {
	p := &progress{w: w, tty: tty, wide: wide, clock: clock, style: st, shown: same, typed: same, stop: make(chan struct{}), done: make(chan struct{})}
	go p.tick()
	return p
}

func same(s string) string { return s }

// places sets how paths of outputs and commands in sentences are shown.
func (p *progress) places(shown, typed func(string) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown, p.typed = shown, typed
}

// Close ends the display. It may be called twice.
func (p *progress) Close() {
	p.once.Do(func() { close(p.stop) })
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
}

func (p *progress) tick() {
	defer close(p.done)
	t := time.NewTicker(250 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-t.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

// observe takes every event of a run.
func (p *progress) observe(e journal.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.where(e)
	p.release(e)
	switch e.Type {
	case journal.StageSkipped:
		p.line("[skip] %s: %s", e.Stage, e.Note)
	case journal.ContextBuilt:
		p.context(e)
	case journal.ItemStarted:
		if e.Note != "" {
			p.line("%s %s", p.place(), clip(e.Note, 70))
		}
	case journal.ModelCall:
		p.call, p.beat = p.clock(), p.clock()
		p.doing, p.waiting = purpose(e.Request), ""
		p.text.Reset()
	case journal.TextDelta, journal.ReasoningDelta:
		p.waiting = ""
		if p.text.Len() < 1<<20 {
			p.text.WriteString(e.Note)
		}
	case journal.Waiting:
		p.wait(e.Note)
	case journal.ModelReply:
		p.reply(e.Reply)
	case journal.ToolCall:
		p.calls++
		p.call, p.beat, p.doing, p.waiting = p.clock(), p.clock(), e.Call.Tool, ""
		p.line("%s %s %s", p.place(), e.Call.Server+"_"+e.Call.Tool, clip(oneLine(e.Call.Arguments.Text), 60))
	case journal.ToolResult:
		p.call = time.Time{}
		p.result(e.Result)
	case journal.Nudge:
		p.line("%s told the model: %s", p.place(), clip(oneLine(e.Note), 90))
	case journal.Warning, journal.Notice:
		p.line("%s %s", p.place(), p.typed(e.Note))
	case journal.ItemEnded:
		p.ended(e)
	case journal.OutputWritten:
		p.line("%s wrote %s, %s bytes%s", p.place(), p.style.bold(p.shown(e.Output.Path)), thousands(e.Output.Bytes), p.spent())
	}
	p.draw()
}

// release shows the error of a call once it is clear that nothing else will: an
// end names its reason itself, and so does a wait.
func (p *progress) release(e journal.Event) {
	if p.held == "" {
		return
	}
	switch e.Type {
	case journal.Exit, journal.Waiting, journal.ItemEnded:
	default:
		p.line("%s %s", p.place(), p.held)
	}
	p.held = ""
}

// ended shows what is not plain of an item that ended.
func (p *progress) ended(e journal.Event) {
	switch x := e.Ended; {
	case x == nil:
	case x.Error != "":
		p.line("%s no result: %s", p.place(), x.Error)
	case x.Reused != "":
		p.line("%s %s, kept from an earlier run", p.place(), clip(x.Title, 50))
	case x.Incomplete:
		p.line("%s the result is incomplete", p.place())
	}
}

// wait shows why nothing comes: off a terminal the first time in a call, and
// then as often as the heart beats.
func (p *progress) wait(why string) {
	if !p.tty && why != "" && p.waiting == "" && p.clock().Sub(p.waited) >= heartbeat/15 {
		p.line("%s %s", p.place(), why)
		p.waited = p.clock()
	}
	p.waiting = why
	if p.call.IsZero() {
		p.call, p.beat, p.doing = p.clock(), p.clock(), "working"
	}
}

// where keeps the stage and the item that the event belongs to.
func (p *progress) where(e journal.Event) {
	if e.Stage != "" && e.Stage != p.stage {
		p.stage, p.began = e.Stage, p.clock()
		p.item, p.of, p.calls, p.in, p.out, p.unknown = 0, 0, 0, 0, 0, false
		p.call = time.Time{}
	}
	if e.Item > 0 || e.Type == journal.OutputWritten {
		p.item, p.of = e.Item, e.Of
	}
}

func (p *progress) context(e journal.Event) {
	c := e.Context
	s := fmt.Sprintf("%s context about %s tokens", p.place(), thousands(c.Tokens))
	if c.Tools > 0 {
		s += fmt.Sprintf(", tools %s", thousands(c.Tools))
	}
	if c.Window > 0 {
		s += fmt.Sprintf(", window %s", thousands(c.Window))
	}
	p.line("%s", s)
}

func (p *progress) reply(r *journal.Reply) {
	p.call = time.Time{}
	if r == nil {
		return
	}
	if r.Error != "" {
		p.held = r.Error
		return
	}
	if r.Usage.Prompt == nil || r.Usage.Output == nil {
		p.unknown = true
		return
	}
	p.in += *r.Usage.Prompt
	p.out += *r.Usage.Output
}

func (p *progress) result(r *journal.Result) {
	switch {
	case r.Error != "":
		p.line("%s could not run: %s", p.place(), clip(oneLine(r.Error), 100))
	case r.IsError:
		p.line("%s answered with an error: %s", p.place(), clip(oneLine(r.Text.Text), 100))
	}
}

func (p *progress) place() string {
	if p.stage == "" {
		return ""
	}
	s := p.style.bold(p.stage)
	if p.of > 0 && p.item > 0 {
		s += fmt.Sprintf(" %d/%d", p.item, p.of)
	}
	return s + ":"
}

// spent is what the stage took so far.
func (p *progress) spent() string {
	s := ", " + short(p.clock().Sub(p.began))
	if p.calls > 0 {
		s += fmt.Sprintf(", %s", plural(p.calls, "tool call"))
	}
	if p.in+p.out > 0 {
		s += fmt.Sprintf(", %s tokens in and %s out", thousands(p.in), thousands(p.out))
	}
	if p.unknown {
		s += " (not all reported)"
	}
	return s
}

// draw shows the call in flight.
func (p *progress) draw() {
	if p.call.IsZero() {
		return
	}
	now := p.clock()
	if !p.tty {
		if now.Sub(p.beat) < heartbeat {
			return
		}
		p.beat = now
		p.line("%s %s", p.place(), p.status(now))
		return
	}
	s := clip(oneLine(p.stage+" "+p.status(now)), p.wide()-1)
	fmt.Fprintf(p.w, "\r\x1b[2K%s", p.style.dim(s))
	p.drawn = true
}

func (p *progress) status(now time.Time) string {
	s := p.doing
	if p.of > 0 && p.item > 0 && p.tty {
		s = fmt.Sprintf("%d/%d %s", p.item, p.of, s)
	}
	switch {
	case p.waiting != "":
		s += ": " + p.waiting
	case p.text.Len() > 0:
		s += fmt.Sprintf(": about %s tokens written", thousands(prompt.Estimate(p.text.String())))
	default:
		s += ": waiting for the first word"
	}
	s += ", " + short(now.Sub(p.call))
	if p.in+p.out > 0 {
		s += fmt.Sprintf(", stage %s in and %s out, %s", thousands(p.in), thousands(p.out), short(now.Sub(p.began)))
	}
	return s
}

func (p *progress) line(format string, args ...any) {
	p.wipe()
	text := strings.TrimSpace(p.style.safe(fmt.Sprintf(format, args...)))
	if p.tty {
		text = wrap(text, p.wide())
	}
	fmt.Fprintln(p.w, text)
}

func (p *progress) wipe() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[2K")
		p.drawn = false
	}
}

func purpose(r *journal.Request) string {
	if r == nil || r.Purpose == "" || r.Purpose == "turn" {
		return "model"
	}
	return r.Purpose
}

// jsonEvents writes each event as a line of JSON.
type jsonEvents struct {
	mu  sync.Mutex
	enc *json.Encoder
	err error // the first failure to write
}

func newJSONEvents(w io.Writer) *jsonEvents { return &jsonEvents{enc: json.NewEncoder(w)} }

func (j *jsonEvents) observe(e journal.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.enc.Encode(e); err != nil && j.err == nil {
		j.err = err
	}
}
