// Package page shows Markdown at a terminal while it streams: headings bold,
// code as it is, tables as they are, long lines broken between words. What a
// model or a tool says never steers the terminal: control characters are left
// out.
//
// A Writer belongs to one goroutine.
package page

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"towpath/internal/chat/line"
)

// Style turns text into styled text. Nil leaves it as it is, with its marks.
type Style struct {
	Bold, Code, Dim, Italic func(string) string
}

// Options are how a Writer shows things.
type Options struct {
	Width func() int // in columns, asked for each line; nil breaks no lines
	Style *Style     // nil keeps the marks of Markdown
	Lines bool       // whole lines only, for who listens to the terminal
}

// Writer shows one text after another. An error to write is kept and given by
// End.
type Writer struct {
	w   io.Writer
	opt Options
	err error

	tail    string // bytes of a character that is not whole yet
	source  strings.Builder
	line    string // what source holds: the line as far as it came, but for what was shown long since
	shown   int    // bytes of line that are shown
	kind    kind   // of line, once it is known
	fence   string // marks that opened the code block, "" outside of one
	indent  string // before a continuation of the line
	col     int    // columns of the current row that are taken
	within  bool   // the word before is not at its end
	started bool   // something was shown since the last End
}

type kind int

const (
	unknown kind = iota
	words        // broken between words
	heading
	whole // shown when its end is there, as it is
)

// New makes a writer.
func New(w io.Writer, opt Options) *Writer { return &Writer{w: w, opt: opt} }

// Clean leaves out what could steer a terminal or turn what is read round.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\u2028', r == '\u2029':
			return -1
		}
		return r
	}, s)
}

// Write takes a piece of the text.
func (w *Writer) Write(s string) {
	s = w.tail + s
	w.tail = ""
	if n := unfinished(s); n > 0 {
		s, w.tail = s[:len(s)-n], s[len(s)-n:]
	}
	s = Clean(s)
	for s != "" {
		piece, rest, end := strings.Cut(s, "\n")
		w.add(piece)
		if end {
			w.endLine()
		} else {
			w.more()
		}
		s = rest
	}
}

// add lengthens the line.
func (w *Writer) add(s string) {
	const much = 4096
	if w.shown > much && w.kind != whole {
		rest := w.line[w.shown:]
		w.source = strings.Builder{}
		w.source.WriteString(rest)
		w.shown = 0
	}
	w.source.WriteString(s)
	w.line = w.source.String()
}

// unfinished is how many bytes at the end are the beginning of a character.
func unfinished(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if c := s[len(s)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// End ends the text: what is held is shown, and the line is ended.
func (w *Writer) End() error {
	if w.tail != "" {
		w.add(Clean(w.tail))
		w.tail = ""
	}
	if w.line != "" || w.col > 0 {
		w.endLine()
	}
	w.fence, w.started = "", false
	return w.err
}

// Open reports whether a line is begun and not ended.
func (w *Writer) Open() bool { return w.col > 0 || w.line != "" }

// more shows as much of the line as can be.
func (w *Writer) more() {
	if w.opt.Lines {
		return
	}
	if w.kind == unknown {
		w.kind, w.indent = w.classify(w.line, false)
		if w.kind == unknown {
			return
		}
		w.lead()
	}
	if w.kind == words || w.kind == heading {
		if end := w.ready(); end > w.shown {
			w.flow(w.line[w.shown:end])
			w.shown = end
		}
	}
}

// endLine shows the rest of the line and ends it.
func (w *Writer) endLine() {
	if w.kind == unknown {
		w.kind, w.indent = w.classify(w.line, true)
		w.lead()
	}
	switch w.kind {
	case whole:
		w.put(w.code(w.line))
	default:
		w.flow(w.line[w.shown:])
	}
	if w.line != "" || w.started {
		w.put("\n")
	}
	w.turnFence()
	w.source = strings.Builder{}
	w.line, w.shown, w.kind, w.indent, w.col, w.within = "", 0, unknown, "", 0, false
}

// code styles a line that is shown as it is.
func (w *Writer) code(s string) string {
	st := w.opt.Style
	switch {
	case st == nil || s == "":
		return s
	case fenceMark(s) != "":
		return st.Dim(s)
	case w.fence != "":
		return st.Code(s)
	}
	return s
}

// turnFence opens or closes a code block at the end of the line.
func (w *Writer) turnFence() {
	if w.kind != whole {
		return
	}
	mark := fenceMark(w.line)
	switch {
	case mark == "":
	case w.fence == "":
		w.fence = mark
	case mark[0] == w.fence[0] && len(mark) >= len(w.fence) && strings.Trim(w.line, " "+mark[:1]) == "":
		w.fence = ""
	}
}

// fenceMark gives the marks of a line that opens or closes a code block.
func fenceMark(s string) string {
	t := strings.TrimLeft(s, " ")
	if t == "" || t[0] != '`' && t[0] != '~' {
		return ""
	}
	n := len(t) - len(strings.TrimLeft(t, t[:1]))
	if n < 3 || t[0] == '`' && strings.Contains(t[n:], "`") {
		return ""
	}
	return t[:n]
}

// lead shows the marks at the beginning of a line that are not part of its
// words.
func (w *Writer) lead() {
	switch {
	case w.kind == heading && w.opt.Style != nil:
		w.shown = min(len(w.line), len(w.line)-len(strings.TrimLeft(w.line, "# ")))
	case w.kind == words && w.indent != "":
		n := min(leadLength(w.line), len(w.line))
		w.put(w.line[:n])
		w.col += line.Columns(w.line[:n])
		w.shown = n
	}
}

func (w *Writer) put(s string) {
	if s == "" {
		return
	}
	w.started = true
	if _, err := io.WriteString(w.w, s); err != nil && w.err == nil {
		w.err = err
	}
}
