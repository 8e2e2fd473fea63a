package document

import (
	"bytes"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium/responses"
)

// pdfLine is one line of a page.
type pdfLine struct {
	text        string
	size        float64 // of its letters, points
	top, bottom float64
	newPage     bool // first line of its page
}

// pdfText gathers the lines of a PDF and makes paragraphs and headings of
// them.
type pdfText struct {
	lines []pdfLine
	bytes int
}

// add takes the pieces of one page, which stand in reading order.
func (t *pdfText) add(rects []*responses.GetPageTextStructuredRect) {
	first := true
	right := 0.0
	for _, r := range rects {
		text := strings.Join(strings.Fields(strings.Map(printable, r.Text)), " ")
		if text == "" {
			continue
		}
		size := math.Abs(r.PointPosition.Top - r.PointPosition.Bottom)
		if f := r.FontInformation; f != nil {
			if size = f.RenderedSize; size <= 0 {
				size = f.Size
			}
		}
		top, bottom, left := r.PointPosition.Top, r.PointPosition.Bottom, r.PointPosition.Left
		if last := len(t.lines) - 1; !first && sameLine(t.lines[last], top, bottom) && left >= right-size {
			l := &t.lines[last]
			if left-right > size*0.15 || startsWithSpace(r.Text) {
				l.text += " "
			}
			l.text += text
			l.size = max(l.size, size)
			l.top, l.bottom = max(l.top, top), min(l.bottom, bottom)
		} else {
			t.lines = append(t.lines, pdfLine{text: text, size: size, top: top, bottom: bottom, newPage: first})
		}
		right = r.PointPosition.Right
		t.bytes += len(text) + 1
		first = false
	}
}

// sameLine says that a piece stands beside a line: half of the lower of the
// two lies within the other.
func sameLine(l pdfLine, top, bottom float64) bool {
	overlap := min(l.top, top) - max(l.bottom, bottom)
	return overlap > 0.5*min(l.top-l.bottom, top-bottom)
}

// body is the size in which most of the text is set.
func (t *pdfText) body() float64 {
	chars := map[float64]int{}
	best, most := 0.0, 0
	for _, l := range t.lines {
		s := math.Round(l.size*2) / 2
		chars[s] += len(l.text)
		if n := chars[s]; n > most || n == most && s < best {
			best, most = s, n
		}
	}
	return best
}

// markdown joins lines to paragraphs. A short line in larger letters is a
// heading; its level follows from how much larger they are.
func (t *pdfText) markdown() string {
	body := t.body()
	var out []byte
	prev := pdfLine{}
	prevLevel := 0
	for i, l := range t.lines {
		level := headingLevel(l, body)
		goesOn := level > 0 && level == prevLevel && !l.newPage && near(prev, l) // a heading of two lines
		switch {
		case i == 0:
		case goesOn:
			out = append(out, ' ')
		case level > 0 || prevLevel > 0 || paragraphEnds(prev, l):
			out = append(out, "\n\n"...)
		case hyphenated(prev.text, l.text):
			out = bytes.TrimRight(out, "-\u00ad\u2010")
		default:
			out = append(out, '\n')
		}
		if level > 0 && !goesOn {
			out = append(out, strings.Repeat("#", level)+" "...)
		}
		out = append(out, bullet(l.text)...)
		prev, prevLevel = l, level
	}
	return strings.NewReplacer("\u00ad\n", "-\n", "\u00ad", "").Replace(string(out))
}

func startsWithSpace(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(r)
}

func headingLevel(l pdfLine, body float64) int {
	if body <= 0 || len(l.text) > 150 || !strings.ContainsFunc(l.text, unicode.IsLetter) {
		return 0
	}
	switch ratio := l.size / body; {
	case ratio >= 1.7:
		return 1
	case ratio >= 1.3:
		return 2
	case ratio >= 1.12:
		return 3
	}
	return 0
}

// near says that l follows prev at the distance of lines, not of paragraphs.
func near(prev, l pdfLine) bool {
	return prev.bottom-l.top < 0.9*max(prev.size, l.size)
}

func paragraphEnds(prev, l pdfLine) bool {
	if l.newPage {
		return strings.HasSuffix(prev.text, ".") || strings.HasSuffix(prev.text, ":")
	}
	return !near(prev, l) || l.top > prev.top || bullet(l.text) != l.text
}

// hyphenated says that a word goes on from one line to the next.
func hyphenated(prev, next string) bool {
	r, n := utf8.DecodeLastRuneInString(prev)
	if r != '-' && r != '\u00ad' && r != '\u2010' || len(prev) == n {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(prev[:len(prev)-n])
	after, _ := utf8.DecodeRuneInString(next)
	return unicode.IsLower(before) && unicode.IsLower(after)
}

// bullet turns a list mark as it is set into Markdown's.
func bullet(line string) string {
	for _, m := range []string{"•", "◦", "▪", "‣", "●", "\uf0b7"} {
		if rest, ok := strings.CutPrefix(line, m); ok {
			return "- " + strings.TrimSpace(rest)
		}
	}
	return line
}

// printable drops control characters. PDFium gives a hyphen at a line's end as
// one of two marks of its own, which become soft hyphens here.
func printable(r rune) rune {
	switch {
	case r == '\x02' || r == '\ufffe':
		return '\u00ad'
	case unicode.IsControl(r) || r == utf8.RuneError:
		return ' '
	}
	return r
}
