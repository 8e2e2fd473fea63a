package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const person = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name"],"additionalProperties":false}`

func compile(t testing.TB, raw string) *Schema {
	t.Helper()
	s, err := Compile(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestValidateSaysWhereAndWhat(t *testing.T) {
	t.Parallel()
	s := compile(t, person)
	if err := s.Validate([]byte(`{"name":"Ada","age":36}`)); err != nil {
		t.Error(err)
	}
	err := s.Validate([]byte(`{"name":3,"x":1}`))
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(invalid.Problems) != 2 {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{"/name", "got number, want string", "'x' not allowed"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
}

func TestNothingIsLoadedFromElsewhere(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{"$ref":"https://example.com/a.json"}`, `{"$ref":"file:///etc/hosts"}`} {
		if _, err := Compile(json.RawMessage(raw)); err == nil || !strings.Contains(err.Error(), "elsewhere") {
			t.Errorf("%s: error %v", raw, err)
		}
	}
}

func TestBadSchemasAreErrors(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{`, `{"type":"strnig"}`, `[]`, `{"$ref":"#/nowhere"}`, `{"pattern":"("}`} {
		if _, err := Compile(json.RawMessage(raw)); err == nil {
			t.Errorf("%s: no error", raw)
		}
	}
	for _, raw := range []string{``, `null`, `true`, `{}`} {
		if err := compile(t, raw).Validate([]byte(`[1]`)); err != nil {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestProseAroundOneObjectIsSurvived(t *testing.T) {
	t.Parallel()
	s := compile(t, person)
	for _, c := range []struct{ in, want, fault string }{
		{in: `{"name":"Ada"}`, want: `{"name":"Ada"}`},
		{in: "Sure! {\"name\":\"Ada\"} Hope this helps {really}.", want: `{"name":"Ada"}`},
		{in: "```json\n{\"name\":\"Ada\"}\n```", want: `{"name":"Ada"}`},
		{in: "Here it is:\n```json\n{\"name\":\"Ada\"}\n```\nDone.", want: `{"name":"Ada"}`},
		{in: `{"name":"A {brace} [in] a \" string"}`, want: `{"name":"A {brace} [in] a \" string"}`},
		{in: `{"name":"Ada"}{"name":"Ada"}`, want: `{"name":"Ada"}`},
		{in: `{"name":"Ada"} or {"name":"Bob"}`, fault: "several different"},
		{in: `{"age":3} {"name":"Ada"}`, want: `{"name":"Ada"}`},
		{in: `{"name":"Ada`, fault: "does not end"},
		{in: `Well: {"name":"Ada", "age":`, fault: "does not end"},
		{in: `{"{"summary":..`, fault: "JSON"},
		{in: `# A heading`, fault: "holds no JSON value"},
		{in: ``, fault: "empty"},
		{in: `{"age":3}`, fault: "name"},
	} {
		got, err := s.Find(c.in)
		switch {
		case c.fault == "" && (err != nil || string(got) != c.want):
			t.Errorf("%q: %s, error %v", c.in, got, err)
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%q: %s, error %v, want one with %q", c.in, got, err, c.fault)
		}
	}
}

func TestBracketsWithoutEndCostLittle(t *testing.T) {
	t.Parallel()
	for _, s := range []string{strings.Repeat("{a ", 200000), strings.Repeat("[", 300000), strings.Repeat(`{"`, 100000)} {
		values, _ := Values(s)
		if len(values) != 0 {
			t.Errorf("%d values", len(values))
		}
	}
}

func TestPositionOfTheFault(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{`{"a":1`: 6, `{{"a":1}}`: 1, `{"a" 1}`: 5, `{"a":1} x`: 8, `{"a":1}}`: 7} {
		var at *PositionError
		if err := Position(in); !errors.As(err, &at) || at.Offset != want {
			t.Errorf("%s: %v, want offset %d", in, err, want)
		}
	}
	if err := Position(`{"a":1}`); err != nil {
		t.Error(err)
	}
}

func TestShortNamesTheFields(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		person: "{name: string, age?: integer}",
		`{"type":"object","properties":{"kind":{"enum":["a","b"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["tags"]}`: `{tags: array of string, kind?: "a" or "b"}`,
		`{"type":["string","null"]}`: "string or null",
		`true`:                       "any value",
	} {
		if got := Short(json.RawMessage(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{`{"name":"Ada"}`, "```json\n{\"name\":\"Ada\"}\n```", `Sure! {"name":"x"} {`, `{{"name":1}}`, "[[[", `{"name":"A`} {
		f.Add(s)
	}
	s := compile(f, person)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := s.Find(text)
		if err != nil {
			return
		}
		if !strings.Contains(text, string(got)) {
			t.Errorf("%q gave %s, which is not in it", text, got)
		}
		if err := s.Validate(got); err != nil {
			t.Errorf("%q gave %s: %v", text, got, err)
		}
	})
}
