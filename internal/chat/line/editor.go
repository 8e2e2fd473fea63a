package line

import (
	"strings"
	"unicode"
)

// editor is a text that is being typed. It knows no terminal.
type editor struct {
	text    []rune
	pos     int // of the cursor
	killed  []rune
	history *History
	at      int    // entry of the history that is shown; its length for what is typed
	typed   []rune // what was typed before the history was looked through
	search  *search
}

// search is a look through the history for a piece of text.
type search struct {
	what  string
	at    int // entry that holds it, -1 for none
	saved []rune
}

const longestText = 4 << 20 // characters

func newEditor(h *History) *editor {
	if h == nil {
		h = &History{}
	}
	return &editor{history: h, at: h.Len()}
}

func (e *editor) set(text []rune, pos int) { e.text, e.pos = text, min(max(pos, 0), len(text)) }

func (e *editor) insert(s string) {
	r := []rune(s)
	r = r[:min(len(r), max(longestText-len(e.text), 0))]
	text := make([]rune, 0, len(e.text)+len(r))
	text = append(append(append(text, e.text[:e.pos]...), r...), e.text[e.pos:]...)
	e.set(text, e.pos+len(r))
}

// cut takes out what stands between two places.
func (e *editor) cut(from, to int, keep bool) {
	if from >= to {
		return
	}
	if keep {
		e.killed = append([]rune(nil), e.text[from:to]...)
	}
	text := append(append([]rune(nil), e.text[:from]...), e.text[to:]...)
	pos := e.pos
	switch {
	case pos >= to:
		pos -= to - from
	case pos > from:
		pos = from
	}
	e.set(text, pos)
}

// do carries out a key that changes the text. It reports whether the key is one
// of those.
func (e *editor) do(k Key) bool {
	if e.search != nil && e.searching(k) {
		return true
	}
	switch k.Code {
	case Typed, Pasted:
		e.insert(k.Text)
	case NewLine:
		e.insert("\n")
	case Yank:
		e.insert(string(e.killed))
	case Backspace:
		e.cut(previous(e.text, e.pos), e.pos, false)
	case Delete, EndOfInput:
		e.cut(e.pos, next(e.text, e.pos), false)
	case WordBack:
		e.cut(e.wordLeft(), e.pos, true)
	case WordNext:
		e.cut(e.pos, e.wordRight(), true)
	case KillEnd:
		e.cut(e.pos, max(e.lineEnd(), min(e.pos+1, e.lineEnd()+1, len(e.text))), true)
	case KillStart:
		e.cut(e.lineStart(), e.pos, true)
	case Swap:
		e.swap()
	case Search:
		e.search = &search{at: e.history.Len(), saved: e.text}
	case Up, Down:
		e.vertical(k.Code)
	default:
		return e.move(k.Code)
	}
	return true
}

func (e *editor) move(c Code) bool {
	switch c {
	case Left:
		e.pos = previous(e.text, e.pos)
	case Right:
		e.pos = next(e.text, e.pos)
	case Home:
		e.pos = e.lineStart()
	case End:
		e.pos = e.lineEnd()
	case WordLeft:
		e.pos = e.wordLeft()
	case WordRight:
		e.pos = e.wordRight()
	default:
		return false
	}
	return true
}

func (e *editor) lineStart() int {
	i := e.pos
	for i > 0 && e.text[i-1] != '\n' {
		i--
	}
	return i
}

func (e *editor) lineEnd() int {
	i := e.pos
	for i < len(e.text) && e.text[i] != '\n' {
		i++
	}
	return i
}

func (e *editor) wordLeft() int {
	i := e.pos
	for i > 0 && !wordRune(e.text[i-1]) {
		i--
	}
	for i > 0 && wordRune(e.text[i-1]) {
		i--
	}
	return i
}

func (e *editor) wordRight() int {
	i := e.pos
	for i < len(e.text) && !wordRune(e.text[i]) {
		i++
	}
	for i < len(e.text) && wordRune(e.text[i]) {
		i++
	}
	return i
}

func wordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || attached(r)
}

func (e *editor) swap() {
	if e.pos == 0 || len(e.text) < 2 {
		return
	}
	i := min(e.pos, len(e.text)-1)
	text := append([]rune(nil), e.text...)
	text[i-1], text[i] = text[i], text[i-1]
	e.set(text, i+1)
}

// vertical moves between the lines of the text, and from its first and last
// line through the history.
func (e *editor) vertical(c Code) {
	column := e.pos - e.lineStart()
	if c == Up && e.lineStart() > 0 {
		e.pos = e.lineStart() - 1
		e.pos = min(e.lineStart()+column, e.pos)
		return
	}
	if c == Down && e.lineEnd() < len(e.text) {
		e.pos = e.lineEnd() + 1
		e.pos = min(e.pos+column, e.lineEnd())
		return
	}
	if e.at == e.history.Len() {
		e.typed = e.text
	}
	switch {
	case c == Up && e.at > 0:
		e.at--
	case c == Down && e.at < e.history.Len():
		e.at++
	default:
		return
	}
	text := e.typed
	if e.at < e.history.Len() {
		text = []rune(e.history.entries[e.at])
	}
	e.set(text, len(text))
}

// searching carries out a key of a search. false ends the search and leaves the
// key to what comes next.
func (e *editor) searching(k Key) bool {
	s := e.search
	switch k.Code {
	case Typed, Pasted:
		s.what += strings.ReplaceAll(k.Text, "\n", " ")
		e.find(min(s.at, e.history.Len()-1))
	case Backspace:
		if r := []rune(s.what); len(r) > 0 {
			s.what = string(r[:len(r)-1])
		}
		e.find(e.history.Len() - 1)
	case Search:
		e.find(s.at - 1)
	case Interrupt, Escape:
		e.set(s.saved, len(s.saved))
		e.search = nil
	default:
		e.search = nil
		return false
	}
	return true
}

// find goes back through the history from an entry on.
func (e *editor) find(from int) {
	s := e.search
	if s.what == "" {
		return
	}
	for i := from; i >= 0; i-- {
		entry := e.history.entries[i]
		if at := strings.Index(entry, s.what); at >= 0 {
			s.at, e.at = i, i
			e.set([]rune(entry), len([]rune(entry[:at])))
			return
		}
	}
}

// complete puts a candidate, or what all have in common, in the place of what
// stands between start and the cursor. It reports whether anything changed.
func (e *editor) complete(start int, candidates []string) bool {
	if len(candidates) == 0 || start > e.pos {
		return false
	}
	common := []rune(candidates[0])
	for _, c := range candidates[1:] {
		r := []rune(c)
		n := 0
		for n < len(common) && n < len(r) && common[n] == r[n] {
			n++
		}
		common = common[:n]
	}
	old := string(e.text[start:e.pos])
	if string(common) == old || len(common) < e.pos-start {
		return false
	}
	e.cut(start, e.pos, false)
	e.insert(string(common))
	return true
}
