package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Short says in few words what a schema wants, for a model or a person:
// {query: string, max_results?: integer}. At most about 600 characters.
func Short(raw json.RawMessage) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return "any value"
	}
	s := short(v, 0)
	if len(s) > 600 {
		s = strings.ToValidUTF8(s[:600], "") + "..."
	}
	return s
}

func short(v any, depth int) string {
	m, ok := v.(map[string]any)
	if !ok || depth > 5 {
		return "any value"
	}
	if values, ok := m["enum"].([]any); ok {
		var words []string
		for _, e := range values[:min(len(values), 12)] {
			data, err := json.Marshal(e)
			if err == nil {
				words = append(words, string(data))
			}
		}
		return strings.Join(words, " or ")
	}
	if p, ok := m["properties"].(map[string]any); ok {
		return fields(m, p, depth)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := m[key].([]any); ok {
			var words []string
			for _, e := range list[:min(len(list), 6)] {
				words = append(words, short(e, depth+1))
			}
			return strings.Join(words, " or ")
		}
	}
	switch t := m["type"].(type) {
	case string:
		if t == "array" {
			return "array of " + short(m["items"], depth+1)
		}
		return t
	case []any:
		var words []string
		for _, e := range t {
			words = append(words, fmt.Sprint(e))
		}
		return strings.Join(words, " or ")
	}
	return "any value"
}

func fields(m, properties map[string]any, depth int) string {
	var required []string
	if list, ok := m["required"].([]any); ok {
		for _, e := range list {
			required = append(required, fmt.Sprint(e))
		}
	}
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := slices.Contains(required, names[i]), slices.Contains(required, names[j])
		if a != b {
			return a
		}
		return names[i] < names[j]
	})
	var b strings.Builder
	b.WriteString("{")
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
		if !slices.Contains(required, name) {
			b.WriteString("?")
		}
		b.WriteString(": " + short(properties[name], depth+1))
	}
	return b.String() + "}"
}
