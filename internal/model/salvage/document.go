package salvage

import (
	"strings"

	"towpath/internal/model"
)

// document reads a text as a row of calls and marks, and fails at the first
// thing that is neither.
type document struct {
	reader
	tools   catalogue
	found   []model.ToolCall
	pending string // a name whose arguments must follow
	marked  bool   // the last thing was a mark
}

// read reads the whole text.
func (d *document) read() ([]model.ToolCall, bool) {
	for {
		d.blanks()
		if d.end() {
			return d.found, len(d.found) > 0 && d.pending == ""
		}
		at := d.pos
		marked := d.marked
		d.marked = false
		if !d.element(marked) || d.pos == at {
			return nil, false
		}
	}
}

// blanks passes over blanks and what stands between calls. Comments are prose here.
func (d *document) blanks() {
	rest := strings.TrimLeft(d.s[d.pos:], " \t\r\n,;\u00a0\u200b")
	d.pos = len(d.s) - len(rest)
}

func (d *document) element(marked bool) bool {
	switch c := d.peek(); {
	case c == '`' || c == '~':
		return d.fence()
	case c == '<':
		return d.tag()
	case d.has("◁") || d.has("[") && d.squareMark():
		d.marked = true
		return true
	case c == '[' && d.callList():
		d.pos++
		return true
	case c == '{' || c == '[':
		return d.json()
	case (c == '}' || c == ']' || c == ')') && len(d.found) > 0 && d.pending == "":
		d.pos++ // a bracket too many
		return true
	case d.has("functools[") || d.has(">>>"):
		d.pos += len(d.s[d.pos:]) - len(strings.TrimLeft(strings.TrimPrefix(d.s[d.pos:], "functools"), ">"))
		return true
	case c == '"' && d.loose && d.pending == "":
		return d.braceless()
	}
	return d.name() || d.label() || marked && d.filler()
}

// json reads a value: a call, or the arguments of the name before it.
func (d *document) json() bool {
	v, ok := d.value()
	if !ok {
		return false
	}
	if d.pending == "" {
		return d.fromValue(v)
	}
	name := d.pending
	d.pending = ""
	if v.kind == object {
		if inner, _, ok := d.nameIn(v); ok && inner == name {
			return d.fromObject(v)
		}
	}
	return d.addValue(name, v)
}

// braceless reads the inside of an object whose first brace is not there.
func (d *document) braceless() bool {
	v, ok := d.members(value{kind: object})
	return ok && d.fromObject(v)
}

// fence takes a code fence or a backtick for a mark. Its language may be a name.
func (d *document) fence() bool {
	c := d.peek()
	n := 0
	for !d.end() && d.peek() == c {
		d.pos++
		n++
	}
	if n < 3 {
		return c == '`'
	}
	rest := d.s[d.pos:]
	line, _, _ := strings.Cut(rest, "\n")
	word := strings.TrimSpace(line)
	if word == "" {
		return true
	}
	if name, size := d.tools.at(strings.TrimLeft(line, " ")); size == len(word) && d.pending == "" {
		d.pending = name
		d.pos += len(line)
		return true
	}
	size := wordLen(word)
	after := strings.TrimSpace(word[size:])
	if after != "" && strings.IndexByte("{[<", after[0]) < 0 {
		return false
	}
	if size > 0 && after == "" || size > 0 {
		d.pos += strings.Index(rest, word) + size
	}
	return true
}

// squareMark takes marks such as [TOOL_CALLS] and [/TOOL_REQUEST].
func (d *document) squareMark() bool {
	end := strings.IndexByte(d.s[d.pos:], ']')
	if end < 3 || end > 40 {
		return false
	}
	inner := d.s[d.pos+1 : d.pos+end]
	if strings.Trim(inner, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_/ ") != "" || !containsAny(inner, "TOOL", "ARGS", "CALL", "ACTION", "FUNCTION") {
		return false
	}
	d.pos += end + 1
	if inner == "CALL_ID" {
		id := strings.TrimLeft(d.s[d.pos:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
		d.pos = len(d.s) - len(id)
	}
	return true
}

func containsAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// callList says whether a list of calls in Python's manner begins here.
func (d *document) callList() bool {
	rest := strings.TrimLeft(d.s[d.pos+1:], " \t\r\n")
	_, size := d.tools.at(rest)
	return size > 0 && strings.HasPrefix(strings.TrimLeft(rest[size:], " "), "(")
}

// name reads an offered name and what makes it a call.
func (d *document) name() bool {
	if d.pending != "" {
		return false
	}
	rest := d.s[d.pos:]
	wrapped := false
	if inner, ok := strings.CutPrefix(rest, "print("); ok {
		rest, wrapped = strings.TrimLeft(inner, " \t\r\n"), true
	}
	name, size := d.tools.at(rest)
	if size == 0 {
		return false
	}
	after := rest[size:]
	after = strings.TrimPrefix(after, ".call")
	if open := strings.TrimLeft(after, " "); strings.HasPrefix(open, "(") {
		d.pos = len(d.s) - len(open) + 1
		return d.python(name)
	}
	if wrapped {
		return false
	}
	d.pos += size
	if digits, ok := strings.CutPrefix(d.s[d.pos:], ":"); ok { // an ordinal
		if n := len(digits) - len(strings.TrimLeft(digits, "0123456789")); n > 0 {
			d.pos += 1 + n
		} else {
			d.pos++
		}
	}
	d.pending = name
	return true
}

// labels are the words before the parts of a call in templates without marks.
var labels = []string{"action input", "tool input", "tool_input", "action", "tool call", "tool_call", "tool name", "tool_name", "tool",
	"function call", "function_call", "function name", "function", "arguments", "args", "parameters", "params", "input", "name", "call", "to"}

func (d *document) label() bool {
	rest := d.s[d.pos:]
	rest = strings.TrimLeft(rest, "*>")
	for _, l := range labels {
		if len(rest) <= len(l) || !strings.EqualFold(rest[:len(l)], l) {
			continue
		}
		after := strings.TrimLeft(rest[len(l):], " *")
		if after == "" || after[0] != ':' && after[0] != '=' {
			continue
		}
		d.pos = len(d.s) - len(strings.TrimLeft(after[1:], " *"))
		return true
	}
	return false
}

// filler passes over the words that stand between marks in some templates.
func (d *document) filler() bool {
	for _, w := range []string{"commentary", "analysis", "assistant", "function", "json", "code"} {
		if d.has(w) && !nameByte(d.s[d.pos+len(w):]) {
			d.pos += len(w)
			d.marked = true
			return true
		}
	}
	return false
}
