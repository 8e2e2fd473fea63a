package tool

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"towpath/internal/schema"
)

var path = Spec{Server: "files", Name: "read", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}},"required":["path"],"additionalProperties":false}`)}

func TestArgumentsAreNeverInvented(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want, fault string }{
		{"plain", `{"path":"a"}`, `{"path":"a"}`, ""},
		{"fence", "```json\n{\"path\":\"a\"}\n```", `{"path":"a"}`, ""},
		{"prose behind", `{"path":"a"} I hope this is right.`, `{"path":"a"}`, ""},
		{"stray fence behind", "{\"path\":\"a\"}\n```", `{"path":"a"}`, ""},
		{"same object again", `{"path":"a"}{"path":"a"}`, `{"path":"a"}`, ""},
		{"same object again, cut", `{"path":"a"}{"path":`, `{"path":"a"}`, ""},
		{"written as a string", `"{\"path\":\"a\"}"`, `{"path":"a"}`, ""},
		{"two objects", `{"path":"a"}{"path":"b"}`, "", "two different objects"},
		{"another object, cut", `{"path":"a"}{"path":"b`, "", "at character 12"},
		{"cut", `{"path":"a`, "", "unexpected end at character 10"},
		{"cut in a fence", "```json\n{\"path\":\"a\n```", "", "character"},
		{"doubled braces", `{{"path":"a"}}`, "", "at character 1"},
		{"prose before", `path is {"path":"a"}`, "", "at character 0"},
		{"list", `[{"path":"a"}]`, "", "not an object"},
		{"wrong type", `{"path":3}`, "", "want string"},
		{"missing", `{}`, "", "missing property 'path'"},
		{"nothing", ``, "", "missing property 'path'"},
		{"unknown field", `{"path":"a","x":1}`, "", "'x' not allowed"},
		{"number as text", `{"path":"a","n":"3"}`, "", "want integer"},
	} {
		got, err := Validate(path, c.in)
		var bad *ArgumentError
		switch {
		case c.fault == "" && (err != nil || string(got) != c.want):
			t.Errorf("%s: %s, error %v", c.name, got, err)
		case c.fault != "" && (!errors.As(err, &bad) || !strings.Contains(err.Error(), c.fault) || !strings.Contains(err.Error(), "{path: string, n?: integer}")):
			t.Errorf("%s: %s, error %v, want one with %q", c.name, got, err, c.fault)
		}
	}
}

func TestToolWithoutArgumentsTakesNone(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "null", "{}", " "} {
		if got, err := Validate(Spec{Name: "list"}, in); err != nil || string(got) != "{}" {
			t.Errorf("%q: %s, error %v", in, got, err)
		}
	}
}

func FuzzValidate(f *testing.F) {
	for _, s := range []string{`{"path":"a"}{"path":`, "```json\n{}\n```", `{"cmd":"rm -rf /tmp/x`, `{{"path":"a"}}`, `"{\"path\":\"a\"}"`, `{"path":"a"} x {`} {
		f.Add(s)
	}
	s, err := schema.Compile(path.Input)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := Validate(path, in)
		if err != nil {
			return
		}
		if err := s.Validate(got); err != nil {
			t.Errorf("%q gave %s: %v", in, got, err)
		}
		var inner string
		if !strings.Contains(in, string(got)) && json.Unmarshal([]byte(strings.TrimSpace(in)), &inner) != nil && !strings.Contains(in, `\`) {
			t.Errorf("%q gave %s, which it does not say", in, got)
		}
	})
}
