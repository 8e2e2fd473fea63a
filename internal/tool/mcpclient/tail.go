package mcpclient

import (
	"bytes"
	"strings"
	"sync"
)

// tail keeps the end of what a server said on standard error, and of what on
// standard output was no message.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 16 << 10

// Write takes in more.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	if len(b) > tailBytes {
		b = b[len(b)-tailBytes:]
	}
	t.buf = append(t.buf, b...)
	if len(t.buf) > 2*tailBytes {
		t.buf = append([]byte(nil), t.buf[len(t.buf)-tailBytes:]...)
	}
	return n, nil
}

// said gives the last words, at most so many bytes, on one line.
func (t *tail) said(most int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := bytes.TrimSpace(t.buf)
	if len(b) > most {
		b = b[len(b)-most:]
		if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)-1 {
			b = b[i+1:]
		}
	}
	var lines []string
	for l := range strings.FieldsFuncSeq(strings.ToValidUTF8(string(b), "\uFFFD"), func(r rune) bool { return r == '\n' || r == '\r' }) {
		if l = strings.TrimSpace(printable(l)); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, " | ")
}

// printable takes out what would move a terminal's cursor or colour its text.
func printable(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == 0x1b:
			i = skipEscape(s, i)
		case c < 0x20 && c != '\t' || c == 0x7f:
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// skipEscape gives the index of the last byte of an escape sequence.
func skipEscape(s string, i int) int {
	if i+1 >= len(s) || s[i+1] != '[' {
		return i
	}
	for j := i + 2; j < len(s); j++ {
		if s[j] >= 0x40 && s[j] <= 0x7e {
			return j
		}
	}
	return len(s) - 1
}
