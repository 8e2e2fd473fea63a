package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSentence bounds a summary's sentence, in characters.
const maxSentence = 240

// Summarise gives the summary of an item's result for the items after it: the
// item's title, and the first sentence of the first paragraph of the text.
// Headings, code, tables and comments are passed over.
func Summarise(title, text string) Summary {
	return Summary{Title: oneLine(title), Sentence: firstSentence(paragraph(clean(text)))}
}

// paragraph gives the first lines of prose, joined.
func paragraph(text string) string {
	var lines []string
	fence := ""
	for line := range strings.Lines(text) {
		s := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(s, fence) {
				fence = ""
			}
			continue
		case strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~"):
			fence = s[:3]
			continue
		}
		if isProse(s) {
			lines = append(lines, unlist(s))
			if strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "* ") {
				break
			}
		} else if len(lines) > 0 {
			break
		}
	}
	return strings.Join(lines, " ")
}

func isProse(s string) bool {
	if s == "" || strings.ContainsRune("#|<=", rune(s[0])) {
		return false
	}
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

func unlist(s string) string {
	return strings.TrimSpace(strings.TrimLeft(s, "-*+>"))
}

// firstSentence cuts after the first mark that ends a sentence: one followed
// by white space or the end, and not after a single letter or a number.
func firstSentence(s string) string {
	for i, r := range s {
		if strings.ContainsRune("。！？", r) {
			return cut(s[:i+utf8.RuneLen(r)])
		}
		if r != '.' && r != '!' && r != '?' && r != '…' {
			continue
		}
		rest := s[i+utf8.RuneLen(r):]
		rest = strings.TrimLeft(rest, "\"')]*_»”’")
		if rest != "" && rest[0] != ' ' || r == '.' && rest != "" && abbreviation(s[:i]) {
			continue
		}
		return cut(s[:len(s)-len(rest)])
	}
	return cut(s)
}

// abbreviation reports whether the last word before a full stop is a single
// letter, a number, or one of the usual short forms.
func abbreviation(s string) bool {
	word := s[strings.LastIndexAny(s, " (")+1:]
	switch strings.ToLower(word) {
	case "e.g", "i.e", "etc", "vs", "cf", "dr", "mr", "mrs", "no", "fig", "approx", "т.е", "т.д", "напр":
		return true
	}
	digits := word != "" && strings.Trim(word, "0123456789.") == ""
	return utf8.RuneCountInString(word) == 1 && word != "I" || digits && !strings.Contains(s, " ")
}

func cut(s string) string {
	s = oneLine(s)
	if utf8.RuneCountInString(s) <= maxSentence {
		return s
	}
	r := []rune(s)[:maxSentence]
	short := string(r)
	if i := strings.LastIndexByte(short, ' '); i > maxSentence/2 {
		short = short[:i]
	}
	return short + "…"
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
