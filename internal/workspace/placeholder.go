package workspace

var placeholder = pattern(`\{\{\s*[\p{L}\p{N}_.-]+\s*\}\}`)

// Placeholder is a {{name}} in a contract's own text.
type Placeholder struct {
	Name string
	Line int // from 1, in the text it was found in
}
