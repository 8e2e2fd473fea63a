package document

import (
	"bytes"
	"fmt"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// metaLen is how far into a page a charset may be declared.
const metaLen = 4 << 10

// decode turns bytes into UTF-8. The character set is taken, in this order,
// from a byte order mark, the media type, what a page declares in its first 4
// KiB, UTF-8 where the bytes are valid, and detection. A set under which too
// many characters cannot be read is given up for the next.
func decode(mediaType string, page bool, data []byte) (string, error) {
	var tried []string
	for _, label := range candidates(mediaType, page, data) {
		enc, name := charset.Lookup(label)
		if enc == nil || contains(tried, name) {
			continue
		}
		tried = append(tried, name)
		text, err := enc.NewDecoder().Bytes(data)
		if err != nil {
			continue
		}
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
		if readable(text) {
			return strings.ToValidUTF8(string(text), "\uFFFD"), nil
		}
	}
	return "", fmt.Errorf("its character set cannot be told (tried %s); save it as UTF-8", strings.Join(tried, ", "))
}

func candidates(mediaType string, page bool, data []byte) []string {
	var c []string
	if b := bomOf(data); b != "" {
		c = append(c, b)
	}
	if _, params, err := mime.ParseMediaType(mediaType); err == nil && params["charset"] != "" {
		c = append(c, params["charset"])
	}
	if page {
		if m := declared(data[:min(len(data), metaLen)]); m != "" {
			c = append(c, m)
		}
	}
	if utf8.Valid(data) {
		return append(c, "utf-8")
	}
	if d := detected(data, page); d != "" {
		c = append(c, d)
	}
	return append(c, "utf-8", "windows-1252")
}

// bomOf names the character set that a byte order mark states.
func bomOf(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return "utf-8"
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return "utf-16le"
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return "utf-16be"
	}
	return ""
}

var charsetPattern = regexp.MustCompile(`(?i)(?:charset|encoding)\s*=\s*["']?\s*([a-z0-9_:.-]+)`)

// declared finds the character set in a page's meta elements or its XML
// declaration.
func declared(start []byte) string {
	if bytes.HasPrefix(start, []byte("<?xml")) {
		if i := bytes.Index(start, []byte("?>")); i >= 0 {
			if m := charsetPattern.FindSubmatch(start[:i]); m != nil {
				return string(m[1])
			}
		}
	}
	z := html.NewTokenizer(bytes.NewReader(start))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			if tok.Data != "meta" {
				continue
			}
			for _, a := range tok.Attr {
				if a.Key == "charset" {
					return strings.TrimSpace(a.Val)
				}
				if a.Key == "content" {
					if m := charsetPattern.FindStringSubmatch(a.Val); m != nil {
						return m[1]
					}
				}
			}
		}
	}
}

// detected guesses the character set from the frequencies of its bytes.
func detected(data []byte, page bool) string {
	d := chardet.NewTextDetector()
	if page {
		d = chardet.NewHtmlDetector()
	}
	r, err := d.DetectBest(data[:min(len(data), 64<<10)])
	if err != nil || r.Confidence < 20 {
		return ""
	}
	return r.Charset
}

// readable says that at most one character in a hundred, or three of a short
// text, could not be decoded.
func readable(text []byte) bool {
	bad, runes := 0, 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError {
			bad++
		}
		runes++
		i += n
	}
	return bad <= 3 && bad*10 <= runes || bad*100 <= runes
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
