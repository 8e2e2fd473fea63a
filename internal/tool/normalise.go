package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"towpath/internal/schema"
)

const (
	maxInlined = 8    // how deep references are followed
	maxNodes   = 5000 // schemas in one schema, after inlining
)

// NormaliseSchema rewrites the JSON Schema of a tool's arguments into the part
// of the language that every provider takes: one object at the top, local
// references inlined, no type lists, no boolean schemas. It never refuses what
// the original allows; the original stays the one that arguments are checked
// against. The error says why a schema cannot be offered.
func NormaliseSchema(raw json.RawMessage) (json.RawMessage, error) {
	text := strings.TrimSpace(string(raw))
	if text == "" || text == "null" {
		text = "true"
	}
	if len(text) > schema.MaxBytes {
		return nil, fmt.Errorf("the schema has %d bytes, more than the %d that are allowed", len(text), schema.MaxBytes)
	}
	doc, err := decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	if _, err := schema.Compile(json.RawMessage(text)); err != nil {
		return nil, err
	}
	n := &normaliser{root: doc}
	v, err := n.schema(doc, nil)
	if err != nil {
		return nil, err
	}
	top, err := topObject(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(top)
}

type normaliser struct {
	root  any
	nodes int
}

// kept are the keywords that every provider takes as they are.
var kept = []string{"title", "description", "enum", "default", "format", "minimum", "maximum",
	"minLength", "maxLength", "minItems", "maxItems", "pattern"}

// schema normalises one schema. It gives nil for one that allows nothing.
// following holds the references that led here.
func (n *normaliser) schema(v any, following []string) (*object, error) {
	n.nodes++
	if n.nodes > maxNodes {
		return nil, fmt.Errorf("the schema grows beyond %d parts when its references are inlined", maxNodes)
	}
	in, ok := v.(*object)
	if !ok {
		if v == false {
			return nil, nil
		}
		return newObject(), nil
	}
	if ref, ok := in.get("$ref").(string); ok {
		return n.reference(in, ref, following)
	}
	out := newObject()
	types, nullable := typesOf(in)
	if len(types) == 1 {
		out.set("type", types[0])
	}
	for _, k := range in.keys {
		if slices.Contains(kept, k) {
			out.set(k, in.get(k))
		}
	}
	if c, ok := in.values["const"]; ok {
		out.set("enum", []any{c})
	}
	if list, ok := out.get("enum").([]any); ok && nullable {
		out.set("enum", slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == nil }))
	}
	if err := n.object(in, out, following); err != nil {
		return nil, err
	}
	if err := n.array(in, out, following); err != nil {
		return nil, err
	}
	if err := n.all(in, out, following); err != nil {
		return nil, err
	}
	if err := n.any(in, out, following); err != nil {
		return nil, err
	}
	infer(out)
	if len(types) > 1 && !out.has("anyOf") {
		out = alternatives(out, types)
	}
	return out, nil
}

// reference inlines a local reference. One that comes back to itself, or goes
// too deep, ends in a schema that allows any value of the target's type.
func (n *normaliser) reference(in *object, ref string, following []string) (*object, error) {
	target, err := n.lookup(ref)
	if err != nil {
		return nil, err
	}
	if slices.Contains(following, ref) || len(following) >= maxInlined {
		out := newObject()
		if o, ok := target.(*object); ok {
			if types, _ := typesOf(o); len(types) == 1 {
				out.set("type", types[0])
			}
			if d, ok := o.get("description").(string); ok {
				out.set("description", d)
			}
		}
		return out, nil
	}
	out, err := n.schema(target, append(slices.Clone(following), ref))
	if err != nil || out == nil {
		return out, err
	}
	if d, ok := in.get("description").(string); ok {
		out.set("description", d)
	}
	return out, nil
}

// lookup finds what a local reference points at.
func (n *normaliser) lookup(ref string) (any, error) {
	if ref != "#" && !strings.HasPrefix(ref, "#/") {
		return nil, fmt.Errorf("the schema refers to %q, which is not in it", ref)
	}
	v := n.root
	for _, step := range strings.Split(strings.TrimPrefix(ref, "#"), "/")[1:] {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch at := v.(type) {
		case *object:
			if !at.has(step) {
				return nil, fmt.Errorf("the schema refers to %q, which is not in it", ref)
			}
			v = at.get(step)
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) {
				return nil, fmt.Errorf("the schema refers to %q, which is not in it", ref)
			}
			v = at[i]
		default:
			return nil, fmt.Errorf("the schema refers to %q, which is not in it", ref)
		}
	}
	return v, nil
}

// typesOf gives the types that a schema names, null apart.
func typesOf(o *object) (types []string, nullable bool) {
	switch t := o.get("type").(type) {
	case string:
		types = []string{t}
	case []any:
		for _, v := range t {
			if s, ok := v.(string); ok {
				types = append(types, s)
			}
		}
	}
	nullable = o.get("nullable") == true || (len(types) > 1 && slices.Contains(types, "null"))
	if len(types) > 1 {
		types = slices.DeleteFunc(types, func(s string) bool { return s == "null" })
	}
	return types, nullable
}

func (n *normaliser) object(in, out *object, following []string) error {
	properties, ok := in.get("properties").(*object)
	if !ok {
		return nil
	}
	to := newObject()
	for _, name := range properties.keys {
		p, err := n.schema(properties.get(name), following)
		if err != nil {
			return err
		}
		if p != nil {
			to.set(name, p)
		}
	}
	out.set("properties", to)
	if list, ok := in.get("required").([]any); ok {
		out.set("required", list)
	}
	if in.get("additionalProperties") == false {
		out.set("additionalProperties", false)
	}
	return nil
}

func (n *normaliser) array(in, out *object, following []string) error {
	var entries []any
	switch items := in.get("items").(type) {
	case []any:
		entries = items
	case nil:
		entries, _ = in.get("prefixItems").([]any)
	default:
		if tuple, ok := in.get("prefixItems").([]any); ok {
			entries = slices.Clone(tuple)
		}
		if items != false {
			entries = append(entries, items)
		}
	}
	if entries == nil {
		return nil
	}
	choices, err := n.distinct(entries, following)
	if err != nil {
		return err
	}
	if len(choices) == 1 {
		out.set("items", choices[0])
	} else if len(choices) > 1 {
		o := newObject()
		o.set("anyOf", listOf(choices))
		out.set("items", o)
	}
	return nil
}

// distinct normalises several schemas and drops those that say the same.
func (n *normaliser) distinct(list []any, following []string) ([]*object, error) {
	var out []*object
	seen := map[string]bool{}
	for _, v := range list {
		o, err := n.schema(v, following)
		if err != nil {
			return nil, err
		}
		if o == nil {
			continue
		}
		data, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		if !seen[string(data)] {
			seen[string(data)] = true
			out = append(out, o)
		}
	}
	return out, nil
}

// all merges the parts of allOf into out.
func (n *normaliser) all(in, out *object, following []string) error {
	parts, _ := in.get("allOf").([]any)
	for _, p := range parts {
		o, err := n.schema(p, following)
		if err != nil {
			return err
		}
		if o != nil {
			merge(out, o)
		}
	}
	return nil
}

// any takes over anyOf and oneOf without their null; a single choice that is
// left becomes part of out.
func (n *normaliser) any(in, out *object, following []string) error {
	var branches []any
	for _, k := range []string{"anyOf", "oneOf"} {
		list, _ := in.get(k).([]any)
		branches = append(branches, list...)
	}
	if branches == nil {
		return nil
	}
	branches = slices.DeleteFunc(branches, func(v any) bool {
		o, ok := v.(*object)
		return ok && (o.get("type") == "null" || (o.has("const") && o.get("const") == nil))
	})
	choices, err := n.distinct(branches, following)
	if err != nil {
		return err
	}
	switch {
	case len(choices) == 1:
		merge(out, choices[0])
	case len(choices) > 1:
		for _, c := range choices {
			if len(c.keys) == 0 { // one of them allows anything
				return nil
			}
		}
		out.set("anyOf", listOf(choices))
	}
	return nil
}

// merge adds what from says to what into says already, for values that
// satisfy both.
func merge(into, from *object) {
	for _, k := range from.keys {
		v := from.get(k)
		switch {
		case k == "properties" && into.has(k):
			to := into.get(k).(*object)
			p := v.(*object)
			for _, name := range p.keys {
				if !to.has(name) {
					to.set(name, p.get(name))
				}
			}
		case k == "required" && into.has(k):
			list := slices.Clone(into.get(k).([]any))
			for _, name := range v.([]any) {
				if !slices.Contains(list, name) {
					list = append(list, name)
				}
			}
			into.set(k, list)
		case k == "additionalProperties": // the parts of a merged object only know their own fields
		case !into.has(k):
			into.set(k, v)
		}
	}
}

// infer adds the type that the other keywords imply.
func infer(o *object) {
	if o.has("type") || o.has("anyOf") {
		return
	}
	switch {
	case o.has("properties"):
		o.set("type", "object")
	case o.has("items"):
		o.set("type", "array")
	default:
		list, _ := o.get("enum").([]any)
		if len(list) > 0 && !slices.ContainsFunc(list, func(v any) bool { _, ok := v.(string); return !ok }) {
			o.set("type", "string")
		}
	}
}

// alternatives turns a list of types into anyOf.
func alternatives(o *object, types []string) *object {
	out := newObject()
	for _, k := range []string{"title", "description", "default"} {
		if o.has(k) {
			out.set(k, o.get(k))
		}
	}
	var choices []*object
	for _, t := range types {
		c := newObject()
		c.set("type", t)
		for _, k := range o.keys {
			if belongs(k, t) {
				c.set(k, o.get(k))
			}
		}
		choices = append(choices, c)
	}
	out.set("anyOf", listOf(choices))
	return out
}

// belongs says which keyword speaks of which type.
func belongs(keyword, of string) bool {
	switch keyword {
	case "properties", "required", "additionalProperties":
		return of == "object"
	case "items", "minItems", "maxItems":
		return of == "array"
	case "minLength", "maxLength", "pattern", "format":
		return of == "string"
	case "minimum", "maximum":
		return of == "number" || of == "integer"
	}
	return false
}

// topObject makes of v an object schema without combinators at its top, which
// providers want of a tool.
func topObject(v *object) (*object, error) {
	if v == nil {
		return nil, errors.New("the schema allows no arguments at all")
	}
	if list, ok := v.get("anyOf").([]any); ok {
		v.remove("anyOf")
		if err := union(v, list); err != nil {
			return nil, err
		}
	}
	switch t, _ := v.get("type").(string); t {
	case "object":
	case "":
		v.set("type", "object")
	default:
		return nil, fmt.Errorf("the schema wants %s, while the arguments of a tool are an object", t)
	}
	v.remove("enum")
	if !v.has("properties") {
		v.set("properties", newObject())
	}
	out := newObject() // the type first, then the rest in its order
	out.set("type", "object")
	for _, k := range v.keys {
		out.set(k, v.get(k))
	}
	return dropRequired(out), nil
}

// union adds the fields of every choice; only what all choices require is
// required.
func union(v *object, choices []any) error {
	var required []any
	found := false
	for _, c := range choices {
		o, ok := c.(*object)
		if t, _ := o.get("type").(string); !ok || (t != "object" && t != "") {
			continue
		}
		list, _ := o.get("required").([]any)
		if !found {
			required = slices.Clone(list)
		} else {
			required = slices.DeleteFunc(required, func(name any) bool { return !slices.Contains(list, name) })
		}
		found = true
		o.remove("required")
		o.remove("type")
		o.remove("description")
		o.remove("title")
		merge(v, o)
	}
	if !found {
		return errors.New("the schema allows no object, while the arguments of a tool are one")
	}
	from := newObject()
	if len(required) > 0 {
		from.set("required", required)
		merge(v, from)
	}
	v.remove("additionalProperties")
	return nil
}

// dropRequired takes names out of required that have no property: some
// providers refuse them.
func dropRequired(v *object) *object {
	properties := v.get("properties").(*object)
	list, _ := v.get("required").([]any)
	var names []any
	for _, name := range list {
		if s, ok := name.(string); ok && properties.has(s) {
			names = append(names, s)
		}
	}
	v.remove("required")
	if len(names) > 0 {
		v.set("required", names)
	}
	return v
}

func listOf(objects []*object) []any {
	out := make([]any, len(objects))
	for i, o := range objects {
		out[i] = o
	}
	return out
}
