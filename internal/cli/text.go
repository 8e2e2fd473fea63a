package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"
)

// style colours text for a terminal; its zero value leaves it plain.
type style struct{ on bool }

func (s style) bold(t string) string   { return s.code("1", t) }
func (s style) dim(t string) string    { return s.code("2", t) }
func (s style) red(t string) string    { return s.code("31", t) }
func (s style) green(t string) string  { return s.code("32", t) }
func (s style) yellow(t string) string { return s.code("33", t) }

func (s style) code(c, t string) string {
	if !s.on || t == "" {
		return t
	}
	return "\x1b[" + c + "m" + t + "\x1b[0m"
}

// oneLine makes text fit for one line of a terminal: white space is folded and
// control characters, which could steer the terminal, are left out.
func oneLine(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = true
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
		default:
			if space && b.Len() > 0 {
				b.WriteByte(' ')
			}
			space = false
			b.WriteRune(r)
		}
	}
	return b.String()
}

// clip cuts text to so many columns.
func clip(s string, columns int) string {
	if columns < 4 {
		columns = 4
	}
	total := 0
	for i, r := range s {
		w := columnsOf(r)
		if total+w > columns-3 && columnsOfText(s[i:]) > columns-total {
			return s[:i] + "..."
		}
		total += w
	}
	return s
}

// wrap breaks lines at blanks so that they fit so many columns; the lines that
// go on are indented. A word that is too long stays whole, so that it can be
// copied.
func wrap(text string, columns int) string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		used, b := 0, strings.Builder{}
		for i, word := range strings.Split(line, " ") {
			n := columnsOfText(bare(word))
			switch {
			case i == 0:
			case used+1+n > columns && used > 2:
				out = append(out, b.String())
				b.Reset()
				b.WriteString("  ")
				used = 2
			default:
				b.WriteByte(' ')
				used++
			}
			b.WriteString(word)
			used += n
		}
		out = append(out, b.String())
	}
	return strings.Join(out, "\n")
}

func columnsOfText(s string) int {
	n := 0
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	if unicode.Is(unicode.Mn, r) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// thousands writes 1034 as 1,034.
func thousands(n int) string {
	s := strconv.Itoa(n)
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if neg {
		s = "-" + s
	}
	return s
}

// short writes a duration for people: 0.4s, 12s, 3m05s.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

// bytesOf writes a size for people: 1.1 GB.
func bytesOf(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}

// bare is text without the codes of style.
func bare(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == 0x1b {
			if end := strings.IndexByte(s[i:], 'm'); end > 0 {
				i += end
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// safe drops what could steer a terminal from text that names, servers and files
// had a part in. Line ends, tabs and, where it is on, style's own codes stay.
func (s style) safe(text string) string {
	var b strings.Builder
	for text != "" {
		plain, rest := text, ""
		if i := strings.IndexByte(text, 0x1b); i >= 0 {
			plain, rest = text[:i], text[i:]
		}
		b.WriteString(cleanLines(plain))
		code := ""
		if s.on {
			code = ownCode(rest)
		}
		b.WriteString(code)
		text = rest[min(max(len(code), 1), len(rest)):]
	}
	return b.String()
}

// ownCode is the code of style that text begins with, "" where there is none.
func ownCode(text string) string {
	for _, c := range []string{"0", "1", "2", "31", "32", "33", "36"} {
		if code := "\x1b[" + c + "m"; strings.HasPrefix(text, code) {
			return code
		}
	}
	return ""
}

func cleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = clean(l)
	}
	return strings.Join(lines, "\n")
}
