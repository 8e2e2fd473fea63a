package line

import (
	"unicode"

	"golang.org/x/text/width"
)

// Columns is how many columns of a terminal a text takes.
func Columns(s string) int {
	n := 0
	for _, r := range s {
		n += ColumnsOf(r)
	}
	return n
}

// ColumnsOf is how many columns a character takes: none for one that sits on
// the character before it.
func ColumnsOf(r rune) int {
	switch {
	case r == '\t':
		return tabWidth
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

const tabWidth = 4

// next gives the end of the character that begins at i, with all that sits on
// it; previous the beginning of the one that ends there.
func next(text []rune, i int) int {
	if i >= len(text) {
		return len(text)
	}
	for i++; i < len(text) && (attached(text[i]) || text[i-1] == joiner); i++ {
	}
	return i
}

func previous(text []rune, i int) int {
	if i <= 0 {
		return 0
	}
	for i--; i > 0 && (attached(text[i]) || text[i-1] == joiner); i-- {
	}
	return i
}

const joiner = '\u200d'

func attached(r rune) bool {
	return r >= 0x300 && (ColumnsOf(r) == 0 || r >= 0x1f3fb && r <= 0x1f3ff)
}
