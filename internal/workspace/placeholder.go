package workspace

// Placeholder is a {{name}} in a contract's own text.
type Placeholder struct {
	Name string
	Line int // from 1, in the text it was found in
}

// Placeholders lists the {{name}}s of a text in order. Spaces inside the
// braces are allowed.
func Placeholders(text string) []Placeholder { return nil }
