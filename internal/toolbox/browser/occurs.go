package browser

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"towpath/internal/markdown"
)

// ground is a document's text as values are looked for in it.
type ground struct {
	text    string
	numbers map[float64]bool
}

func newGround(md string) ground {
	var b strings.Builder
	for line := range strings.Lines(md) {
		b.WriteString(line)
		b.WriteByte('\n')
		if plain := markdown.Plain(line); plain != line {
			b.WriteString(plain)
			b.WriteByte('\n')
		}
	}
	// The text stands as written, once more without marks line by line, and
	// once more without marks whole, for values that go over lines.
	return ground{text: " " + squash(b.String()) + " " + squash(strip(md)) + " ", numbers: numbersIn(md)}
}

func strip(md string) string {
	return strings.NewReplacer("**", "", "__", "", "`", "", "*", "", "\\", "", "|", " ").Replace(md)
}

// squash makes texts comparable that differ in case, spaces, quotation marks
// and dashes.
func squash(s string) string {
	s = strings.Map(func(r rune) rune {
		switch r {
		case '“', '”', '„', '«', '»':
			return '"'
		case '‘', '’':
			return '\''
		case '‐', '‑', '–', '—', '−':
			return '-'
		}
		return unicode.ToLower(r)
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// has says whether the words of a value stand in the document, side by side
// and whole.
func (g ground) has(value string) bool {
	v := squash(value)
	if !strings.ContainsFunc(v, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return false
	}
	if !strings.Contains(g.text, v) {
		v = strings.TrimRight(v, ".")
	}
	for from := 0; ; {
		i := strings.Index(g.text[from:], v)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(g.text[:i])
		after, _ := utf8.DecodeRuneInString(g.text[i+len(v):])
		first, _ := utf8.DecodeRuneInString(v)
		last, _ := utf8.DecodeLastRuneInString(v)
		if !(wordy(before) && wordy(first)) && !(wordy(last) && wordy(after)) {
			return true
		}
		_, n := utf8.DecodeRuneInString(g.text[i:])
		from = i + n
	}
}

// wordy says that a letter belongs to a word that spaces end.
func wordy(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// hasNumber says whether a number stands in the document, however its digits
// are grouped.
func (g ground) hasNumber(n float64) bool { return g.numbers[n] || g.numbers[math.Abs(n)] }

// numbersIn reads all numbers of a text; "1,234" counts as 1234 and as 1.234.
func numbersIn(s string) map[float64]bool {
	out := map[float64]bool{}
	for i := 0; i < len(s); {
		if s[i] < '0' || s[i] > '9' {
			i++
			continue
		}
		end := i
		for end < len(s) && (s[end] >= '0' && s[end] <= '9' || end+1 < len(s) && strings.IndexByte(",.'_", s[end]) >= 0 && s[end+1] >= '0' && s[end+1] <= '9') {
			end++
		}
		addNumber(out, s[i:end])
		i = end
	}
	return out
}

func addNumber(out map[float64]bool, s string) {
	if len(s) > 40 {
		return
	}
	add := func(s string) {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			out[f] = true
		}
	}
	bare := strings.NewReplacer("'", "", "_", "").Replace(s)
	add(bare)
	add(strings.ReplaceAll(bare, ",", ""))
	add(strings.ReplaceAll(strings.ReplaceAll(bare, ".", ""), ",", "."))
}

// grounded keeps of a value what stands in the document. unchecked is set
// where that cannot be told: for truth values, and for the words of a list
// that the schema gives.
func (g ground) grounded(value any, choices bool) (kept any, unchecked bool) {
	switch v := value.(type) {
	case string:
		switch {
		case choices:
			return v, true
		case g.has(v):
			return v, false
		}
	case json.Number:
		if choices {
			return v, true
		}
		if f, err := v.Float64(); err == nil && (g.hasNumber(f) || g.has(v.String())) {
			return v, false
		}
	case bool:
		return v, true
	case []any:
		out := []any{}
		for _, e := range v {
			k, u := g.grounded(e, choices)
			if k != nil {
				out = append(out, k)
				unchecked = unchecked || u
			}
		}
		if len(out) > 0 {
			return out, unchecked
		}
	case map[string]any:
		some := false
		for name, e := range v {
			k, u := g.grounded(e, choices)
			v[name] = k
			some = some || k != nil
			unchecked = unchecked || u
		}
		if some {
			return v, unchecked
		}
	}
	return nil, false
}

// hasChoices says that a schema gives the words to choose from.
func hasChoices(raw json.RawMessage) bool {
	return bytes.Contains(raw, []byte(`"enum"`)) || bytes.Contains(raw, []byte(`"const"`))
}
