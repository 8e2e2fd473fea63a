// Package gbnf makes llama.cpp grammars from JSON Schemas.
//
// A grammar never allows what its schema's structure forbids; keywords that a
// grammar cannot express (patterns, sums, exclusions) are left to the
// validation that follows. JSON is held to one spelling: members in the order
// of the schema, one space after a comma and a colon, no other space.
package gbnf

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Tool is a tool as far as a grammar needs it.
type Tool struct {
	Name   string
	Schema []byte // JSON Schema of the arguments; any object if empty
}

// Marks around a tool call in a reply.
const (
	CallOpen  = "<tool_call>"
	CallClose = "</tool_call>"
)

// Schema gives a grammar for text that satisfies a JSON Schema. A schema that
// is too large or too deep becomes any JSON, with loose true.
func Schema(schema []byte) (grammar string, loose bool, err error) {
	b := newBuilder()
	expr, loose, err := b.orAny(schema, b.ref("value"))
	if err != nil {
		return "", false, err
	}
	return b.text(expr), loose, nil
}

// Call gives a grammar for exactly one call of one of the tools, with its
// marks.
func Call(tools []Tool) (string, error) {
	b := newBuilder()
	call, err := b.call(tools)
	if err != nil {
		return "", err
	}
	return b.text(literal(CallOpen+"\n") + " " + call + " " + literal("\n"+CallClose)), nil
}

// CallRest gives a grammar for the rest of a call once CallOpen was written.
func CallRest(tools []Tool) (string, error) {
	b := newBuilder()
	call, err := b.call(tools)
	if err != nil {
		return "", err
	}
	return b.text(`[ \n]? ` + call + ` [ \n]? ` + literal(CallClose)), nil
}

// CallOrSchema gives a grammar for either one call or text that satisfies the
// schema.
func CallOrSchema(tools []Tool, schema []byte) (string, error) {
	b := newBuilder()
	call, err := b.call(tools)
	if err != nil {
		return "", err
	}
	expr, _, err := b.orAny(schema, b.ref("value"))
	if err != nil {
		return "", err
	}
	return b.text(literal(CallOpen+"\n") + " " + call + " " + literal("\n"+CallClose) + " | " + expr), nil
}

// call gives an expression for the JSON of one call.
func (b *builder) call(tools []Tool) (string, error) {
	if len(tools) == 0 {
		return "", errors.New("there is no tool to call")
	}
	var alts []string
	for _, t := range tools {
		schema := t.Schema
		if len(schema) == 0 {
			schema = []byte(`{"type":"object"}`)
		}
		args, _, err := b.orAny(schema, b.ref("object"))
		if err != nil {
			return "", fmt.Errorf("tool %s: %w", t.Name, err)
		}
		alts = append(alts, b.rule("call", literal(`{"name": `+quoted(t.Name)+`, "arguments": `)+" "+args+" "+literal("}")))
	}
	return "(" + strings.Join(alts, " | ") + ")", nil
}

// errTooLarge says that a grammar would be larger than is sensible.
var errTooLarge = errors.New("the schema makes too large a grammar")

// Limits of a grammar.
const (
	maxRules  = 2000
	maxText   = 256 << 10
	maxString = 256 // characters that are counted; longer limits are left to validation
	maxArray  = 64  // items that are counted
	maxWhole  = 256 // whole numbers that are listed one by one
)

// builder gathers rules.
type builder struct {
	root  node
	names []string
	rules map[string]string
	refs  map[string]string // by JSON pointer, the rule for it
	size  int
	full  bool
}

func newBuilder() *builder {
	return &builder{rules: map[string]string{}, refs: map[string]string{}}
}

// text writes the grammar.
func (b *builder) text(root string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "root ::= %s\n", root)
	for _, name := range b.names {
		fmt.Fprintf(&s, "%s ::= %s\n", name, b.rules[name])
	}
	return s.String()
}

// rule adds a rule under a name that begins with hint, and gives the name.
func (b *builder) rule(hint, body string) string {
	name := fmt.Sprintf("%s-%d", hint, len(b.names))
	b.set(name, body)
	return name
}

func (b *builder) set(name, body string) {
	if _, ok := b.rules[name]; !ok {
		b.names = append(b.names, name)
	}
	b.rules[name] = body
	b.size += len(name) + len(body)
	if len(b.names) > maxRules || b.size > maxText {
		b.full = true
	}
}

// basics are the rules that a grammar may refer to by name.
var basics = map[string]string{
	"value":    `object | array | string | number | "true" | "false" | "null"`,
	"object":   `"{" (string ": " value (", " string ": " value)*)? "}"`,
	"array":    `"[" (value (", " value)*)? "]"`,
	"string":   `"\"" char* "\""`,
	"char":     `[^"\\\x00-\x1f\x7f] | "\\" (["\\/bfnrt] | "u" hex hex hex hex)`,
	"hex":      `[0-9a-fA-F]`,
	"number":   `integer ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,3})?`,
	"integer":  `"-"? whole`,
	"whole":    `"0" | [1-9] [0-9]{0,15}`,
	"boolean":  `"true" | "false"`,
	"date":     `[0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | [12] [0-9] | "3" [01])`,
	"time":     `([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,9})? ("Z" | [-+] [0-2] [0-9] ":" [0-5] [0-9])`,
	"datetime": `date "T" time`,
	"uuid":     `hex{8} "-" hex{4} "-" hex{4} "-" hex{4} "-" hex{12}`,
}

// needs lists the basic rules that a basic rule refers to.
var needs = map[string][]string{
	"value":    {"object", "array", "string", "number"},
	"object":   {"string", "value"},
	"array":    {"value"},
	"string":   {"char"},
	"char":     {"hex"},
	"number":   {"integer"},
	"integer":  {"whole"},
	"datetime": {"date", "time"},
	"uuid":     {"hex"},
}

// ref gives the name of a basic rule and sees to it that it is there.
func (b *builder) ref(name string) string {
	if _, ok := b.rules[name]; !ok {
		b.set(name, basics[name])
		for _, n := range needs[name] {
			b.ref(n)
		}
	}
	return name
}

// orAny converts a schema; one that makes too large a grammar becomes the
// given rule, and loose is true. An error means that the schema cannot be
// read, or that nothing satisfies it.
func (b *builder) orAny(schema []byte, fallback string) (expr string, loose bool, err error) {
	root, err := parse(schema)
	if err != nil {
		return "", false, err
	}
	names, size := len(b.names), b.size
	b.root, b.refs = root, map[string]string{}
	expr, err = b.convert(root, 0)
	if err == nil && !b.full {
		return "(" + expr + ")", false, nil
	}
	if err != nil && !errors.Is(err, errTooLarge) {
		return "", false, err
	}
	for _, n := range b.names[names:] {
		delete(b.rules, n)
	}
	b.names, b.size, b.full = b.names[:names], size, false
	b.ref(fallback)
	return fallback, true, nil
}

// literal writes a text as a terminal.
func literal(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// times writes how often an expression may occur; most below 0 is no limit.
func times(expr string, least, most int) string {
	switch {
	case most < 0 && least == 0:
		return expr + "*"
	case most < 0:
		return fmt.Sprintf("%s{%d,}", expr, least)
	case least == most:
		return fmt.Sprintf("%s{%d}", expr, least)
	default:
		return fmt.Sprintf("%s{%d,%d}", expr, least, most)
	}
}

// whole reports whether f is a whole number that an int holds.
func whole(f float64) bool { return f == math.Trunc(f) && math.Abs(f) < 1<<53 }
