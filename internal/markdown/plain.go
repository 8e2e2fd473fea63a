package markdown

import "strings"

// Plain gives the text of a line without the marks of Markdown: emphasis, code
// ticks, links (their text stays), HTML tags and comments, backslash escapes.
func Plain(s string) string {
	s = stripComments(s)
	var b strings.Builder
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s) && isPunct(s[i+1]):
			b.WriteByte(s[i+1])
			i += 2
		case c == '`':
			n := run(s[i:], '`')
			if j := closing(s[i+n:], n); j >= 0 {
				b.WriteString(strings.TrimSpace(s[i+n : i+n+j]))
				i += n + j + n
			} else {
				b.WriteString(s[i : i+n])
				i += n
			}
		case c == '!' && i+1 < len(s) && s[i+1] == '[':
			i++
		case c == '[':
			label, _, n := link(s[i:])
			if n == 0 {
				b.WriteByte(c)
				i++
				continue
			}
			b.WriteString(Plain(label))
			i += n
		case c == '<':
			j := strings.IndexByte(s[i:], '>')
			if j > 1 && tagLike(s[i+1:i+j]) {
				i += j + 1
				continue
			}
			b.WriteByte(c)
			i++
		case c == '*' || c == '_' || c == '~':
			n := run(s[i:], c)
			if !isMark(s, i, n) {
				b.WriteString(s[i : i+n])
			}
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	return strings.TrimSpace(strings.Join(strings.Fields(b.String()), " "))
}

// Link reads a link at the start of s: [label](target). n is its length in
// bytes, 0 where there is none.
func Link(s string) (label, target string, n int) { return link(s) }

func link(s string) (label, target string, n int) {
	if len(s) == 0 || s[0] != '[' {
		return "", "", 0
	}
	end := matching(s, '[', ']')
	if end < 0 || end+1 >= len(s) || s[end+1] != '(' {
		return "", "", 0
	}
	rest := s[end+1:]
	if strings.HasPrefix(rest, "(<") {
		if j := strings.Index(rest, ">)"); j > 0 {
			return s[1:end], rest[2:j], end + 1 + j + 2
		}
	}
	stop := matching(rest, '(', ')')
	if stop < 0 {
		return "", "", 0
	}
	target = strings.TrimSpace(rest[1:stop])
	// A title stands in quotes after the target.
	for _, q := range []string{` "`, ` '`} {
		if i := strings.Index(target, q); i > 0 && strings.HasSuffix(target, q[1:]) {
			target = strings.TrimSpace(target[:i])
		}
	}
	return s[1:end], target, end + 1 + stop + 1
}

// matching finds the bracket that closes the one at s[0].
func matching(s string, open, shut byte) int {
	depth := 0
	for i := 0; i < len(s) && i < 4096; i++ {
		switch s[i] {
		case '\\':
			i++
		case open:
			depth++
		case shut:
			depth--
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

// CodeSpan reads a code span at the start of s. n is its length in bytes, 0
// where there is none.
func CodeSpan(s string) (body string, n int) {
	k := run(s, '`')
	if k == 0 {
		return "", 0
	}
	j := closing(s[k:], k)
	if j < 0 {
		return "", 0
	}
	return strings.TrimSpace(s[k : k+j]), k + j + k
}

func closing(s string, n int) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		k := run(s[i:], '`')
		if k == n {
			return i
		}
		i += k
	}
	return -1
}

func run(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

// isMark tells marks of emphasis from underscores within words, stars of a
// glob and lone signs.
func isMark(s string, i, n int) bool {
	before, after := byte(' '), byte(' ')
	if i > 0 {
		before = s[i-1]
	}
	if i+n < len(s) {
		after = s[i+n]
	}
	if before == ' ' && after == ' ' {
		return false
	}
	if s[i] == '~' {
		return n == 2
	}
	if before == '/' || after == '/' || after == '.' && before == ' ' {
		return false
	}
	return s[i] != '_' || !wordByte(before) || !wordByte(after)
}

func wordByte(c byte) bool {
	return c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isPunct(c byte) bool {
	return c > ' ' && c < 0x7f && !wordByte(c)
}

func tagLike(s string) bool {
	s = strings.TrimPrefix(s, "/")
	if s == "" || len(s) > 200 {
		return false
	}
	name, _, _ := strings.Cut(s, " ")
	switch strings.TrimSuffix(strings.ToLower(name), "/") {
	case "b", "i", "em", "strong", "code", "br", "a", "span", "kbd", "sup", "sub", "u", "mark", "small", "img", "p", "div":
		return true
	}
	return false
}

// StripComments removes HTML comments, closed or not.
func StripComments(s string) string { return stripComments(s) }

func stripComments(s string) string {
	for {
		i := strings.Index(s, "<!--")
		if i < 0 {
			return s
		}
		j := strings.Index(s[i+4:], "-->")
		if j < 0 {
			return s[:i]
		}
		s = s[:i] + s[i+4+j+3:]
	}
}
