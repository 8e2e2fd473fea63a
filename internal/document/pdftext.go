package document

import (
	"bytes"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// pdfLine is one line of a page.
type pdfLine struct {
	text    string
	size    float64 // of its letters, points
	base    float64 // height of its base line, points from the page's bottom
	newPage bool    // first line of its page
}

// pdfText gathers the lines of a PDF and makes paragraphs and headings of
// them.
type pdfText struct {
	lines []pdfLine
	bytes int
}

// add takes the letters of one page, which stand in reading order; PDFium puts
// spaces and line ends between them where the page shows them. Each letter
// costs a call into the engine, so size and place are asked for once a line.
func (t *pdfText) add(inst pdfium.Pdfium, page requests.Page) error {
	loaded, err := inst.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: page})
	if err != nil {
		return err
	}
	defer func() { _, _ = inst.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: loaded.TextPage}) }()
	count, err := inst.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: loaded.TextPage})
	if err != nil {
		return err
	}
	line := lineUnderWay{set: t, inst: inst, page: loaded.TextPage, first: true}
	for i := range count.Count {
		c, err := inst.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: loaded.TextPage, Index: i})
		if err != nil {
			return err
		}
		if err := line.letter(i, rune(c.Unicode)); err != nil {
			return err
		}
	}
	return line.end()
}

// lineUnderWay gathers the letters of one line of a page.
type lineUnderWay struct {
	set     *pdfText
	inst    pdfium.Pdfium
	page    references.FPDF_TEXTPAGE
	text    strings.Builder
	letters []int // indexes of what is no space
	first   bool  // of the page
}

func (u *lineUnderWay) letter(i int, r rune) error {
	if r == '\n' || r == '\r' {
		return u.end()
	}
	if r = printable(r); r != ' ' {
		u.letters = append(u.letters, i)
	}
	u.text.WriteRune(r)
	if r == '\u00ad' { // the word goes on in the next line
		return u.end()
	}
	return nil
}

func (u *lineUnderWay) end() error {
	line := pdfLine{text: strings.Join(strings.Fields(u.text.String()), " "), newPage: u.first}
	letters := u.letters
	u.text.Reset()
	u.letters = u.letters[:0]
	if line.text == "" || len(letters) == 0 {
		return nil
	}
	if err := line.measure(u.inst, u.page, letters[len(letters)/2]); err != nil {
		return err
	}
	u.set.lines = append(u.set.lines, line)
	u.set.bytes += len(line.text) + 1
	u.first = false
	return nil
}

// measure asks for the size of a letter as the page shows it, and for the
// height of its line.
func (l *pdfLine) measure(inst pdfium.Pdfium, page references.FPDF_TEXTPAGE, letter int) error {
	size, err := inst.FPDFText_GetFontSize(&requests.FPDFText_GetFontSize{TextPage: page, Index: letter})
	if err != nil {
		return err
	}
	scale := 1.0
	if m, err := inst.FPDFText_GetMatrix(&requests.FPDFText_GetMatrix{TextPage: page, Index: letter}); err == nil {
		if s := math.Hypot(float64(m.Matrix.C), float64(m.Matrix.D)); s > 0 {
			scale = s
		}
	}
	l.size = math.Round(size.FontSize*scale*2) / 2
	at, err := inst.FPDFText_GetCharOrigin(&requests.FPDFText_GetCharOrigin{TextPage: page, Index: letter})
	if err != nil {
		return err
	}
	l.base = at.Y
	return nil
}

// commonest gives the size that most letters have, the smaller of equals.
func commonest(sizes map[float64]int) float64 {
	best, most := 0.0, 0
	for s, n := range sizes {
		if n > most || n == most && s < best {
			best, most = s, n
		}
	}
	return best
}

// body is the size in which most of the text is set.
func (t *pdfText) body() float64 {
	chars := map[float64]int{}
	for _, l := range t.lines {
		chars[l.size] += len(l.text)
	}
	return commonest(chars)
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

func headingLevel(l pdfLine, body float64) int {
	if body <= 0 || len(l.text) > 150 || strings.Contains(l.text, ". . .") || !strings.ContainsFunc(l.text, unicode.IsLetter) {
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
	return prev.base-l.base < 1.6*max(prev.size, l.size)
}

func paragraphEnds(prev, l pdfLine) bool {
	if l.newPage {
		return strings.HasSuffix(prev.text, ".") || strings.HasSuffix(prev.text, ":")
	}
	return !near(prev, l) || l.base > prev.base || bullet(l.text) != l.text
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
	case unicode.IsControl(r) || unicode.IsSpace(r) || r == utf8.RuneError || !utf8.ValidRune(r):
		return ' '
	}
	return r
}
