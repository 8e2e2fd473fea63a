package engine

import "unicode/utf8"

// wholeRunes gives how many bytes at the start of b are whole characters, or
// can never become one.
func wholeRunes(b []byte) int {
	for back := 1; back <= min(utf8.UTFMax-1, len(b)); back++ {
		at := len(b) - back
		if utf8.RuneStart(b[at]) {
			if b[at] >= utf8.RuneSelf && !utf8.FullRune(b[at:]) {
				return at
			}
			break
		}
	}
	return len(b)
}
