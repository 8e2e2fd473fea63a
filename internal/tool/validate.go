package tool

import (
	"encoding/json"
	"fmt"
)

// ArgumentError says why arguments cannot be used, in words for the model.
type ArgumentError struct {
	Tool    string
	Offset  int    // where they stop being JSON; -1 if they are JSON
	Problem string // what is wrong
	Wants   string // the schema in short
}

// Error gives the problem and what is wanted.
func (e *ArgumentError) Error() string {
	return fmt.Sprintf("the arguments of %s cannot be used: %s; it wants one JSON object: %s", e.Tool, e.Problem, e.Wants)
}

// Validate gives the arguments that a model wrote as JSON that satisfies the
// tool's schema. A fence around the object, prose after it, and the same object
// once more are taken off. Nothing is ever completed or invented: arguments that
// are cut, ambiguous or do not satisfy the schema are an *ArgumentError.
func Validate(spec Spec, args string) (json.RawMessage, error) { return validate(spec, args) }

// NormaliseSchema rewrites the JSON Schema of a tool's arguments into the part
// of the language that every provider takes: one object at the top, local
// references inlined, no type lists, no boolean schemas. It never refuses what
// the original allows; the original stays the one that arguments are checked
// against. The error says why a schema cannot be offered.
func NormaliseSchema(raw json.RawMessage) (json.RawMessage, error) { return normalise(raw) }
