package browser

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"towpath/internal/schema"
)

const (
	maxFields     = 30
	maxFieldName  = 80
	maxFieldBytes = 16 << 10 // of the whole schema
)

// field is one value to be found.
type field struct {
	name   string
	schema json.RawMessage // as it was asked for, one object
}

// fields are the values to be found, in the order in which they were named.
type fields struct {
	list []field
	defs map[string]json.RawMessage // what the schemas refer to, by keyword
}

// parseFields reads what a model writes for a schema: a JSON Schema of an
// object, an object of names and descriptions or types, a list of names, or
// any of these as a string.
func parseFields(raw json.RawMessage) (fields, error) {
	var f fields
	if len(raw) > maxFieldBytes {
		return f, fmt.Errorf("the schema has %d bytes, and at most %d are taken", len(raw), maxFieldBytes)
	}
	raw = bytes.TrimSpace(raw)
	var text string
	if json.Unmarshal(raw, &text) == nil && len(raw) > 0 && raw[0] == '"' {
		text = strings.TrimSpace(text)
		if inner, ok := schema.Unfence(text); ok {
			text = strings.TrimSpace(inner)
		}
		if !json.Valid([]byte(text)) || !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
			return f.named(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || r == '\n' }))
		}
		raw = json.RawMessage(text)
	}
	if len(raw) > 0 && raw[0] == '[' {
		return f.listed(raw)
	}
	keys, members, err := ordered(raw)
	if err != nil {
		return f, fmt.Errorf("the schema cannot be read: %w; give an object of names and descriptions, such as {\"port\": \"number of the port\"}", err)
	}
	f.defs = map[string]json.RawMessage{}
	for _, k := range defKeywords() {
		if d, ok := members[k]; ok {
			f.defs[k] = d
		}
	}
	if props, ok := members["properties"]; ok {
		if keys, members, err = ordered(props); err != nil {
			return f, fmt.Errorf("the schema's properties cannot be read: %w", err)
		}
	} else if string(members["type"]) == `"array"` && members["items"] != nil {
		return f, errors.New("the schema has to be of an object with named fields, not of a list")
	}
	for _, k := range keys {
		if _, def := f.defs[k]; def || strings.HasPrefix(k, "$") {
			continue
		}
		f.list = append(f.list, field{name: k, schema: fieldSchema(members[k])})
	}
	return f, f.check()
}

// defKeywords hold what other parts of a schema refer to.
func defKeywords() []string { return []string{"$defs", "definitions"} }

// named reads "name", "name: description" and "name (description)".
func (f fields) named(entries []string) (fields, error) {
	for _, e := range entries {
		name, about, _ := strings.Cut(e, ":")
		if n, a, ok := strings.Cut(name, "("); ok && about == "" {
			name, about = n, strings.TrimSuffix(strings.TrimSpace(a), ")")
		}
		if name = strings.Trim(strings.TrimSpace(name), "-*`\"'{} "); name == "" {
			continue
		}
		data, err := json.Marshal(strings.TrimSpace(about))
		if err != nil {
			return f, err
		}
		f.list = append(f.list, field{name: name, schema: fieldSchema(data)})
	}
	return f, f.check()
}

// listed reads a list of names, or of objects with a name.
func (f fields) listed(raw json.RawMessage) (fields, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return f, fmt.Errorf("the schema cannot be read: %w", err)
	}
	for _, e := range list {
		var name string
		if json.Unmarshal(e, &name) == nil {
			f.list = append(f.list, field{name: strings.TrimSpace(name), schema: json.RawMessage(`{}`)})
			continue
		}
		var named struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		}
		if json.Unmarshal(e, &named) != nil || named.Name == "" {
			return f, errors.New("the schema's list has to hold the names of fields")
		}
		data, err := json.Marshal(named.Description)
		if err != nil {
			return f, err
		}
		f.list = append(f.list, field{name: named.Name, schema: fieldSchema(data)})
	}
	return f, f.check()
}

// fieldSchema makes a schema of what stands beside a name: a schema stays, a
// type's name becomes a type, other text a description.
func fieldSchema(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '{' {
		return raw
	}
	var text string
	if json.Unmarshal(raw, &text) != nil || strings.TrimSpace(text) == "" {
		return json.RawMessage(`{}`)
	}
	kind := strings.ToLower(strings.TrimSpace(text))
	switch kind {
	case "str", "text":
		kind = "string"
	case "int":
		kind = "integer"
	case "float", "double":
		kind = "number"
	case "bool":
		kind = "boolean"
	case "list":
		kind = "array"
	}
	out := map[string]any{"description": text}
	switch kind {
	case "string", "integer", "number", "boolean":
		out = map[string]any{"type": kind}
	case "array":
		out = map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
	case "object":
		out = map[string]any{}
	}
	data, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return data
}

func (f fields) check() error {
	if len(f.list) == 0 {
		return errors.New("the schema names no fields; give an object of names and descriptions, such as {\"port\": \"number of the port\"}")
	}
	if len(f.list) > maxFields {
		return fmt.Errorf("the schema names %d fields, and at most %d are taken; ask for fewer", len(f.list), maxFields)
	}
	seen := map[string]bool{}
	for _, e := range f.list {
		if e.name == "" || len(e.name) > maxFieldName || seen[e.name] {
			return fmt.Errorf("the schema's field %q is empty, too long, or there twice", clip(e.name, maxFieldName))
		}
		seen[e.name] = true
	}
	if _, err := schema.Compile(f.want(f.list)); err != nil {
		return fmt.Errorf("the schema cannot be used: %w", err)
	}
	return nil
}

// want is the schema that a reply about some of the fields has to satisfy:
// every field is there, and may be null.
func (f fields) want(list []field) json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	var names []string
	for i, e := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(e.name) // a string always can be
		names = append(names, string(name))
		b.Write(name)
		inner := e.schema
		if len(inner) <= 2 {
			inner = json.RawMessage(`{"type":"string"}`)
		} else if !typed(inner) {
			inner = withType(inner)
		}
		fmt.Fprintf(&b, `:{"anyOf":[%s,{"type":"null"}]}`, inner)
	}
	fmt.Fprintf(&b, `},"required":[%s],"additionalProperties":false`, strings.Join(names, ","))
	for _, k := range defKeywords() {
		if d, ok := f.defs[k]; ok {
			fmt.Fprintf(&b, `,%q:%s`, k, d)
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}

// typed says that a schema states what kind of value it takes.
func typed(raw json.RawMessage) bool {
	_, m, err := ordered(raw)
	if err != nil {
		return true
	}
	for _, k := range []string{"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "properties", "items"} {
		if _, ok := m[k]; ok {
			return true
		}
	}
	return false
}

// withType lets a field without a type be text.
func withType(raw json.RawMessage) json.RawMessage {
	rest := bytes.TrimSpace(raw[1:])
	return append([]byte(`{"type":"string",`), rest...)
}

// ordered reads an object with the order of its keys.
func ordered(raw json.RawMessage) ([]string, map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, errors.New("it is no object")
	}
	var keys []string
	members := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		key, ok := t.(string)
		if !ok {
			return nil, nil, errors.New("it is no object")
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, nil, err
		}
		if _, twice := members[key]; !twice {
			keys = append(keys, key)
		}
		members[key] = v
	}
	_, err := d.Token()
	return keys, members, err
}
