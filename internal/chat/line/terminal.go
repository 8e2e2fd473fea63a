// Package line reads what a person types at a terminal: one text at a time,
// with a history, completion, pastes of several lines and characters of any
// width. Between two texts it passes single keys on, so that a person can break
// off what is running.
//
// A Terminal belongs to one goroutine, but for Write.
package line

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// ErrInterrupt says that Ctrl-C was pressed at an empty line.
var ErrInterrupt = errors.New("interrupted")

// Terminal is a terminal whose keys come one by one. Close it in the end: until
// then the shell's own line editing is off.
type Terminal struct {
	in, out *os.File
	old     *term.State
	keys    chan Key
	waiting []Key // typed before they were asked for
	resized <-chan os.Signal
	stop    func()

	mu    sync.Mutex
	drawn []int // widths of the rows that are drawn
	row   int   // of the cursor among them
	col   int
}

// Open takes the terminal.
func Open(in, out *os.File) (*Terminal, error) {
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("taking the terminal: %w", err)
	}
	t := &Terminal{in: in, out: out, old: old, keys: make(chan Key, 256)}
	t.resized, t.stop = resizes()
	go t.read()
	io.WriteString(out, "\x1b[?2004h") // pastes are marked as such
	return t, nil
}

// Close gives the terminal back.
func (t *Terminal) Close() error {
	if t.old == nil {
		return nil
	}
	io.WriteString(t.out, "\x1b[?2004l")
	t.stop()
	err := term.Restore(int(t.in.Fd()), t.old)
	t.old = nil
	return err
}

// read passes keys on until the input ends.
func (t *Terminal) read() {
	defer close(t.keys)
	var d decoder
	buf := make([]byte, 64<<10)
	for {
		n, err := t.in.Read(buf)
		for _, k := range d.feed(buf[:n], time.Now()) {
			t.keys <- k
		}
		if err != nil {
			return
		}
	}
}

// Keys are the keys that nobody reads a text from. The channel is closed when
// the input ends.
func (t *Terminal) Keys() <-chan Key { return t.keys }

// Later keeps a key for the next text.
func (t *Terminal) Later(k Key) {
	const most = 1 << 16
	if len(t.waiting) < most {
		t.waiting = append(t.waiting, k)
	}
}

// Typed moves the keys that were pressed already to the next text, so that they
// are not taken for the answer to a question that comes only now.
func (t *Terminal) Typed() {
	for {
		select {
		case k, ok := <-t.keys:
			if !ok {
				return
			}
			t.Later(k)
		default:
			return
		}
	}
}

// Width is the terminal's width in columns.
func (t *Terminal) Width() int {
	w, _, err := term.GetSize(int(t.out.Fd()))
	if err != nil || w <= 0 {
		return 80
	}
	return w
}

func (t *Terminal) height() int {
	_, h, err := term.GetSize(int(t.out.Fd()))
	if err != nil || h <= 0 {
		return 24
	}
	return h
}

// Write writes text to the terminal; \n begins a new line.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := t.out.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Prompt is how a text is asked for.
type Prompt struct {
	Text     string // before the first line; no control characters
	More     string // before every other line
	Style    func(string) string
	History  *History
	Complete func(before string) (start int, candidates []string) // start: bytes of before that stay
}

// Read reads a text. ErrInterrupt is Ctrl-C at an empty text, io.EOF is Ctrl-D
// there or the end of the input.
func (t *Terminal) Read(ctx context.Context, p Prompt) (string, error) {
	if p.Style == nil {
		p.Style = func(s string) string { return s }
	}
	e := newEditor(p.History)
	t.drawn, t.row, t.col = nil, 0, 0
	t.draw(e, p)
	for {
		k, err := t.next(ctx, e, p)
		if err != nil {
			t.leave(e, p)
			return "", err
		}
		switch done, err := t.key(e, p, k); {
		case err != nil:
			return "", err
		case done:
			return string(e.text), nil
		}
	}
}

// next waits for a key.
func (t *Terminal) next(ctx context.Context, e *editor, p Prompt) (Key, error) {
	if len(t.waiting) > 0 {
		k := t.waiting[0]
		t.waiting = t.waiting[1:]
		return k, nil
	}
	for {
		select {
		case k, ok := <-t.keys:
			if !ok {
				return k, io.EOF
			}
			return k, nil
		case <-t.resized:
			t.draw(e, p)
		case <-ctx.Done():
			return Key{}, ctx.Err()
		}
	}
}

// key carries out one key. done says that the text is whole.
func (t *Terminal) key(e *editor, p Prompt, k Key) (done bool, err error) {
	switch {
	case k.Code == Enter:
		e.search = nil
		t.leave(e, p)
		return true, nil
	case k.Code == Interrupt && e.search == nil:
		t.leave(e, p)
		if len(e.text) == 0 {
			return false, ErrInterrupt
		}
		e.set(nil, 0)
		e.at = e.history.Len()
		t.drawn, t.row = nil, 0
	case k.Code == EndOfInput && len(e.text) == 0:
		t.leave(e, p)
		return false, io.EOF
	case k.Code == Suspend:
		t.suspend(e, p)
	case k.Code == Redraw:
		t.put("\x1b[H\x1b[2J")
		t.drawn, t.row = nil, 0
	case k.Code == Tab && p.Complete != nil && e.search == nil:
		t.complete(e, p)
	default:
		if t.quick(e, k) {
			return false, nil
		}
		e.do(k)
	}
	t.draw(e, p)
	return false, nil
}

// quick shows a character that is typed at the end of a row, without drawing
// everything anew.
func (t *Terminal) quick(e *editor, k Key) bool {
	if k.Code != Typed || e.search != nil || e.pos != len(e.text) || len(t.drawn) == 0 || t.row != len(t.drawn)-1 {
		return false
	}
	w := Columns(k.Text)
	if w == 0 || t.col+w >= t.Width() || attached([]rune(k.Text)[0]) {
		return false
	}
	e.insert(k.Text)
	t.put(k.Text)
	t.col += w
	t.drawn[t.row] = t.col
	return true
}

func (t *Terminal) complete(e *editor, p Prompt) {
	before := string(e.text[:e.pos])
	start, candidates := p.Complete(before)
	if e.complete(len([]rune(before[:min(max(start, 0), len(before))])), candidates) || len(candidates) < 2 {
		return
	}
	t.leave(e, p)
	const most = 60
	list := strings.Join(candidates[:min(len(candidates), most)], "  ")
	if len(candidates) > most {
		list += fmt.Sprintf("  and %d more", len(candidates)-most)
	}
	for _, row := range lay("", "", []rune(list), 0, t.Width()).rows {
		t.put(row + "\r\n")
	}
	t.drawn, t.row = nil, 0
}

// draw shows the text as it is now, in the place of how it was.
func (t *Terminal) draw(e *editor, p Prompt) {
	width, height := t.Width(), t.height()
	prompt := p.Text
	if e.search != nil {
		prompt = "(history: " + e.search.what + ") "
	}
	l := lay(prompt, p.More, e.text, e.pos, width)
	rows, row := l.seen(height - 1)
	var b strings.Builder
	if up := t.above(width); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	b.WriteString("\r\x1b[J")
	t.drawn = t.drawn[:0]
	for i, r := range rows {
		if i > 0 {
			b.WriteString("\r\n")
		}
		t.drawn = append(t.drawn, Columns(r))
		if i == 0 && strings.HasPrefix(r, prompt) {
			r = p.Style(prompt) + r[len(prompt):]
		}
		b.WriteString(r)
	}
	if up := len(rows) - 1 - row; up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	b.WriteString("\r")
	if l.col > 0 {
		fmt.Fprintf(&b, "\x1b[%dC", l.col)
	}
	t.row, t.col = row, l.col
	t.put(b.String())
}

// above is how many rows above the cursor the drawing begins, when the terminal
// is now so wide: rows that became too long are broken by it.
func (t *Terminal) above(width int) int {
	n := 0
	for _, w := range t.drawn[:min(t.row, len(t.drawn))] {
		n += max((w+width-1)/width, 1)
	}
	if t.row < len(t.drawn) {
		n += t.col / max(width, 1)
	}
	return n
}

// leave puts the cursor below the text.
func (t *Terminal) leave(e *editor, p Prompt) {
	e.pos = len(e.text)
	t.draw(e, p)
	t.put("\r\n")
}

func (t *Terminal) put(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	io.WriteString(t.out, s)
}

// suspend gives the terminal to the shell until the program is called back.
func (t *Terminal) suspend(e *editor, p Prompt) {
	t.leave(e, p)
	io.WriteString(t.out, "\x1b[?2004l")
	if err := term.Restore(int(t.in.Fd()), t.old); err == nil {
		stopSelf()
		if old, err := term.MakeRaw(int(t.in.Fd())); err == nil {
			t.old = old
		}
	}
	io.WriteString(t.out, "\x1b[?2004h")
	t.drawn, t.row = nil, 0
}
