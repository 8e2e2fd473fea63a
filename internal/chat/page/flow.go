package page

import (
	"strings"

	"towpath/internal/chat/line"
)

// classify says how a line is shown, from its beginning; unknown where more of
// it has to come. indent stands before its continuation.
func (w *Writer) classify(s string, ended bool) (kind, string) {
	const longestIndent, longestLead = 40, 512
	if len(s) > longestLead { // that is enough to tell
		s, ended = s[:longestLead], true
	}
	if w.fence != "" {
		return whole, ""
	}
	t := strings.TrimLeft(s, " \t")
	if t == "" {
		if ended {
			return words, ""
		}
		return unknown, ""
	}
	blank := s[:min(len(s)-len(t), longestIndent)]
	switch t[0] {
	case '|':
		return whole, ""
	case '`', '~':
		n := len(t) - len(strings.TrimLeft(t, t[:1]))
		if n == len(t) && !ended {
			return unknown, ""
		}
		if n >= 3 {
			if !ended {
				return unknown, "" // its info string may show that it is none
			}
			if fenceMark(s) != "" {
				return whole, ""
			}
		}
		return words, blank
	case '#':
		n := len(t) - len(strings.TrimLeft(t, "#"))
		switch {
		case n == len(t) && !ended:
			return unknown, ""
		case n <= 6 && n < len(t) && t[n] == ' ' && blank == "":
			return heading, ""
		}
		return words, blank
	}
	n := leadLength(s)
	switch {
	case n > len(s)-len(t):
		return words, strings.Repeat(" ", min(line.Columns(s[:n]), longestIndent))
	case !ended && mayLead(t):
		return unknown, ""
	}
	return words, blank
}

// mayLead reports whether a line may still become an item of a list.
func mayLead(t string) bool {
	if len(t) > 9 {
		return false
	}
	if strings.Trim(t, "0123456789") == "" || t == "-" || t == "*" || t == "+" || t == ">" {
		return true
	}
	rest := strings.TrimLeft(t, "0123456789")
	return len(rest) < len(t) && (rest == "." || rest == ")")
}

// leadLength is the length, in bytes, of what stands before a line's own words:
// blanks, the mark of an item or a quotation.
func leadLength(s string) int {
	t := strings.TrimLeft(s, " \t")
	n := len(s) - len(t)
	switch {
	case t == "":
		return n
	case strings.HasPrefix(t, "> "):
		return n + 2
	case len(t) > 1 && strings.ContainsRune("-*+", rune(t[0])) && t[1] == ' ':
		return n + 2
	}
	rest := strings.TrimLeft(t, "0123456789")
	if d := len(t) - len(rest); d > 0 && d < 10 && len(rest) > 1 && (rest[0] == '.' || rest[0] == ')') && rest[1] == ' ' {
		return n + d + 2
	}
	return n
}

// longestOpen is how far, in bytes, the end of emphasis or code is looked for
// before its mark is taken for an ordinary character.
const longestOpen = 240

// ready is how far the line can be shown: up to the last end of a word outside
// of open marks.
func (w *Writer) ready() int {
	s := w.line[w.shown:]
	end, i := 0, 0
	for i < len(s) {
		p, n := span(s[i:], false)
		if n == 0 { // open: its end may come
			break
		}
		if p.style == 0 && endsWord(s[i:i+n]) {
			end = i + n
		}
		i += n
	}
	if end == 0 && i > longestWord {
		end = i
	}
	return w.shown + end
}

// longestWord is how long a word may be, in bytes, before it is shown without
// its end.
const longestWord = 1024

// endsWord reports whether a character is a blank, or takes two columns: what is
// written with such characters is written without blanks.
func endsWord(s string) bool {
	return s == " " || s == "\t" || len(s) > 1 && line.Columns(s) == 2
}

// part is a piece of a line with its style.
type part struct {
	text  string
	style byte // 'b'old, 'c'ode, 'i'talic, 0
}

// span reads what begins s: code, emphasis, or one character. n is 0 where more
// of the line has to come to say what it is. The answer does not depend on how
// much more came.
func span(s string, ended bool) (p part, n int) {
	switch {
	case s[0] == '`':
		return codeSpan(s, ended)
	case strings.HasPrefix("**", s) && !ended:
		return part{}, 0
	case len(s) > 2 && s[:2] == "**" && s[2] != ' ' && s[2] != '*':
		inner := s[2:min(len(s), 2+longestOpen+2)]
		j := strings.Index(inner, "**")
		switch {
		case j > 0 && inner[j-1] != ' ':
			return part{inner[:j], 'b'}, j + 4
		case j < 0 && !ended && len(inner) < longestOpen+2:
			return part{}, 0
		}
	}
	for i := range s {
		if i > 0 {
			return part{s[:i], 0}, i
		}
	}
	return part{s, 0}, len(s)
}

func codeSpan(s string, ended bool) (p part, n int) {
	k := len(s) - len(strings.TrimLeft(s, "`"))
	inner := s[k:min(len(s), 2*k+longestOpen+1)]
	j := strings.Index(inner, s[:k])
	open := j < 0 && len(inner) < k+longestOpen+1 || j > 0 && j+k == len(inner)
	switch {
	case !ended && (open || k == len(s)):
		return part{}, 0
	case j > 0 && (j+k == len(inner) || inner[j+k] != '`'):
		body := inner[:j]
		if t := strings.TrimSpace(body); k > 1 && t != "" {
			body = t
		}
		return part{body, 'c'}, k + j + k
	}
	return part{s[:k], 0}, k
}

// flow shows a piece of the line, broken between words.
func (w *Writer) flow(s string) {
	var parts []part
	st := w.opt.Style
	for i := 0; i < len(s); {
		p, n := span(s[i:], true)
		if st == nil && p.style != 0 {
			p = part{s[i : i+n], 0}
		}
		if w.kind == heading && p.style == 0 {
			p.style = 'b'
		}
		if k := len(parts) - 1; k >= 0 && parts[k].style == p.style {
			parts[k].text += p.text
		} else {
			parts = append(parts, p)
		}
		i += n
	}
	w.words(parts)
}

// words lays parts out word by word. A word may be of several parts.
func (w *Writer) words(parts []part) {
	var word []part
	for _, p := range parts {
		from := 0
		for i, r := range p.text {
			c := p.text[i : i+len(string(r))]
			if !endsWord(c) {
				continue
			}
			if c == " " || c == "\t" {
				w.word(append(word, part{p.text[from:i], p.style}))
				w.blank(c)
			} else {
				w.word(append(word, part{p.text[from : i+len(c)], p.style}))
			}
			w.within = false
			word, from = nil, i+len(c)
		}
		if from < len(p.text) {
			word = append(word, part{p.text[from:], p.style})
		}
	}
	w.word(word)
	w.within = len(word) > 0
}

// word shows a word, in the next row where it does not fit into this one. One
// that no row holds is broken.
func (w *Writer) word(parts []part) {
	size := 0
	for _, p := range parts {
		size += line.Columns(p.text)
	}
	width, indent := w.width(), line.Columns(w.indent)
	if width > 0 && w.col+size > width && w.col > indent && size <= width-indent && !w.within {
		w.newRow()
	}
	for _, p := range parts {
		if width <= 0 || w.col+line.Columns(p.text) <= width {
			w.styled(p)
			continue
		}
		w.broken(p, width)
	}
}

// broken shows a part character by character.
func (w *Writer) broken(p part, width int) {
	from, col := 0, w.col
	for i, r := range p.text {
		n := line.ColumnsOf(r)
		if col+n > width && col > line.Columns(w.indent) {
			w.styled(part{p.text[from:i], p.style})
			w.newRow()
			from, col = i, w.col
		}
		col += n
	}
	w.styled(part{p.text[from:], p.style})
}

func (w *Writer) styled(p part) {
	if p.text == "" {
		return
	}
	w.col += line.Columns(p.text)
	if st := w.opt.Style; st != nil {
		switch p.style {
		case 'b':
			p.text = st.Bold(p.text)
		case 'c':
			p.text = st.Code(p.text)
		}
	}
	w.put(p.text)
}

// blank shows white space within the line; at the end of a row it is not seen.
func (w *Writer) blank(s string) {
	if width := w.width(); width > 0 && w.col+line.Columns(s) > width {
		return
	}
	w.col += line.Columns(s)
	w.put(strings.ReplaceAll(s, "\t", "    "))
}

func (w *Writer) newRow() {
	w.put("\n" + w.indent)
	w.col = line.Columns(w.indent)
}

func (w *Writer) width() int {
	if w.opt.Width == nil {
		return 0
	}
	return max(w.opt.Width(), 10)
}
