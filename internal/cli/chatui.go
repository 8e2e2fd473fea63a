package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"towpath/internal/agent"
	"towpath/internal/app"
	"towpath/internal/chat"
	"towpath/internal/chat/line"
	"towpath/internal/chat/page"
	"towpath/internal/engine"
	"towpath/internal/journal"
)

// errForced ends the program while a turn does not let go.
var errForced = errors.New("interrupted")

// chatUI shows a conversation. What it shows comes from the goroutine of the
// turn; keys are taken by the one that reads them.
type chatUI struct {
	c       *cli
	app     *app.App
	session *chat.Session
	json    bool
	events  *jsonEvents
	bare    bool // no workspace is wanted
	screen  bool // lines are edited, and one may be written over
	term    *line.Terminal
	history *line.History
	models  []string // for completion
	answer  func(prompt string) (rune, error)

	mu      sync.Mutex
	out     io.Writer // answers
	notes   io.Writer // everything else
	style   style
	page    *page.Writer
	offers  bool            // the call in flight offers tools
	nested  bool            // the call in flight is a tool's own
	begun   bool            // a reply streams
	held    strings.Builder // of it, what is not shown yet
	calls   []*foldedCall
	count   int // calls so far
	waits   wait
	reading bool       // a line is being typed
	later   [][]string // what is to be said after it
	quiet   bool       // answers are shown whole, in the end
	pending chan rune  // a question to the person is open
	stop    chan struct{}
}

// foldedCall is a tool call that is shown as one line.
type foldedCall struct {
	n      int
	call   journal.Call
	result *journal.Result
}

// mostFolded bounds the calls that can be unfolded.
const mostFolded = 200

// wait is what the turn in flight waits for.
type wait struct {
	what  string
	since time.Time // zero: for nothing
	drawn bool      // a line stands there that is to be written over
	beat  time.Time
}

func newChatUI(c *cli, asJSON bool) *chatUI {
	u := &chatUI{c: c, json: asJSON, out: c.env.Out, notes: c.env.Err, style: c.errStyle()}
	if asJSON {
		u.events = newJSONEvents(c.env.Out)
		u.out = io.Discard
		return u
	}
	u.screen = c.attended() && c.getenv("TERM") != "dumb" && isTerminal(c.env.Out)
	opt := page.Options{}
	if isTerminal(c.env.Out) {
		opt.Lines = c.plain
		if c.terminal(c.env.Out) {
			opt.Width = wide(c.env.Out)
		}
		if st := c.outStyle(); st.on {
			opt.Style = &page.Style{Bold: st.bold, Code: st.code6, Dim: st.dim}
		}
	}
	u.page = page.New(writerFunc(func(p []byte) (int, error) { return u.out.Write(p) }), opt)
	return u
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// begin makes the session, and takes an earlier one up.
func (u *chatUI) begin(ctx context.Context, f chatFlags) error {
	u.bare = f.bare
	var past chat.Past
	if f.resumes {
		all, err := u.app.Chats()
		if err != nil {
			return err
		}
		if past, err = chat.Pick(all, f.resume); err != nil {
			return err
		}
	}
	var approve func(context.Context, chat.Question) (chat.Leave, error)
	if u.c.attended() && !u.json {
		approve = u.approve
	}
	opt := app.ChatOptions{Approve: approve, Servers: f.tools}
	if len(f.tools) == 1 && f.tools[0] == "none" {
		opt.Servers = []string{}
	}
	var err error
	if u.session, err = u.app.Chat(ctx, opt); err != nil {
		return err
	}
	if !u.json {
		u.c.warnings(u.app)
		u.others(f)
	}
	if !f.resumes {
		return nil
	}
	last, notes, err := u.session.Resume(past)
	if err != nil {
		return err
	}
	for _, n := range notes {
		u.say(u.style.yellow("note:"), n)
	}
	if u.screen || u.c.attended() {
		u.say(fmt.Sprintf("Going on with %s, %s.", past.ID, plural(past.Turns, "question")))
		if last.Question != "" {
			u.say(u.style.dim("> " + clip(oneLine(last.Question), 200)))
			u.show(last.Answer)
		}
	}
	return nil
}

// others says that there are workspaces here which could be meant.
func (u *chatUI) others(f chatFlags) {
	if u.app.Workspace != nil || f.bare || !u.screen {
		return
	}
	found, err := app.Discover(u.c.env.Dir)
	if err != nil || len(found) < 2 {
		return
	}
	const most = 5
	names := strings.Join(found[:min(len(found), most)], ", ")
	if len(found) > most {
		names += ", ..."
	}
	u.say(fmt.Sprintf("To talk about a workspace, name it: towpath chat %s (%s).", quoted(found[0]), names))
}

// show shows an answer that is whole.
func (u *chatUI) show(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.wipe()
	if u.page != nil {
		u.page.Write(text)
		_ = u.page.End() // the terminal's own trouble shows itself
	}
}

// say writes a line beside the answers, without control characters.
func (u *chatUI) say(parts ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.note(parts...)
}

func (u *chatUI) note(parts ...string) {
	if u.reading { // a line is being typed: not into the middle of it
		const most = 100
		if len(u.later) < most {
			u.later = append(u.later, parts)
		}
		return
	}
	u.wipe()
	if u.json {
		return
	}
	if u.page.Open() {
		_ = u.page.End() // see show
	}
	s := u.style.safe(strings.Join(parts, " "))
	if u.screen && !u.c.plain {
		s = wrap(s, u.width())
	}
	fmt.Fprintln(u.notes, s)
}

func (u *chatUI) closePage() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.wipe()
	u.waits = wait{}
	if u.page != nil {
		u.replied(nil)
	}
}

// talk reads questions at a terminal until the person has enough.
func (u *chatUI) talk(ctx context.Context) error {
	u.greet()
	out := u.c.env.Out
	if err := u.openTerminal(); err != nil {
		return err
	}
	defer func() {
		close(u.stop)
		_ = u.term.Close() // the program ends
		u.out, u.notes = out, u.c.env.Err
	}()
	p := line.Prompt{Text: "> ", More: "  ", History: u.history, Complete: u.complete}
	if u.style.on {
		p.Style = u.style.bold
	}
	for {
		u.typing(true)
		text, err := u.term.Read(ctx, p)
		u.typing(false)
		switch {
		case errors.Is(err, line.ErrInterrupt), errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := u.history.Add(text); err != nil {
			u.say(u.style.yellow("note:"), err.Error())
		}
		switch done, err := u.command(ctx, text); {
		case err != nil:
			return err
		case done == left:
			return nil
		case done == handled:
			continue
		}
		if err := u.turn(ctx, text); err != nil {
			return err
		}
	}
}

// typing notes whether a line is being typed. What was to be said meanwhile is
// said after it.
func (u *chatUI) typing(now bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.wipe()
	u.waits, u.reading = wait{}, now
	if now {
		return
	}
	later := u.later
	u.later = nil
	for _, parts := range later {
		u.note(parts...)
	}
}

func (u *chatUI) greet() {
	about := u.session.Model()
	if u.app.Workspace != nil {
		about += ", workspace " + u.app.Shown
	}
	u.say(u.style.bold("towpath chat:"), about)
	u.say(u.style.dim("/help lists the commands, Ctrl-C breaks an answer off, Ctrl-D ends."))
}

func (u *chatUI) openTerminal() (err error) {
	path := ""
	if dir := u.app.ChatDir(); dir != "" {
		path = filepath.Join(dir, "typed")
	}
	if u.history, err = line.OpenHistory(path, u.session.Hides); err != nil {
		u.say(u.style.yellow("note:"), err.Error())
	}
	file, ok := outFile(u.c.env.Out)
	if !ok {
		return errors.New("the output is no terminal")
	}
	if u.term, err = line.Open(u.c.env.In, file); err != nil {
		return err
	}
	u.answer = u.askKey
	u.out, u.notes = u.term, u.term
	u.stop = make(chan struct{})
	go u.tick()
	return nil
}

type turned struct {
	answer chat.Answer
	err    error
}

// turn asks one question. Ctrl-C ends the turn; a second one within a second
// ends the program.
func (u *chatUI) turn(ctx context.Context, text string) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan turned, 1)
	go func() {
		a, err := u.session.Ask(running, text)
		done <- turned{a, err}
	}()
	keys := u.term.Keys()
	var interrupted time.Time
	for {
		select {
		case t := <-done:
			u.settled(t.answer, t.err)
			return ctx.Err()
		case k, ok := <-keys:
			if !ok {
				keys = nil
				cancel()
				continue
			}
			if k.Code != line.Interrupt {
				u.key(k)
				continue
			}
			now := u.c.env.Clock()
			if !interrupted.IsZero() && now.Sub(interrupted) < time.Second {
				return errForced
			}
			interrupted = now
			u.reply('n')
			cancel()
		}
	}
}

// key takes a key while a turn runs: the answer to a question, else it belongs
// to the next text.
func (u *chatUI) key(k line.Key) {
	if k.Code == line.Typed && u.reply([]rune(strings.ToLower(k.Text))[0]) {
		return
	}
	u.term.Later(k)
}

// reply gives the answer to the open question; false if there is none.
func (u *chatUI) reply(r rune) bool {
	u.mu.Lock()
	pending := u.pending
	u.mu.Unlock()
	if pending == nil {
		return false
	}
	select {
	case pending <- r:
	default:
	}
	return true
}

// askKey waits for a key that answers a question, at a terminal.
func (u *chatUI) askKey(string) (rune, error) {
	u.mu.Lock()
	u.pending = make(chan rune, 1)
	pending := u.pending
	u.mu.Unlock()
	defer func() {
		u.mu.Lock()
		u.pending = nil
		u.mu.Unlock()
	}()
	return <-pending, nil
}

// settled shows how a turn ended.
func (u *chatUI) settled(a chat.Answer, err error) {
	u.closePage()
	switch {
	case errors.Is(err, context.Canceled):
		u.say(u.style.yellow("interrupted;"), "the conversation is kept")
	case err != nil:
		u.say(u.style.red("error:"), sentence(err))
	case a.Stop != agent.StopAnswered:
		u.say(u.style.yellow("stopped without an answer:"), a.Reason)
	}
	if u.screen && !u.json {
		u.say("")
	}
}

// approve asks the person for leave to make a call.
func (u *chatUI) approve(ctx context.Context, q chat.Question) (chat.Leave, error) {
	const most = 4000
	u.mu.Lock()
	u.wipe()
	u.waits = wait{}
	u.note(u.style.yellow("leave?"), fmt.Sprintf("%s %s may change something: %s", q.Spec.Server, q.Spec.Name, clip(oneLine(string(q.Arguments)), most)))
	if q.Untrusted {
		u.note(u.style.yellow("      "), "text from outside was read before the model asked for it")
	}
	fmt.Fprint(u.notes, "       y yes, n no, a always in this session: ")
	u.mu.Unlock()
	for {
		r, err := u.answer("")
		if err != nil {
			return chat.No, err
		}
		if ctx.Err() != nil {
			return chat.No, ctx.Err()
		}
		leave, word := chat.No, "no"
		switch r {
		case 'y':
			leave, word = chat.Once, "yes"
		case 'a':
			leave, word = chat.Always, "always"
		case 'n':
		default:
			continue
		}
		if u.screen {
			u.say(word)
		}
		return leave, nil
	}
}

// end closes the conversation and says how to take it up again.
func (u *chatUI) end(err error) error {
	id := ""
	if u.session != nil {
		id = u.session.ID()
	}
	if u.json {
		e := journal.Exited{How: howEnded(err), Code: engine.ExitCode(err)}
		if err != nil {
			e.Reason = err.Error()
		}
		u.events.observe(journal.Event{V: journal.Version, Run: id, Time: u.c.env.Clock().UTC(), Type: journal.Exit, Stage: chat.Stage, Exit: &e})
		if err == nil {
			err = u.events.err
		}
		u.events = nil
	}
	if u.session == nil {
		return err
	}
	if cerr := u.session.Close(); err == nil {
		err = cerr
	}
	if id != "" && u.screen {
		where := ""
		switch {
		case u.bare:
			where = " --no-workspace"
		case u.app.Workspace != nil && u.app.Shown != ".":
			where = " " + quoted(u.app.Shown)
		}
		u.say(u.style.dim("towpath chat"+where+" --resume "+id), u.style.dim("takes this conversation up again"))
	}
	return err
}
