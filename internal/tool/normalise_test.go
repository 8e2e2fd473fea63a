package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestSchemasThatProvidersRefuseAreNormalised(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"nothing", ``, `{"type":"object","properties":{}}`},
		{"true", `true`, `{"type":"object","properties":{}}`},
		{"no type", `{"properties":{"b":{"type":"string"},"a":{"type":"string"}}}`, `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}}}`},
		{"$schema", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		{"type list with null", `{"type":"object","properties":{"a":{"type":["object","null"]},"l":{"type":"array","items":{"type":["string","null"]}}}}`,
			`{"type":"object","properties":{"a":{"type":"object"},"l":{"type":"array","items":{"type":"string"}}}}`},
		{"type list", `{"type":"object","properties":{"a":{"type":["string","integer"],"description":"d","minimum":1}}}`,
			`{"type":"object","properties":{"a":{"description":"d","anyOf":[{"type":"string"},{"type":"integer","minimum":1}]}}}`},
		{"boolean property", `{"type":"object","properties":{"a":true,"b":false},"required":["a","b"]}`,
			`{"type":"object","properties":{"a":{}},"required":["a"]}`},
		{"nullable by anyOf", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}}}`,
			`{"type":"object","properties":{"a":{"default":null,"type":"string"}}}`},
		{"reference", `{"type":"object","properties":{"p":{"$ref":"#/$defs/P","description":"who"}},"$defs":{"P":{"type":"object","properties":{"n":{"type":"string"}}}}}`,
			`{"type":"object","properties":{"p":{"type":"object","properties":{"n":{"type":"string"}},"description":"who"}}}`},
		{"recursion", `{"type":"object","properties":{"t":{"$ref":"#/$defs/T"}},"$defs":{"T":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/T"}}}}}}`,
			`{"type":"object","properties":{"t":{"type":"object","properties":{"kids":{"type":"array","items":{"type":"object"}}}}}}`},
		{"itself", `{"type":"object","properties":{"n":{"$ref":"#"}}}`, `{"type":"object","properties":{"n":{"type":"object","properties":{"n":{"type":"object"}}}}}`},
		{"anyOf at the top", `{"anyOf":[{"type":"object","properties":{"a":{"type":"string"},"c":{"type":"string"}},"required":["a","c"]},{"type":"object","properties":{"b":{"type":"string"},"c":{"type":"string"}},"required":["b","c"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"c":{"type":"string"},"b":{"type":"string"}},"required":["c"]}`},
		{"allOf at the top", `{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"]}`},
		{"const and tuple", `{"type":"object","properties":{"k":{"const":"x"},"t":{"type":"array","prefixItems":[{"type":"string"},{"type":"string"}]}}}`,
			`{"type":"object","properties":{"k":{"enum":["x"],"type":"string"},"t":{"type":"array","items":{"type":"string"}}}}`},
	} {
		got, err := NormaliseSchema(json.RawMessage(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, error %v\nwant %s", c.name, got, err, c.want)
		}
	}
}

func TestSchemasThatCannotBeOfferedAreErrors(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"array","items":`, 300) + `true` + strings.Repeat(`}`, 300)
	var wide strings.Builder
	for i := range 12 { // each refers to the next one four times: 4^11 parts when inlined
		fmt.Fprintf(&wide, `"D%d":{"type":"object","properties":{`, i)
		for j := range 4 {
			fmt.Fprintf(&wide, `"p%d":{"$ref":"#/$defs/D%d"},`, j, min(i+1, 12))
		}
		wide.WriteString(`"z":{"type":"string"}}},`)
	}
	for name, in := range map[string]string{
		"false":           `false`,
		"string":          `{"type":"string"}`,
		"only strings":    `{"anyOf":[{"type":"string"},{"type":"integer"}]}`,
		"from elsewhere":  `{"type":"object","properties":{"a":{"$ref":"https://example.com/x"}}}`,
		"points nowhere":  `{"type":"object","properties":{"a":{"$ref":"#/$defs/X"}}}`,
		"not JSON":        `{"type":`,
		"too deep":        deep,
		"not a schema":    `{"type":7}`,
		"grows too large": `{"type":"object","properties":{"a":{"$ref":"#/$defs/D0"}},"$defs":{` + wide.String() + `"D12":{"type":"string"}}}`,
	} {
		if got, err := NormaliseSchema(json.RawMessage(in)); err == nil {
			t.Errorf("%s: %.200s", name, got)
		}
	}
}

func FuzzNormaliseSchema(f *testing.F) {
	for _, s := range []string{`true`, `{"$ref":"#"}`, `{"anyOf":[{"type":"object"},true]}`, `{"properties":{"a":{"type":["object","null"]}},"allOf":[false]}`, `{"required":[1]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := NormaliseSchema(json.RawMessage(in))
		if err != nil {
			return
		}
		var top struct{ Type string }
		if err := json.Unmarshal(got, &top); err != nil || top.Type != "object" {
			t.Errorf("%s became %s", in, got)
		}
		again, err := NormaliseSchema(got)
		if err != nil {
			t.Errorf("%s became %s, which is refused: %v", in, got, err)
		}
		_ = again
	})
}
