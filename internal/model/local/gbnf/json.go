package gbnf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// node is a JSON value whose members keep their order.
type node struct {
	value   any // string, json.Number, bool or nil; not set for members and items
	isObj   bool
	isArr   bool
	members []member
	items   []node
}

type member struct {
	name string
	node node
}

// Limits of a schema.
const (
	maxDepth = 64
	maxBytes = 1 << 20
)

// parse reads one JSON value.
func parse(raw []byte) (node, error) {
	if len(raw) > maxBytes {
		return node{}, fmt.Errorf("the schema has more than %d bytes", maxBytes)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	n, err := parseValue(d, 0)
	if err != nil {
		return node{}, fmt.Errorf("read the schema: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return node{}, errors.New("read the schema: text after its end")
	}
	return n, nil
}

func parseValue(d *json.Decoder, depth int) (node, error) {
	if depth > maxDepth {
		return node{}, errors.New("nested too deeply")
	}
	tok, err := d.Token()
	if err != nil {
		return node{}, err
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return node{value: tok}, nil
	}
	n := node{isObj: delim == '{', isArr: delim == '['}
	for d.More() {
		var name string
		if n.isObj {
			key, err := d.Token()
			if err != nil {
				return node{}, err
			}
			name = key.(string)
		}
		child, err := parseValue(d, depth+1)
		if err != nil {
			return node{}, err
		}
		if n.isObj {
			n.members = append(n.members, member{name, child})
		} else {
			n.items = append(n.items, child)
		}
	}
	_, err = d.Token()
	return n, err
}

// get gives a member of an object.
func (n node) get(name string) (node, bool) {
	for _, m := range n.members {
		if m.name == name {
			return m.node, true
		}
	}
	return node{}, false
}

// text gives a member that is a string, else "".
func (n node) text(name string) string {
	m, _ := n.get(name)
	s, _ := m.value.(string)
	return s
}

// number gives a member that is a number.
func (n node) number(name string) (float64, bool) {
	m, ok := n.get(name)
	if !ok {
		return 0, false
	}
	num, ok := m.value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := num.Float64()
	return f, err == nil
}

// count gives a member that is a whole number within 0 and limit, else or.
func (n node) count(name string, or, limit int) int {
	f, ok := n.number(name)
	if !ok || f < 0 || f > float64(limit) || f != float64(int(f)) {
		return or
	}
	return int(f)
}

// spaced writes a value the way that the grammar writes JSON: one space after
// a comma and a colon.
func (n node) spaced() string {
	var b bytes.Buffer
	n.write(&b)
	return b.String()
}

func (n node) write(b *bytes.Buffer) {
	switch {
	case n.isObj:
		b.WriteByte('{')
		for i, m := range n.members {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoted(m.name))
			b.WriteString(": ")
			m.node.write(b)
		}
		b.WriteByte('}')
	case n.isArr:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteString(", ")
			}
			item.write(b)
		}
		b.WriteByte(']')
	default:
		switch v := n.value.(type) {
		case string:
			b.WriteString(quoted(v))
		case json.Number:
			b.WriteString(v.String())
		case bool:
			fmt.Fprint(b, v)
		default:
			b.WriteString("null")
		}
	}
}

// quoted writes a string as JSON without escaping what need not be.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s) // a string cannot fail
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}
