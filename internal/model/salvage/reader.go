package salvage

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep values nest.
const maxDepth = 100

// reader reads values that were meant to be JSON.
type reader struct {
	s     string
	pos   int
	depth int
	// loose takes a quotation mark inside a string for text when nothing that may
	// follow a string follows it, bare words for strings, and a closing bracket of
	// the wrong kind. It is tried only where the plain reading fails.
	loose bool
	// noWords leaves bare words alone, where they would be variables.
	noWords bool
	// missing counts brackets that the end of the text left open.
	missing int
}

func (r *reader) end() bool { return r.pos >= len(r.s) }

// over says whether the value can go no further: the text ends, or the mark comes
// that closes what the value stands in.
func (r *reader) over() bool {
	return r.end() || r.has("</") || r.has("```") || r.has("<|") || r.has("<｜") || r.has("[/")
}

func (r *reader) peek() byte {
	if r.end() {
		return 0
	}
	return r.s[r.pos]
}

func (r *reader) has(prefix string) bool { return strings.HasPrefix(r.s[r.pos:], prefix) }

func (r *reader) take(prefix string) bool {
	if !r.has(prefix) {
		return false
	}
	r.pos += len(prefix)
	return true
}

// space passes over blanks and comments.
func (r *reader) space() {
	for !r.end() {
		switch c := r.peek(); {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			r.pos++
		case r.has("\u00a0"):
			r.pos += len("\u00a0")
		case r.has("//") || c == '#':
			r.passTo("\n")
		case r.has("/*"):
			r.passTo("*/")
		default:
			return
		}
	}
}

func (r *reader) passTo(mark string) {
	i := strings.Index(r.s[r.pos:], mark)
	if i < 0 {
		r.pos = len(r.s)
		return
	}
	r.pos += i + len(mark)
}

// value reads one value.
func (r *reader) value() (value, bool) {
	if r.depth++; r.depth > maxDepth {
		return value{}, false
	}
	defer func() { r.depth-- }()
	r.space()
	start, missing := r.pos, r.missing
	var v value
	ok := false
	switch c := r.peek(); {
	case r.end():
		return value{}, false
	case c == '{':
		v, ok = r.object()
	case c == '[' || c == '(':
		v, ok = r.array()
	case r.atQuote():
		v.kind = text
		v.str, ok = r.string(true)
	default:
		return r.bare()
	}
	if raw := r.s[start:r.pos]; ok && r.missing == missing && json.Valid([]byte(raw)) {
		v.raw, v.strict = raw, true
	}
	return v, ok
}

func (r *reader) object() (value, bool) {
	v := value{kind: object}
	r.pos++ // {
	r.space()
	if r.peek() == '{' { // a whole object in one pair of braces too many
		inner, ok := r.value()
		if !ok {
			return v, false
		}
		r.space()
		if r.over() {
			r.missing++
			return inner, true
		}
		return inner, r.take("}")
	}
	return r.members(v)
}

// members reads pairs up to the closing brace.
func (r *reader) members(v value) (value, bool) {
	for {
		r.commas()
		if r.over() {
			// After a comma or before any pair, more was to come: that is a cut.
			if len(v.pairs) == 0 || r.afterComma() {
				return v, false
			}
			r.missing++
			return v, true
		}
		if r.take("}") {
			return v, true
		}
		if r.loose && r.peek() == ']' && len(v.pairs) > 0 { // closes what is around
			r.missing++
			return v, true
		}
		key, ok := r.key()
		if !ok {
			return v, false
		}
		val, ok := r.value()
		if !ok {
			return v, false
		}
		v.pairs = append(v.pairs, pair{key, val})
		if !r.separated('}') {
			return v, false
		}
	}
}

// commas passes over blanks and any number of commas.
func (r *reader) commas() {
	for {
		r.space()
		if !r.take(",") {
			return
		}
	}
}

func (r *reader) afterComma() bool {
	return strings.HasSuffix(strings.TrimRight(r.s[:r.pos], " \t\r\n"), ",")
}

// separated says whether what follows a member may follow it.
func (r *reader) separated(closer byte) bool {
	before := r.pos
	r.space()
	c := r.peek()
	if r.over() || c == ',' || c == closer {
		return true
	}
	return r.loose && (r.pos > before || c == '}' || c == ']')
}

// key reads the key of a pair and what stands between it and its value.
func (r *reader) key() (string, bool) {
	var key string
	if r.atQuote() {
		k, ok := r.string(false)
		if !ok {
			return "", false
		}
		key = k
	} else {
		n := wordLen(r.s[r.pos:])
		if n == 0 {
			return "", false
		}
		key = r.s[r.pos : r.pos+n]
		r.pos += n
	}
	r.space()
	return key, r.take(":") || r.take("=>") || r.take("=")
}

// wordLen is the length of the word at the start of s.
func wordLen(s string) int {
	n := 0
	for n < len(s) {
		c := s[n]
		if c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 ||
			n > 0 && (c == '-' || c == '.' || c >= '0' && c <= '9') {
			n++
			continue
		}
		break
	}
	return n
}

func (r *reader) array() (value, bool) {
	v := value{kind: array}
	closer := byte(']')
	if r.peek() == '(' {
		closer = ')'
	}
	r.pos++
	for {
		r.commas()
		if r.over() {
			if len(v.items) == 0 || r.afterComma() {
				return v, false
			}
			r.missing++
			return v, true
		}
		if r.peek() == closer {
			r.pos++
			return v, true
		}
		if r.loose && r.peek() == '}' && len(v.items) > 0 {
			r.missing++
			return v, true
		}
		item, ok := r.value()
		if !ok {
			return v, false
		}
		v.items = append(v.items, item)
		if !r.separated(closer) {
			return v, false
		}
	}
}

// bare reads a number, a word that stands for a value or, loosely, a string
// without quotation marks.
func (r *reader) bare() (value, bool) {
	rest := r.s[r.pos:]
	n := strings.IndexAny(rest, ",}])\n\r\t :\"'{[(")
	if n < 0 {
		n = len(rest)
	}
	word := rest[:n]
	if raw, ok := known(word); ok {
		r.pos += n
		return value{kind: literal, raw: raw, strict: raw == word}, true
	}
	if !r.loose || r.noWords || word == "" {
		return value{}, false
	}
	n = strings.IndexAny(rest, ",}])\n\r:\"'{[(+*=<>&|%$;?!#\\`")
	if n <= 0 || strings.IndexByte(",}]\n\r", rest[n]) < 0 {
		return value{}, false // more than a word, or the end of the text: it may go on
	}
	r.pos += n
	return value{kind: text, str: strings.TrimSpace(rest[:n])}, true
}

// known reads a literal as JSON or as Python and others write it.
func known(word string) (string, bool) {
	switch word {
	case "true", "True", "TRUE":
		return "true", true
	case "false", "False", "FALSE":
		return "false", true
	case "null", "None", "nil", "undefined":
		return "null", true
	}
	if word == "" || !(word[0] >= '0' && word[0] <= '9' || strings.IndexByte("-+.", word[0]) >= 0) {
		return "", false
	}
	if json.Valid([]byte(word)) {
		return word, true
	}
	plain := strings.TrimPrefix(strings.ReplaceAll(word, "_", ""), "+")
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil || strings.ContainsAny(plain, "xXpPnNiI") {
		return "", false
	}
	b, err := json.Marshal(f)
	return string(b), err == nil
}

// quotes are the pairs of marks that strings stand in.
var quotes = []struct{ open, close string }{
	{`"""`, `"""`}, {`'''`, `'''`}, {`"`, `"`}, {`'`, `'`}, {"`", "`"}, {"“", "”"}, {"‘", "’"}, {"„", "“"}, {"«", "»"},
}

func (r *reader) atQuote() bool {
	for _, q := range quotes {
		if r.has(q.open) {
			return true
		}
	}
	return false
}

// string reads a string in any kind of quotation marks and decodes it. One that
// the end of the text leaves open is cut, and never taken.
func (r *reader) string(isValue bool) (string, bool) {
	for _, q := range quotes {
		if !r.has(q.open) {
			continue
		}
		if len(q.open) == 3 && q.open[0] < 0x80 && !strings.Contains(r.s[r.pos+3:], q.close) {
			continue // an empty string and a quotation mark
		}
		r.pos += len(q.open)
		return r.body(q.close, isValue)
	}
	return "", false
}

func (r *reader) body(closer string, isValue bool) (string, bool) {
	var b strings.Builder
	for !r.end() {
		switch c := r.peek(); {
		case c == '\\':
			if !r.escape(&b) {
				return "", false
			}
		case r.has(closer):
			if r.loose && !r.mayEnd(len(closer), isValue) {
				b.WriteString(closer)
				r.pos += len(closer)
				continue
			}
			r.pos += len(closer)
			return b.String(), true
		default:
			b.WriteByte(c)
			r.pos++
		}
	}
	return "", false
}

// mayEnd says whether what follows a quotation mark may follow a string.
func (r *reader) mayEnd(size int, isValue bool) bool {
	rest := strings.TrimLeft(r.s[r.pos+size:], " \t\r\n")
	if rest == "" {
		return true
	}
	switch rest[0] {
	case '"':
		// The next key follows without a comma.
		key := rest[1:]
		n := wordLen(key)
		after, ok := strings.CutPrefix(key[n:], `"`)
		return isValue && n > 0 && ok && strings.HasPrefix(strings.TrimLeft(after, " "), ":")
	case ':', '=':
		return !isValue
	case '}', ']', ')':
		return isValue
	case ',':
		next := strings.TrimLeft(rest[1:], " \t\r\n,")
		if next == "" || strings.IndexByte("\"'{[}]0123456789-“`", next[0]) >= 0 {
			return isValue
		}
		n := wordLen(next)
		after := strings.TrimLeft(next[n:], " \t")
		return isValue && n > 0 && after != "" && strings.IndexByte(":=,]}", after[0]) >= 0
	}
	return false
}

// escape decodes one escape. One that JSON does not know keeps its backslash, so
// that a path or a pattern stays what it was.
func (r *reader) escape(b *strings.Builder) bool {
	r.pos++
	if r.end() {
		return false
	}
	c := r.peek()
	r.pos++
	switch c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case '"', '\\', '/', '\'', '`':
		b.WriteByte(c)
	case '\n': // a continued line
	case 'u':
		r.unicode(b)
	default:
		b.WriteByte('\\')
		b.WriteByte(c)
	}
	return true
}

func (r *reader) unicode(b *strings.Builder) {
	first, ok := r.hex()
	if !ok {
		b.WriteString(`\u`)
		return
	}
	if first >= 0xd800 && first < 0xdc00 && r.has(`\u`) {
		mark := r.pos
		r.pos += 2
		if second, ok := r.hex(); ok && second >= 0xdc00 && second < 0xe000 {
			b.WriteRune((first-0xd800)<<10 + (second - 0xdc00) + 0x10000)
			return
		}
		r.pos = mark
	}
	if !utf8.ValidRune(first) {
		first = utf8.RuneError
	}
	b.WriteRune(first)
}

func (r *reader) hex() (rune, bool) {
	if r.pos+4 > len(r.s) {
		return 0, false
	}
	n, err := strconv.ParseUint(r.s[r.pos:r.pos+4], 16, 32)
	if err != nil {
		return 0, false
	}
	r.pos += 4
	return rune(n), true
}
