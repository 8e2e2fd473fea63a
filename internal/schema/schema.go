// Package schema is JSON Schema as towpath uses it: checking a value, saying
// what is wrong with it and what was wanted in few words, and finding the one
// JSON value in a text that a model wrote. Nothing is ever loaded from
// elsewhere: a schema that refers to another document is an error.
//
// A Schema is safe for use by several goroutines.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// MaxBytes bounds a schema.
const MaxBytes = 1 << 20

const place = "towpath:///schema.json" // stands for the schema's own address

// Schema is a JSON Schema, ready to check values.
type Schema struct {
	compiled *jsonschema.Schema
	raw      json.RawMessage
}

// Compile reads a schema. Empty input and null allow everything.
func Compile(raw json.RawMessage) (*Schema, error) {
	if len(bytes.TrimSpace(raw)) == 0 || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		raw = json.RawMessage("true")
	}
	if len(raw) > MaxBytes {
		return nil, fmt.Errorf("the schema has %d bytes, more than the %d that are allowed", len(raw), MaxBytes)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(closed{})
	if err := c.AddResource(place, doc); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	compiled, err := c.Compile(place)
	if err != nil {
		return nil, fmt.Errorf("the schema is not valid JSON Schema: %s", oneLine(err.Error()))
	}
	return &Schema{compiled: compiled, raw: raw}, nil
}

// closed loads nothing.
type closed struct{}

func (closed) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s lies outside the schema, and nothing is loaded from elsewhere", url)
}

// InvalidError is a value that does not satisfy a schema.
type InvalidError struct {
	Problems []string // place and problem, the deepest causes, at most eight
}

// Error gives the problems as one line.
func (e *InvalidError) Error() string { return strings.Join(e.Problems, "; ") }

// Validate checks a JSON text. The error is an *InvalidError, or says where the
// text stops being JSON.
func (s *Schema) Validate(data []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	err = s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	return &InvalidError{Problems: problems(invalid)}
}

func problems(e *jsonschema.ValidationError) []string {
	var all []string
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			leaf := *e
			text := oneLine(leaf.Error())
			if i := strings.Index(text, "- at "); i >= 0 {
				text = text[i+len("- at "):]
			}
			text = strings.TrimPrefix(text, "'': ")
			if len(text) > 300 {
				text = strings.ToValidUTF8(text[:300], "") + "..."
			}
			all = append(all, text)
			return
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(e)
	sort.Strings(all)
	if len(all) > 8 {
		all = append(all[:8], fmt.Sprintf("and %d more", len(all)-8))
	}
	return all
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
