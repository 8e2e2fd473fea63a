package workspace

import (
	"strings"
	"unicode"

	"towpath/internal/markdown"
)

// SectionOf gives the section of a Markdown source whose heading is named, for
// inputs such as guide.md#Voice: from its heading line to the next heading of
// its level or higher. The name may be the heading's text (marks, case and
// numbering ignored) or its GitHub anchor. Several names, such as `"Voice" and
// "Tone"`, give their sections in that order, with a blank line between; all
// have to be there. line is the first heading's, from 1.
func SectionOf(src []byte, heading string) (text string, line int, ok bool) {
	d := markdown.Parse(src)
	name := strings.TrimSpace(heading)
	if text, line, ok = oneSection(d, name); ok {
		return text, line, true
	}
	names := splitNames(sectionEnd().ReplaceAllString(name, ""))
	var texts []string
	for _, n := range names {
		t, l, found := oneSection(d, strings.Trim(n, `"“”«»' `))
		if !found {
			return "", 0, false
		}
		if line == 0 {
			line = l
		}
		texts = append(texts, strings.TrimRight(t, "\n"))
	}
	return strings.Join(texts, "\n\n") + "\n", line, true
}

// A number alone: "guide.md § 2.1" means the heading with that number.
var (
	leadingNumber = pattern(`^[0-9]+(?:\.[0-9]+)*`)
	onlyNumber    = pattern(`^([0-9]+(?:\.[0-9]+)*)\.?(?:\s*\(.*\))?$`)
)

func oneSection(d *markdown.Doc, name string) (string, int, bool) {
	name = strings.TrimSpace(strings.TrimLeft(name, "#§ "))
	if name == "" {
		return "", 0, false
	}
	tests := []func(title string) bool{
		func(t string) bool { return t == name },
		func(t string) bool { return strings.EqualFold(t, name) },
		func(t string) bool { return anchor(t) == strings.ToLower(name) },
		func(t string) bool { n := normHeading(name); return n != "" && normHeading(t) == n },
		func(t string) bool {
			n := onlyNumber().FindStringSubmatch(name)
			return n != nil && leadingNumber().FindString(t) == n[1]
		},
		func(t string) bool {
			n := normHeading(name)
			return n != "" && fold(strings.ReplaceAll(anchor(t), "-", " ")) == n
		},
	}
	for _, fits := range tests {
		for i, b := range d.Blocks {
			if b.Kind != markdown.Heading || !fits(markdown.Plain(b.Title)) {
				continue
			}
			end := len(d.Text)
			for _, next := range d.Blocks[i+1:] {
				if next.Kind == markdown.Heading && next.Level <= b.Level {
					end = next.Start
					break
				}
			}
			return strings.TrimRight(d.Slice(b.Start, end), "\n") + "\n", b.Line, true
		}
	}
	return "", 0, false
}

// anchor is the address that GitHub gives a heading.
func anchor(title string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(title) {
		switch {
		case unicode.IsLetter(c), unicode.IsDigit(c), unicode.IsMark(c), c == '_', c == '-':
			b.WriteRune(c)
		case c == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}
