package workspace

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"towpath/internal/markdown"
)

// maxSlug is the longest slug in bytes; file systems take 255 for a name, and
// an ending, a number and a folder want room.
const maxSlug = 60

// Slug makes a file name of an item's title: NFC, lower case, words joined by
// hyphens, no name that a system reserves, at most 60 bytes, never empty.
func Slug(title string) string {
	var b strings.Builder
	gap := false
	for _, c := range norm.NFC.String(strings.ToLower(norm.NFC.String(markdown.Plain(title)))) {
		if unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c) && b.Len() > 0 {
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(c)
			continue
		}
		if c != '\'' && c != '’' {
			gap = true
		}
	}
	s := b.String()
	if len(s) > maxSlug {
		s = cutSlug(s)
	}
	switch {
	case s == "":
		return "item"
	case reserved(s):
		return "item-" + s
	}
	return s
}

func cutSlug(s string) string {
	n := maxSlug
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	cut := s[:n]
	if i := strings.LastIndexByte(cut, '-'); i > maxSlug/2 && s[n] != '-' {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, "-")
}

// reserved are the names of devices on Windows.
func reserved(s string) bool {
	switch s {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(s) == 4 && (strings.HasPrefix(s, "com") || strings.HasPrefix(s, "lpt")) && s[3] >= '0' && s[3] <= '9'
}
