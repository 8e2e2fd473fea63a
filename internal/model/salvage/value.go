package salvage

import (
	"bytes"
	"encoding/json"
	"strings"
)

// kind is the kind of a value.
type kind byte

const (
	object  kind = 'o'
	array   kind = 'a'
	text    kind = 's'
	literal kind = 'l' // number, true, false, null
)

// value is a JSON value, or what was meant to be one.
type value struct {
	kind   kind
	raw    string // its source, where strict
	strict bool   // the source is valid JSON as it stands
	str    string // of text, decoded
	pairs  []pair
	items  []value
}

type pair struct {
	key string
	val value
}

// get gives the value of a key. ok is false where it is absent, or stands there
// twice with different values.
func (v value) get(key string) (found value, ok bool) {
	for _, p := range v.pairs {
		if p.key != key {
			continue
		}
		if ok && p.val.json() != found.json() {
			return value{}, false
		}
		found, ok = p.val, true
	}
	return found, ok
}

// json gives the value as JSON: the source to the byte where that is valid.
func (v value) json() string {
	if v.strict {
		return v.raw
	}
	var b strings.Builder
	v.write(&b)
	return b.String()
}

func (v value) write(b *strings.Builder) {
	switch {
	case v.strict, v.kind == literal:
		b.WriteString(v.raw)
	case v.kind == text:
		b.WriteString(quote(v.str))
	case v.kind == array:
		b.WriteByte('[')
		for i, it := range v.items {
			if i > 0 {
				b.WriteString(", ")
			}
			it.write(b)
		}
		b.WriteByte(']')
	default:
		b.WriteByte('{')
		for i, p := range v.pairs {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quote(p.key))
			b.WriteString(": ")
			p.val.write(b)
		}
		b.WriteByte('}')
	}
}

// quote writes a JSON string without the escapes that HTML alone needs.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
