package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Find gives the one JSON value in text that satisfies the schema: the whole
// text, the content of a fence, or a single object or array that stands among
// prose. Two different values that both satisfy the schema are an error, as is
// a value that was cut: nothing is completed.
func (s *Schema) Find(text string) (json.RawMessage, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if text == "" {
		return nil, errors.New("the reply is empty")
	}
	if json.Valid([]byte(text)) {
		return s.whole(text)
	}
	if inner, ok := Unfence(text); ok && json.Valid([]byte(inner)) {
		return s.whole(inner)
	}
	values, cut := Values(text)
	var found json.RawMessage
	var last error
	for _, v := range values {
		if err := s.Validate(v); err != nil {
			last = err
			continue
		}
		if found != nil && !equal(found, v) {
			return nil, errors.New("it holds several different JSON values that satisfy the schema")
		}
		found = v
	}
	switch {
	case found != nil && cut < 0:
		return found, nil
	case cut >= 0 && (found == nil || !strings.HasPrefix(string(found), text[cut:])):
		return nil, fmt.Errorf("the JSON that begins at character %d does not end: %w", cut, Position(text[cut:]))
	case found != nil:
		return found, nil
	case last != nil:
		return nil, last
	}
	return nil, errors.New("it holds no JSON value")
}

func (s *Schema) whole(text string) (json.RawMessage, error) {
	if err := s.Validate([]byte(text)); err != nil {
		return nil, err
	}
	return json.RawMessage(text), nil
}

// Values gives every complete object and array that stands at the top level of
// text, in order. cut is the place of an object or array that begins and does
// not end before the text does, or -1.
func Values(text string) (values []json.RawMessage, cut int) {
	const enough = 2000 // starts that lead nowhere, so that brackets in prose cost no more than a glance
	cut = -1
	for i, vain := 0, 0; i < len(text) && vain < enough; {
		if text[i] != '{' && text[i] != '[' {
			i++
			continue
		}
		end, state := span(text[i:])
		switch {
		case state == complete && json.Valid([]byte(text[i:i+end])):
			values = append(values, json.RawMessage(text[i:i+end]))
			i += end
		case state == unfinished && plausible(text[i:]):
			return values, i
		default:
			i++
			vain++
		}
	}
	return values, cut
}

type spanState int

const (
	broken spanState = iota
	complete
	unfinished
)

// span finds the end of the bracketed text that s begins with, minding strings.
// Its depth is bounded, so that it reads s once and never far.
func span(s string) (int, spanState) {
	const deepest = 1000
	var open []byte
	quoted, escaped := false, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if len(open) == deepest {
				return 0, broken
			}
			open = append(open, c+2) // '{'+2 is '}', '['+2 is ']'
		case c == '}' || c == ']':
			if open[len(open)-1] != c {
				return 0, broken
			}
			open = open[:len(open)-1]
			if len(open) == 0 {
				return i + 1, complete
			}
		}
	}
	return len(s), unfinished
}

// plausible reports that s, which does not end, was begun as JSON rather than
// as prose with a bracket in it.
func plausible(s string) bool {
	rest := strings.TrimLeft(s[1:], " \t\r\n")
	if rest == "" {
		return true
	}
	if s[0] == '{' {
		return rest[0] == '"'
	}
	return strings.ContainsRune(`{["-0123456789tfn`, rune(rest[0])) && !json.Valid([]byte(s)) &&
		strings.Contains(Position(s).Error(), "unexpected end")
}

// Unfence gives what stands in a code fence that spans all of text.
func Unfence(text string) (string, bool) {
	text = strings.TrimSpace(text)
	first, rest, ok := strings.Cut(text, "\n")
	if !ok || !strings.HasPrefix(first, "```") || strings.Contains(strings.TrimLeft(first, "`"), "`") {
		return "", false
	}
	fence := first[:len(first)-len(strings.TrimLeft(first, "`"))]
	body, ok := strings.CutSuffix(rest, fence)
	if !ok || (body != "" && !strings.HasSuffix(body, "\n")) {
		return "", false
	}
	return strings.TrimSpace(body), true
}

// PositionError says where a text stops being JSON.
type PositionError struct {
	Offset int // bytes from the start
	Reason string
	Near   string // what stands there, a few characters
}

// Error gives place and reason.
func (e *PositionError) Error() string {
	if e.Near == "" {
		return fmt.Sprintf("%s at character %d", e.Reason, e.Offset)
	}
	return fmt.Sprintf("%s at character %d, near %q", e.Reason, e.Offset, e.Near)
}

// Position says where text stops being one JSON value; nil if it is one.
func Position(text string) error {
	if json.Valid([]byte(text)) {
		return nil
	}
	var v any
	err := json.NewDecoder(strings.NewReader(text)).Decode(&v)
	e := &PositionError{Offset: len(text), Reason: "unexpected end"}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax) && !strings.Contains(syntax.Error(), "unexpected end"):
		e.Reason, e.Offset = syntax.Error(), max(int(syntax.Offset)-1, 0)
	case err == nil:
		d := json.NewDecoder(strings.NewReader(text))
		if d.Decode(&v) == nil {
			e.Reason, e.Offset = "more text after the JSON value", int(d.InputOffset())
			e.Offset += len(text[e.Offset:]) - len(strings.TrimLeft(text[e.Offset:], " \t\r\n"))
		}
	}
	if e.Offset < len(text) {
		e.Near = strings.ToValidUTF8(text[e.Offset:min(len(text), e.Offset+20)], "")
	}
	return e
}

// equal compares two JSON texts by value.
func equal(a, b json.RawMessage) bool {
	x, err1 := Canonical(a)
	y, err2 := Canonical(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// Canonical writes a JSON value so that equal values are equal bytes: keys
// sorted, no spaces, numbers as they were written.
func Canonical(raw []byte) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
