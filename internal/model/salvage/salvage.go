// Package salvage reads tool calls that a model wrote as text, because its chat
// template or its server lost their form.
//
// The rule is that nothing is invented and nothing is guessed from prose: the
// text must be calls of offered tools and the marks around them, whole, or it is
// left alone.
package salvage

import (
	"encoding/json"
	"html"
	"strings"

	"towpath/internal/model"
)

// maxText bounds the text that is read, in bytes.
const maxText = 1 << 20

// maxCalls bounds the calls of one reply.
const maxCalls = 128

// Calls reads tool calls from a reply that is nothing else. content is the whole
// reply without its reasoning, not cut by a limit; tools are those on offer. It
// gives nil where content is anything but calls of offered tools, or where
// arguments would have to be invented. Arguments that are valid JSON are kept to
// the byte; the same call twice in a row is one. The ids of the calls are empty.
func Calls(content string, tools []model.ToolDef) []model.ToolCall {
	content = strings.Trim(content, " \t\r\n\ufeff\u200b")
	if content == "" || len(content) > maxText || len(tools) == 0 {
		return nil
	}
	known := newCatalogue(tools)
	if !known.mentioned(content) {
		return nil
	}
	for _, form := range forms(content) {
		for _, loose := range []bool{false, true} {
			d := document{reader: reader{s: form, loose: loose}, tools: known}
			if found, ok := d.read(); ok {
				return found
			}
		}
	}
	return nil
}

// forms gives the text itself and, where it is escaped as a whole, what it says.
func forms(s string) []string {
	list := []string{s}
	if strings.HasPrefix(s, `"`) {
		var inner string
		if json.Unmarshal([]byte(s), &inner) == nil {
			list = append(list, strings.TrimSpace(inner))
		}
	}
	if strings.Contains(s, `{\"`) {
		var inner string
		if json.Unmarshal([]byte(`"`+s+`"`), &inner) == nil {
			list = append(list, strings.TrimSpace(inner))
		}
	}
	if strings.Contains(s, "&quot;") || strings.Contains(s, "&lt;") {
		list = append(list, html.UnescapeString(s))
	}
	return list
}

// Arguments mends the arguments of a call that are not a JSON object, where that
// can be done without inventing anything: a fence around them, prose after them,
// the same object again or its beginning, a raw newline in a string. Several
// whole objects are the arguments of several calls. It gives nil where they are
// cut or cannot be read.
func Arguments(s string) []string {
	if len(s) > maxText {
		return nil
	}
	s = strings.TrimSpace(s)
	var inner string
	if strings.HasPrefix(s, `"`) && json.Unmarshal([]byte(s), &inner) == nil {
		s = strings.TrimSpace(inner)
	}
	s = unfence(s)
	for _, loose := range []bool{false, true} {
		if found := objects(s, loose); found != nil {
			return found
		}
	}
	return nil
}

// unfence takes the fence off text that begins with one.
func unfence(s string) string {
	if !strings.HasPrefix(s, "```") {
		return s
	}
	_, rest, ok := strings.Cut(s, "\n")
	if !ok {
		return strings.Trim(s, "`")
	}
	rest = strings.TrimRight(rest, " \t\r\n")
	return strings.TrimSpace(strings.TrimSuffix(rest, "```"))
}

// objects reads whole objects, one after the other, up to prose.
func objects(s string, loose bool) []string {
	r := reader{s: s, loose: loose}
	var found []string
	for !r.end() && r.peek() == '{' && len(found) < maxCalls {
		start := r.pos
		v, ok := r.value()
		if !ok || r.missing > 0 {
			// The beginning of the same object once more adds nothing.
			if len(found) == 1 && strings.HasPrefix(found[0], strings.TrimSpace(s[start:])) {
				return found
			}
			return nil
		}
		if j := v.json(); len(found) == 0 || found[len(found)-1] != j {
			found = append(found, j)
		}
		r.pos += len(r.s[r.pos:]) - len(strings.TrimLeft(r.s[r.pos:], " \t\r\n,"))
	}
	return found
}

// catalogue is what is known of the tools on offer.
type catalogue struct {
	names []string // longest first
	tools map[string]toolShape
}

// toolShape is the part of a tool's schema that is needed to read a call.
type toolShape struct {
	Properties map[string]struct {
		Type any `json:"type"`
	} `json:"properties"`
	Required []string `json:"required"`
}

func newCatalogue(tools []model.ToolDef) catalogue {
	c := catalogue{tools: map[string]toolShape{}}
	for _, t := range tools {
		if t.Name == "" {
			continue
		}
		var shape toolShape
		if json.Unmarshal(t.Schema, &shape) != nil {
			shape = toolShape{Required: []string{"?"}} // unknown: an empty call is not read into it
		}
		if len(t.Schema) == 0 {
			shape = toolShape{Required: []string{"?"}}
		}
		if _, there := c.tools[t.Name]; !there {
			c.names = append(c.names, t.Name)
		}
		c.tools[t.Name] = shape
	}
	for i := range c.names { // few: an insertion sort by length
		for j := i; j > 0 && len(c.names[j]) > len(c.names[j-1]); j-- {
			c.names[j], c.names[j-1] = c.names[j-1], c.names[j]
		}
	}
	return c
}

func (c catalogue) mentioned(s string) bool {
	for _, n := range c.names {
		if strings.Contains(s, n) {
			return true
		}
	}
	return false
}

// namespaces are what some templates put before a tool's name.
var namespaces = []string{"functions.", "function.", "tools.", "default_api.", "tool."}

// offered gives the name of the tool that name means.
func (c catalogue) offered(name string) (string, bool) {
	name = strings.TrimSpace(name)
	if _, ok := c.tools[name]; ok {
		return name, true
	}
	for _, ns := range namespaces {
		if rest, ok := strings.CutPrefix(name, ns); ok {
			if _, ok := c.tools[rest]; ok {
				return rest, true
			}
		}
	}
	return "", false
}

// at finds the offered name that s begins with, and how long it is there.
func (c catalogue) at(s string) (name string, size int) {
	skip := 0
	for _, ns := range namespaces {
		if strings.HasPrefix(s, ns) {
			skip = len(ns)
			break
		}
	}
	for _, from := range []int{0, skip} {
		for _, n := range c.names {
			if strings.HasPrefix(s[from:], n) && !nameByte(s[from+len(n):]) {
				return n, from + len(n)
			}
		}
	}
	return "", 0
}

// nameByte says whether s goes on with something that may stand in a name.
func nameByte(s string) bool {
	if s == "" {
		return false
	}
	c := s[0]
	if c == '.' {
		return len(s) > 1 && wordLen(s[1:]) > 0 && !strings.HasPrefix(s, ".call(")
	}
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// mayBeEmpty says whether a tool can be called without arguments.
func (c catalogue) mayBeEmpty(name string) bool { return len(c.tools[name].Required) == 0 }
