package prompt

import (
	"io/fs"

	"towpath/internal/workspace"
)

// Build gives the context of one call of stage st. With a *MissingError the
// Context is whole but for the inputs that it lists; with any other error it
// is nil. Other kinds: *FileError (not text, too large, unreadable, no such
// section) and *PlaceholderError. Inputs that are optional and not there are
// left out.
func Build(fsys fs.FS, w *workspace.Workspace, st *workspace.Stage, opt Options) (*Context, error) {
	return &Context{}, nil
}

// OutputRequest is the user message that asks for output n (from 1) of
// several, after the first: the text of Build already asks for output 1.
func OutputRequest(st *workspace.Stage, n int) string { return Options{}.OutputRequest(st, n) }

// OutputRequest is OutputRequest for an item of a for-each.
func (o Options) OutputRequest(st *workspace.Stage, n int) string { return "" }

// Summarise gives the summary of an item's result for the items after it: the
// item's title, and the first sentence of the text below its headings.
func Summarise(title, text string) Summary { return Summary{Title: title} }

// Substitute replaces {{name}} by its value, once: what a value holds is not
// looked at again, and a name without a value stays as written.
func Substitute(text string, vars map[string]string) string { return text }

// Placeholder is a {{name}} in a contract.
type Placeholder struct {
	Name string
	Line int // from 1, in the text that was searched
}

// Mend says what to do about a placeholder that has no value.
func (p Placeholder) Mend() string { return "" }

// Placeholders finds every {{name}} of text, in order.
func Placeholders(text string) []Placeholder { return nil }

// Unresolved gives the placeholders of a stage's contract that nothing will
// fill in, with their lines in the contract.
func Unresolved(st *workspace.Stage, vars map[string]string) []Placeholder { return nil }

// Estimate gives the number of tokens of text, within 15 % of what the
// o200k_base tokenizer counts on prose, code and tables. It is an estimate.
func Estimate(text string) int { return len(text) / 4 }

// Tool is a tool as it will be offered, for EstimateTools.
type Tool struct {
	Name        string
	Description string
	Schema      []byte // JSON Schema of its arguments
}

// EstimateTools gives the tokens that offering these tools adds to a prompt.
func EstimateTools(tools []Tool) int { return 0 }
