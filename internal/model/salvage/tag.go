package salvage

import (
	"strings"
)

// markWords are what the marks around calls are named after.
var markWords = []string{"tool", "function", "call", "action", "plugin", "invoke", "argument", "parameters", "args", "input", "python_tag", "name"}

// tag reads a mark in angle brackets, or an element that is a call.
func (d *document) tag() bool {
	rest := d.s[d.pos:]
	end := strings.IndexByte(rest, '>')
	if end < 2 || end > 200 || strings.ContainsAny(rest[:end], "\n{") {
		return false
	}
	inner := rest[1:end]
	if special(inner) {
		d.pos += end + 1
		d.marked = true
		return true
	}
	if d.pending != "" && d.parametersHere() {
		name := d.pending
		d.pending = ""
		return d.parameters(name)
	}
	closing := strings.HasPrefix(inner, "/")
	word, attribute := splitTag(strings.Trim(inner, "/ "))
	if closing {
		d.pos += end + 1
		_, isTool := d.tools.offered(word)
		return isTool || markWord(word)
	}
	if name, ok := d.tools.offered(attribute); ok && markWord(word) && d.pending == "" {
		d.pos += end + 1
		return d.parameters(name)
	}
	if name, ok := d.tools.offered(word); ok && d.pending == "" {
		d.pos += end + 1
		return d.parameters(name)
	}
	if attribute != "" && word == "function" || !markWord(word) {
		return false
	}
	d.pos += end + 1
	d.marked = true
	return true
}

// special says whether the inside of a mark is a special token, which prose
// does not hold: <|...|> and its full-width form.
func special(inner string) bool {
	for _, bar := range []string{"|", "｜"} {
		if strings.HasPrefix(inner, bar) && len(inner) > 2*len(bar) || strings.HasPrefix(inner, "/"+bar) || strings.HasSuffix(inner, bar) && len(inner) > 2*len(bar) {
			return true
		}
	}
	return false
}

func markWord(word string) bool {
	return containsAny(strings.ToLower(word), markWords...)
}

// splitTag gives the word of a tag and the name it carries: function=search,
// invoke name="search".
func splitTag(inner string) (word, attribute string) {
	n := strings.IndexAny(inner, " =\t")
	if n < 0 {
		return inner, ""
	}
	word, rest := inner[:n], strings.TrimSpace(inner[n:])
	for _, lead := range []string{"name", "function", "key", "tool"} {
		if after, ok := strings.CutPrefix(rest, lead); ok {
			if after = strings.TrimLeft(after, " "); strings.HasPrefix(after, "=") {
				rest = after
				break
			}
		}
	}
	value, ok := strings.CutPrefix(rest, "=")
	if !ok {
		return word, ""
	}
	value = strings.TrimSpace(value)
	if value != "" && strings.IndexByte("\"'", value[0]) >= 0 {
		if i := strings.IndexByte(value[1:], value[0]); i >= 0 {
			return word, value[1 : 1+i]
		}
	}
	return word, strings.Trim(value, "\"'")
}

// parametersHere says whether an element that is a parameter begins here.
func (d *document) parametersHere() bool {
	rest := d.s[d.pos:]
	if strings.HasPrefix(rest, "<parameter=") || strings.HasPrefix(rest, "<parameter ") || strings.HasPrefix(rest, "<param ") ||
		strings.HasPrefix(rest, "<arg_key>") || strings.HasPrefix(rest, "<arg ") {
		return true
	}
	end := strings.IndexByte(rest, '>')
	if end < 2 {
		return false
	}
	_, ok := d.tools.tools[d.pending].Properties[rest[1:end]]
	return ok
}

// parameters reads the arguments of an element that is a call: an object, or an
// element for each, up to the element's end.
func (d *document) parameters(name string) bool {
	args := value{kind: object}
	for {
		d.blanks()
		rest := d.s[d.pos:]
		switch {
		case rest == "" || strings.HasPrefix(rest, "</") || strings.HasPrefix(rest, "<|") || strings.HasPrefix(rest, "<｜"):
			if len(args.pairs) == 0 {
				return d.addEmpty(name)
			}
			return d.add(name, args.json())
		case len(args.pairs) == 0 && (rest[0] == '{' || rest[0] == '`' || rest[0] == '"' || markAround(rest)):
			d.pending = name
			return true // the arguments come as an object
		case rest[0] != '<':
			return false
		}
		p, ok := d.parameter(name)
		if !ok {
			return false
		}
		args.pairs = append(args.pairs, p)
		if len(args.pairs) > 100 {
			return false
		}
	}
}

// markAround says whether a mark around all arguments comes next.
func markAround(rest string) bool {
	for _, m := range []string{"<arguments>", "<parameters>", "<args>", "<params>", "<input>"} {
		if strings.HasPrefix(rest, m) {
			return true
		}
	}
	return false
}

// parameter reads one argument that is an element.
func (d *document) parameter(name string) (pair, bool) {
	rest := d.s[d.pos:]
	end := strings.IndexByte(rest, '>')
	if end < 2 || end > 200 {
		return pair{}, false
	}
	word, key := splitTag(strings.TrimSpace(rest[1:end]))
	if word == "function" || word == "invoke" || word == "tool_call" {
		return pair{}, false
	}
	body := rest[end+1:]
	if word == "arg_key" {
		i := strings.Index(body, "</arg_key>")
		if i < 0 {
			return pair{}, false
		}
		key = strings.TrimSpace(body[:i])
		after := strings.TrimLeft(body[i+len("</arg_key>"):], " \t\r\n")
		if !strings.HasPrefix(after, "<arg_value>") {
			return pair{}, false
		}
		word, body = "arg_value", after[len("<arg_value>"):]
	} else if key == "" {
		key = word
	}
	if key == "" {
		return pair{}, false
	}
	size, skip := elementEnd(body, word)
	if size < 0 {
		return pair{}, false
	}
	d.pos = len(d.s) - len(body) + size + skip
	return pair{key, d.typed(name, key, trimLine(body[:size]))}, true
}

// elementEnd finds where an element's text ends and how long its closing tag is.
// A closing tag counts where another tag, or nothing, follows, so that text may
// hold one; an element without its closing tag ends where the next begins.
func elementEnd(body, word string) (size, skip int) {
	tag := "</" + word + ">"
	for from := 0; ; {
		i := strings.Index(body[from:], tag)
		if i < 0 {
			break
		}
		i += from
		from = i + len(tag)
		if next := strings.TrimLeft(body[from:], " \t\r\n"); next == "" || next[0] == '<' {
			return i, len(tag)
		}
	}
	least := -1
	for _, next := range []string{"<" + word + "=", "<" + word + " ", "</function>", "</invoke>", "</tool_call>"} {
		if i := strings.Index(body, next); i >= 0 && (least < 0 || i < least) {
			least = i
		}
	}
	return least, 0
}

// trimLine takes one line break off each end, which the format puts there.
func trimLine(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "\r"), "\n")
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}

// typed reads the text of an argument as the type that the tool's schema gives
// it. A text that is not of that type stays text, for validation to refuse.
func (d *document) typed(name, key, s string) value {
	asText := value{kind: text, str: s}
	prop, known := d.tools.tools[name].Properties[key]
	types := typeNames(prop.Type)
	if known && (len(types) == 0 || oneOf("string", types)) {
		return asText
	}
	r := reader{s: strings.TrimSpace(s)}
	v, ok := r.value()
	if !ok || !r.end() || r.missing > 0 || v.kind == text && !known {
		return asText
	}
	return v
}

func typeNames(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var names []string
		for _, t := range v {
			if s, ok := t.(string); ok {
				names = append(names, s)
			}
		}
		return names
	}
	return nil
}
