package line

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Key is one thing that a person does at the keyboard.
type Key struct {
	Code Code
	Text string // of Typed: one character; of Pasted: any text, line ends as \n
}

// Code says which key it is.
type Code int

// The keys that mean something here.
const (
	Typed Code = iota
	Pasted
	Enter
	NewLine // Alt-Enter: a line end within the text
	Tab
	Backspace
	Delete
	Left
	Right
	Up
	Down
	Home
	End
	WordLeft
	WordRight
	WordBack // delete the word before
	WordNext // delete the word after
	KillEnd
	KillStart
	Yank
	Swap
	Search
	Redraw
	Suspend
	Interrupt // Ctrl-C
	EndOfInput
	Escape
	closed // the input is gone
)

// maxPaste bounds a paste and an unfinished sequence, in bytes.
const maxPaste = 4 << 20

// escapeTime is how long a lone escape waits for the rest of its sequence.
const escapeTime = 100 * time.Millisecond

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// decoder turns bytes of a terminal into keys. Its zero value is ready.
type decoder struct {
	rest  []byte
	since time.Time // when rest began to wait
	paste []byte
	in    bool // inside of a paste
}

// feed takes bytes that arrived at a time and gives the keys that are whole.
func (d *decoder) feed(data []byte, now time.Time) []Key {
	if len(d.rest) == 1 && d.rest[0] == 0x1b && now.Sub(d.since) > escapeTime {
		d.rest = nil // an escape by itself
	}
	buf := append(d.rest, data...)
	d.rest = nil
	var keys []Key
	for len(buf) > 0 {
		if d.in {
			var ok bool
			if buf, ok = d.pasted(buf, &keys); !ok {
				break
			}
			continue
		}
		k, n, known := one(buf)
		if n == 0 { // more has to come
			break
		}
		if string(buf[:n]) == pasteBegin {
			d.in = true
		} else if known {
			keys = append(keys, k)
		}
		buf = buf[n:]
	}
	if len(buf) > 0 {
		d.rest, d.since = append([]byte(nil), buf[:min(len(buf), 64)]...), now
	}
	return keys
}

// pasted takes a paste up to its end. ok is false where that is not there yet.
func (d *decoder) pasted(buf []byte, keys *[]Key) (rest []byte, ok bool) {
	i := strings.Index(string(buf), pasteEnd)
	if i < 0 {
		keep := 0 // the beginning of the end's mark may be there
		for n := min(len(pasteEnd)-1, len(buf)); n > 0; n-- {
			if strings.HasPrefix(pasteEnd, string(buf[len(buf)-n:])) {
				keep = n
				break
			}
		}
		d.paste = append(d.paste, buf[:len(buf)-keep]...)
		d.paste = d.paste[:min(len(d.paste), maxPaste)]
		return buf[len(buf)-keep:], false
	}
	d.paste = append(d.paste, buf[:i]...)
	d.paste = d.paste[:min(len(d.paste), maxPaste)]
	if text := printable(string(d.paste)); text != "" {
		*keys = append(*keys, Key{Code: Pasted, Text: text})
	}
	d.paste, d.in = nil, false
	return buf[i+len(pasteEnd):], true
}

// printable keeps what can be shown, with \n for every kind of line end.
func printable(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

var controls = map[byte]Code{
	1: Home, 2: Left, 3: Interrupt, 4: EndOfInput, 5: End, 6: Right, 8: Backspace, 9: Tab, 10: Enter, 11: KillEnd,
	12: Redraw, 13: Enter, 14: Down, 16: Up, 18: Search, 20: Swap, 21: KillStart, 23: WordBack, 25: Yank, 26: Suspend, 127: Backspace,
}

var sequences = map[string]Code{
	"[A": Up, "[B": Down, "[C": Right, "[D": Left, "[H": Home, "[F": End,
	"OA": Up, "OB": Down, "OC": Right, "OD": Left, "OH": Home, "OF": End,
	"[1~": Home, "[7~": Home, "[4~": End, "[8~": End, "[3~": Delete,
	"[1;5D": WordLeft, "[1;3D": WordLeft, "[5D": WordLeft, "[1;5C": WordRight, "[1;3C": WordRight, "[5C": WordRight,
	"[3;5~": WordNext, "[3;3~": WordNext,
	"b": WordLeft, "f": WordRight, "d": WordNext, "\x7f": WordBack, "\b": WordBack, "\r": NewLine, "\n": NewLine,
}

// one reads the first key. n is its length in bytes, 0 where more has to come;
// known is false for keys that mean nothing here.
func one(b []byte) (k Key, n int, known bool) {
	switch {
	case b[0] == 0x1b:
		return escaped(b)
	case b[0] < 0x20 || b[0] == 0x7f:
		code, ok := controls[b[0]]
		return Key{Code: code}, 1, ok
	case !utf8.FullRune(b):
		return Key{}, 0, false
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 || unicode.IsControl(r) {
		return Key{}, n, false
	}
	return Key{Code: Typed, Text: string(r)}, n, true
}

// escaped reads a sequence that begins with an escape.
func escaped(b []byte) (Key, int, bool) {
	const longest = 32
	if len(b) == 1 {
		return Key{}, 0, false
	}
	if b[1] != '[' && b[1] != 'O' {
		if b[1] == 0x1b {
			return Key{Code: Escape}, 1, true
		}
		if b[1] >= utf8.RuneSelf {
			return Key{Code: Escape}, 1, true
		}
		code, ok := sequences[string(b[1:2])]
		return Key{Code: code}, 2, ok
	}
	for i := 2; i < len(b); i++ {
		final := b[i] >= 0x40 && b[i] <= 0x7e
		if b[1] == 'O' || final {
			code, ok := sequences[string(b[1:i+1])]
			return Key{Code: code}, i + 1, ok
		}
		if b[i] < 0x20 || b[i] > 0x7e || i > longest {
			return Key{}, i, false
		}
	}
	return Key{}, 0, false
}
