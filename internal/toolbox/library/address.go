package library

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Scheme begins the address of every document.
const Scheme = "library:"

const maxAddress = 4096 // bytes

// Address names a document and, where Anchor is set, a heading in it.
type Address struct {
	Path   string // clean slash path below the library's folder, never leaving it
	Anchor string // "" for the whole document
}

// AddressError says why a text is no address of a document.
type AddressError struct {
	Address string
	Reason  string
	Scheme  string // of an address of another kind: "https", "file"; else ""
}

// Error gives the address and the reason.
func (e *AddressError) Error() string {
	return fmt.Sprintf("%q is not an address in the library: %s", short(e.Address), e.Reason)
}

// ParseAddress reads an address as a person or a model writes it: with or
// without "library:", in brackets or quotes, percent-encoded or not. The error
// is an *AddressError.
func ParseAddress(s string) (Address, error) {
	raw := unwrap(s)
	bad := func(format string, a ...any) (Address, error) {
		return Address{}, &AddressError{Address: s, Reason: fmt.Sprintf(format, a...)}
	}
	switch {
	case raw == "":
		return bad("it is empty")
	case len(raw) > maxAddress:
		return bad("it has %d bytes, and addresses have at most %d", len(raw), maxAddress)
	case !utf8.ValidString(raw):
		return bad("it is not UTF-8")
	}
	rest, own := cutFold(raw, Scheme)
	if !own {
		if scheme := schemeOf(raw); scheme != "" {
			return Address{}, &AddressError{Address: s, Scheme: scheme, Reason: fmt.Sprintf("it begins with %q, and the library's begin with %q", scheme+":", Scheme)}
		}
	}
	rest, anchor, _ := strings.Cut(rest, "#")
	p, anchor := unescape(strings.TrimSpace(rest)), unescape(strings.TrimSpace(anchor))
	if strings.ContainsFunc(p+anchor, unicode.IsControl) || !utf8.ValidString(p+anchor) {
		return bad("it holds control characters")
	}
	p = strings.TrimLeft(p, "/")
	if p == "" {
		return bad("it names no document")
	}
	if p = path.Clean(p); p == ".." || strings.HasPrefix(p, "../") {
		return bad("it leads out of the library")
	}
	if p == "." {
		return bad("it names no document")
	}
	return Address{Path: p, Anchor: anchor}, nil
}

// String gives the address in its canonical form. Letters of every script stay
// readable; what would end an address in a sentence or a Markdown link is
// percent-encoded.
func (a Address) String() string {
	s := Scheme + escape(a.Path)
	if a.Anchor != "" {
		s += "#" + escape(a.Anchor)
	}
	return s
}

// Resolve gives the address that a link of the document at a leads to; false
// for one that leads out of the library or to another kind of place.
func (a Address) Resolve(target string) (Address, bool) {
	target = strings.TrimSpace(target)
	if _, own := cutFold(target, Scheme); own {
		to, err := ParseAddress(target)
		return to, err == nil
	}
	if schemeOf(target) != "" || strings.HasPrefix(target, "//") {
		return Address{}, false
	}
	rest, anchor, _ := strings.Cut(target, "#")
	rest, _, _ = strings.Cut(rest, "?")
	if rest == "" {
		return Address{Path: a.Path, Anchor: unescape(anchor)}, anchor != ""
	}
	p := unescape(rest)
	if !strings.HasPrefix(p, "/") {
		p = path.Join(path.Dir(a.Path), p)
	}
	to, err := ParseAddress(Scheme + escape(strings.TrimLeft(p, "/")) + "#" + anchor)
	return to, err == nil
}

// unwrap takes off what stands around an address in prose: brackets, quotes,
// the form of a Markdown link, the stop of a sentence.
func unwrap(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.LastIndex(s, "]("); i >= 0 && strings.HasPrefix(s, "[") && strings.HasSuffix(s, ")") {
		s = s[i+2 : len(s)-1]
	}
	for {
		t := strings.TrimSpace(s)
		for _, pair := range []string{"<>", "()", "[]", `""`, "''", "``", "“”", "«»"} {
			open, n := utf8.DecodeRuneInString(pair)
			if strings.HasPrefix(t, string(open)) && strings.HasSuffix(t, pair[n:]) && len(t) > len(pair)-1 {
				t = t[n : len(t)-len(pair[n:])]
			}
		}
		if t == s {
			return s
		}
		s = t
	}
}

// schemeOf names the scheme of an address of another kind, "" if s can be a
// path.
func schemeOf(s string) string {
	i := strings.IndexByte(s, ':')
	if i <= 0 {
		return ""
	}
	scheme := strings.ToLower(s[:i])
	for j, r := range scheme {
		if (r < 'a' || r > 'z') && (j == 0 || !strings.ContainsRune("0123456789+.-", r)) {
			return ""
		}
	}
	switch scheme {
	case "http", "https", "file", "ftp", "mailto", "data", "javascript", "about", "tel", "urn", "doi", "arxiv":
		return scheme
	}
	if strings.HasPrefix(s[i+1:], "//") {
		return scheme
	}
	return ""
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

const hexDigits = "0123456789ABCDEF"

// escape percent-encodes all but letters and digits of any script and marks
// that no reader takes for the end of an address.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("-._~/!$&+,;=:@", r) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(string(r)) {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}

// unescape decodes percent-encoding; what is no valid encoding stays as it is.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, lo := unhex(s[i+1]), unhex(s[i+2])
			if hi >= 0 && lo >= 0 {
				out = append(out, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func short(s string) string {
	if r := []rune(s); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return s
}
