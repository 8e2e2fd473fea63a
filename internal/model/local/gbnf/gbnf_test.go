package gbnf

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var schemas = []struct {
	name, schema string
	good, bad    []string
}{
	{"required and optional properties in order",
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"}},"required":["b"]}`,
		[]string{`{"b": 1}`, `{"a": "x", "b": -2}`, `{"b": 0, "c": true}`, `{"a": "", "b": 7, "c": false}`},
		[]string{`{}`, `{"a": "x"}`, `{"b": 1, "a": "x"}`, `{"b": 1, }`, `{, "b": 1}`, `{"b": "1"}`, `{"b": 1}}`, `{"b":1}`}},
	{"only optional properties", `{"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"}}}`,
		[]string{`{}`, `{"a": null}`, `{"b": null}`, `{"a": null, "b": null}`}, []string{`{, "b": null}`, `{"a": 1}`}},
	{"a property between required ones may be left out",
		`{"type":"object","properties":{"a":{"const":1},"b":{"const":2},"c":{"const":3}},"required":["a","c"]}`,
		[]string{`{"a": 1, "c": 3}`, `{"a": 1, "b": 2, "c": 3}`}, []string{`{"a": 1}`, `{"a": 1, "b": 2}`, `{"a": 1, , "c": 3}`}},
	{"enums and constants", `{"enum":["red","deep \"blue\"",3,null,[1,{"x":2}]]}`,
		[]string{`"red"`, `"deep \"blue\""`, `3`, `null`, `[1, {"x": 2}]`}, []string{`"green"`, `red`, `33`}},
	{"strings with escapes", `{"type":"string"}`,
		[]string{`""`, `"жук 虫 😀"`, `"a\n\"b\"\\ \u00e9"`}, []string{"\"a\nb\"", `"a`, `"\x"`, `"\u00g1"`, `x`}},
	{"strings of a length", `{"type":"string","minLength":2,"maxLength":4}`,
		[]string{`"ab"`, `"жжжж"`}, []string{`"a"`, `"abcde"`}},
	{"numbers", `{"type":"number"}`, []string{`0`, `-1.5`, `12e3`, `1E-2`}, []string{`01`, `.5`, `1.`, `--1`, `+1`, `NaN`}},
	{"integers", `{"type":"integer"}`, []string{`0`, `-17`, `123456`}, []string{`1.0`, `007`, `-`, `1e2`}},
	{"integers in a range", `{"type":"integer","minimum":-2,"exclusiveMaximum":3}`,
		[]string{`-2`, `-1`, `0`, `1`, `2`}, []string{`-3`, `3`, `22`}},
	{"positive integers", `{"type":"integer","minimum":1}`, []string{`1`, `10`}, []string{`0`, `-1`, `01`}},
	{"arrays", `{"type":"array","items":{"type":"boolean"}}`, []string{`[]`, `[true]`, `[true, false, true]`}, []string{`[true,false]`, `[1]`, `[true, ]`}},
	{"arrays of a size", `{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3}`,
		[]string{`[1, 2]`, `[1, 2, 3]`}, []string{`[]`, `[1]`, `[1, 2, 3, 4]`}},
	{"arrays of one", `{"type":"array","items":{"type":"integer"},"maxItems":1}`, []string{`[]`, `[1]`}, []string{`[1, 2]`}},
	{"tuples", `{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]}`, []string{`["a", 1]`}, []string{`["a"]`, `[1, "a"]`}},
	{"nested objects", `{"type":"object","properties":{"o":{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}},"required":["l"]}},"required":["o"]}`,
		[]string{`{"o": {"l": []}}`, `{"o": {"l": [{"n": 1}, {"n": 2}]}}`}, []string{`{"o": {}}`, `{"o": {"l": [{}]}}`}},
	{"references", `{"$defs":{"n":{"type":"integer"},"p~/q":{"type":"boolean"}},"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/p~0~1q"}},"required":["a","b"]}`,
		[]string{`{"a": 1, "b": true}`}, []string{`{"a": true, "b": 1}`}},
	{"a schema that refers to itself", `{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#"}},"required":["v"]}`,
		[]string{`{"v": 1}`, `{"v": 1, "next": {"v": 2, "next": {"v": 3}}}`}, []string{`{"v": 1, "next": {}}`, `{"next": {"v": 1}}`}},
	{"alternatives", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, []string{`"x"`, `null`}, []string{`1`, ``}},
	{"several types", `{"type":["integer","null"]}`, []string{`4`, `null`}, []string{`"4"`}},
	{"parts that hold together", `{"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}]}`,
		[]string{`{"a": 1, "b": 2}`}, []string{`{"a": 1}`, `{"b": 2}`}},
	{"no properties", `{"type":"object","properties":{}}`, []string{`{}`}, []string{`{"a": 1}`}},
	{"any object", `{"type":"object"}`, []string{`{}`, `{"a": [1, {"b": null}]}`}, []string{`[]`, `1`}},
	{"a map", `{"type":"object","additionalProperties":{"type":"integer"}}`, []string{`{}`, `{"a": 1, "b": 2}`}, []string{`{"a": "x"}`}},
	{"dates", `{"type":"string","format":"date"}`, []string{`"2024-02-29"`}, []string{`"2024-13-01"`, `"yesterday"`}},
	{"anything", `true`, []string{`1`, `"x"`, `{"a": [true]}`}, []string{``, `x`}},
	{"a property name with quotes", `{"type":"object","properties":{"a\"b\\c\n":{"const":1}},"required":["a\"b\\c\n"]}`,
		[]string{`{"a\"b\\c\n": 1}`}, []string{`{"ab": 1}`}},
}

func TestGrammarsAllowWhatSchemasAllow(t *testing.T) {
	t.Parallel()
	for _, c := range schemas {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			grammar, loose, err := Schema([]byte(c.schema))
			if err != nil || loose {
				t.Fatalf("loose %v, error %v", loose, err)
			}
			for _, s := range c.good {
				if ok, err := allows(grammar, s); !ok || err != nil {
					t.Errorf("%s is not allowed (%v) by\n%s", s, err, grammar)
				}
				if err := valid(t, c.schema, s); err != nil {
					t.Errorf("the example %s does not satisfy the schema: %v", s, err)
				}
			}
			for _, s := range c.bad {
				if ok, err := allows(grammar, s); ok || err != nil {
					t.Errorf("%s is allowed (%v) by\n%s", s, err, grammar)
				}
			}
		})
	}
}

func valid(t testing.TB, schema, text string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:s", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:s")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func TestCallsAreHeldToTheirTools(t *testing.T) {
	t.Parallel()
	tools := []Tool{
		{"search", []byte(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)},
		{"now", nil},
	}
	grammar, err := Call(tools)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := CallRest(tools)
	if err != nil {
		t.Fatal(err)
	}
	either, err := CallOrSchema(tools, []byte(`{"type":"integer"}`))
	if err != nil {
		t.Fatal(err)
	}
	call := `{"name": "search", "arguments": {"query": "worms"}}`
	for _, c := range []struct {
		grammar, text string
		want          bool
	}{
		{grammar, "<tool_call>\n" + call + "\n</tool_call>", true},
		{grammar, "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>", true},
		{grammar, "<tool_call>\n{\"name\": \"other\", \"arguments\": {}}\n</tool_call>", false},
		{grammar, "<tool_call>\n{\"name\": \"search\", \"arguments\": {}}\n</tool_call>", false},
		{grammar, call, false},
		{grammar, "Sure! <tool_call>\n" + call + "\n</tool_call>", false},
		{rest, "\n" + call + "\n</tool_call>", true},
		{rest, call + "</tool_call>", true},
		{rest, call, false},
		{either, "42", true},
		{either, "<tool_call>\n" + call + "\n</tool_call>", true},
		{either, "forty-two", false},
	} {
		if got, err := allows(c.grammar, c.text); got != c.want || err != nil {
			t.Errorf("%q: %v (%v), want %v", c.text, got, err, c.want)
		}
	}
}

func TestSchemasThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		``, `{`, `[]`, `"x"`, `false`, `{"type":"text"}`, `{"$ref":"https://example.com/s"}`, `{"$ref":"#/nowhere"}`,
		`{"$ref":"#"}`, `{"type":[]}`, `{"type":"object","properties":{"a":false},"required":["a"]}`, `{} {}`,
	} {
		if g, _, err := Schema([]byte(schema)); err == nil {
			t.Errorf("%s becomes a grammar:\n%s", schema, g)
		}
	}
}

func TestHugeSchemasBecomeAnyJSON(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	for i := range 3000 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"p` + strings.Repeat("x", i%50) + string(rune('a'+i%26)) + strings.Repeat("y", i/26) + `":{"type":"string"}`)
	}
	b.WriteString(`}}`)
	grammar, loose, err := Schema([]byte(b.String()))
	if err != nil || !loose {
		t.Fatalf("loose %v, error %v", loose, err)
	}
	if len(grammar) > 2000 {
		t.Errorf("the grammar has %d bytes", len(grammar))
	}
	if ok, err := allows(grammar, `{"any": [1]}`); !ok || err != nil {
		t.Errorf("any JSON is not allowed: %v", err)
	}
	deep := strings.Repeat(`{"type":"array","items":`, 60) + `true` + strings.Repeat(`}`, 60)
	if _, _, err := Schema([]byte(deep)); err != nil {
		t.Errorf("a deep schema: %v", err)
	}
}

func FuzzSchema(f *testing.F) {
	for _, c := range schemas {
		f.Add([]byte(c.schema))
	}
	f.Add([]byte(`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`))
	f.Add([]byte(`{"allOf":[{"$ref":"#"}]}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		grammar, _, err := Schema(schema)
		if err != nil {
			return
		}
		if len(grammar) > maxText*2 {
			t.Errorf("the grammar has %d bytes", len(grammar))
		}
		if bytes.ContainsAny([]byte(grammar), "\x00\r") {
			t.Errorf("the grammar holds control characters: %q", grammar)
		}
		if !json.Valid(schema) {
			t.Error("a schema that is no JSON is taken")
		}
	})
}
