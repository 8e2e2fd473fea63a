package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"towpath/internal/schema"
)

// MaxArguments bounds the bytes of one call's arguments.
const MaxArguments = 4 << 20

// ArgumentError says why arguments cannot be used, in words for the model.
type ArgumentError struct {
	Tool    string
	Offset  int    // byte where they stop being JSON; -1 if they are JSON
	Problem string // what is wrong, with that place
	Wants   string // the schema in short
}

// Error gives the problem and what is wanted.
func (e *ArgumentError) Error() string {
	return fmt.Sprintf("the arguments of %s cannot be used: %s; it wants one JSON object: %s", e.Tool, e.Problem, e.Wants)
}

// Validate gives the arguments that a model wrote as JSON that satisfies the
// tool's schema. A fence around the object, prose after it, and the same object
// once more are taken off; no text at all means an empty object. Nothing is ever
// completed or invented: arguments that are cut, ambiguous or do not satisfy the
// schema are an *ArgumentError.
func Validate(spec Spec, args string) (json.RawMessage, error) {
	refuse := func(offset int, format string, a ...any) (json.RawMessage, error) {
		return nil, &ArgumentError{Tool: spec.Name, Offset: offset, Problem: fmt.Sprintf(format, a...), Wants: schema.Short(spec.Input)}
	}
	if len(args) > MaxArguments {
		return refuse(-1, "they have %d bytes, more than the %d that are allowed", len(args), MaxArguments)
	}
	object, err := oneObject(args)
	if err != nil {
		offset := -1
		var at *schema.PositionError
		if errors.As(err, &at) {
			offset = at.Offset
		}
		return refuse(offset, "%s", err)
	}
	s, err := schema.Compile(spec.Input)
	if err != nil {
		return nil, fmt.Errorf("tool %s of server %s: %w", spec.Name, spec.Server, err)
	}
	if err := s.Validate(object); err != nil {
		return refuse(-1, "%s", err)
	}
	return object, nil
}

// oneObject finds the object in arguments as a model wrote them.
func oneObject(args string) (json.RawMessage, error) {
	text := strings.TrimSpace(strings.TrimPrefix(args, "\ufeff"))
	if text == "" || text == "null" {
		return json.RawMessage("{}"), nil
	}
	if inner, ok := schema.Unfence(text); ok {
		text = inner
	}
	if strings.HasPrefix(text, `"`) { // the object written as a string
		var inner string
		if json.Unmarshal([]byte(text), &inner) == nil && strings.HasPrefix(strings.TrimSpace(inner), "{") && json.Valid([]byte(inner)) {
			text = strings.TrimSpace(inner)
		}
	}
	if !strings.HasPrefix(text, "{") {
		if json.Valid([]byte(text)) {
			return nil, errors.New("they are not an object")
		}
		return nil, schema.Position(text)
	}
	var first json.RawMessage
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&first); err != nil {
		return nil, schema.Position(text)
	}
	if err := harmless(text, first, strings.TrimSpace(text[d.InputOffset():])); err != nil {
		return nil, err
	}
	return first, nil
}

// harmless decides whether what follows the first object changes nothing about
// its meaning: prose, a stray fence, or the same object again, also when that
// repetition was cut.
func harmless(text string, first json.RawMessage, rest string) error {
	for rest != "" {
		if !strings.HasPrefix(rest, "{") {
			if strings.ContainsAny(rest, "{}[]") {
				return schema.Position(text)
			}
			return nil
		}
		if strings.HasPrefix(string(first), rest) {
			return nil
		}
		var next json.RawMessage
		d := json.NewDecoder(strings.NewReader(rest))
		if d.Decode(&next) != nil {
			return schema.Position(text)
		}
		a, err1 := schema.Canonical(first)
		b, err2 := schema.Canonical(next)
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
			return errors.New("they hold two different objects; make one call for each")
		}
		rest = strings.TrimSpace(rest[d.InputOffset():])
	}
	return nil
}
