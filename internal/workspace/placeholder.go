package workspace

import (
	"strings"
)

var placeholder = pattern(`\{\{\s*[\p{L}\p{N}_.-]+\s*\}\}`)

// Placeholder is a {{name}} in a contract's own text.
type Placeholder struct {
	Name string
	Line int // from 1, in the text it was found in
}

// Placeholders lists the {{name}}s of a text in order. Spaces inside the
// braces are allowed.
func Placeholders(text string) []Placeholder {
	var out []Placeholder
	for _, m := range placeholder().FindAllStringIndex(text, -1) {
		out = append(out, Placeholder{
			Name: strings.TrimSpace(text[m[0]+2 : m[1]-2]),
			Line: 1 + strings.Count(text[:m[0]], "\n"),
		})
	}
	return out
}
