package prompt

import (
	"fmt"
	"strings"

	"towpath/internal/workspace"
)

// Missing is an input that is not there.
type Missing struct {
	Input workspace.Input `json:"-"`
	File  string          `json:"file"`            // display path of the contract
	Line  int             `json:"line"`            // of the input in the contract
	Path  string          `json:"path"`            // display path where the input is expected
	Maker string          `json:"maker,omitempty"` // name of the stage that makes it, "" if none
	Mend  string          `json:"mend"`
}

// MissingError lists every required input of a stage that is not there.
type MissingError struct {
	Stage string
	List  []Missing
}

// Error names all of them in one sentence, each with its place and its mend.
func (e *MissingError) Error() string {
	var b strings.Builder
	for i, m := range e.List {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s:%d: input %s is missing; %s", m.File, m.Line, m.Path, m.Mend)
	}
	return b.String()
}

// The codes of a FileError.
const (
	CodeUnreadable = "unreadable-input"
	CodeNotText    = "not-text"
	CodeEncoding   = "encoding" // text, but not UTF-8
	CodeTooLarge   = "too-large"
	CodeConflict   = "merge-conflict"
	CodeNoSection  = "no-section"
)

// FileError says why a file cannot be part of a prompt.
type FileError struct {
	File    string // display path of the contract that asks for it
	Line    int    // of the input in the contract, 0 where no line applies
	Path    string // display path of the file
	Code    string // one of the codes below
	Message string // what is wrong, without the path
	Mend    string
	Err     error // the cause, may be nil
}

// Error gives place, path, cause and mend as one sentence.
func (e *FileError) Error() string {
	s := e.Path + " " + e.Message
	if e.File != "" {
		s = fmt.Sprintf("%s:%d: %s", e.File, e.Line, s)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Mend != "" {
		s += "; " + e.Mend
	}
	return s
}

// Unwrap gives the cause.
func (e *FileError) Unwrap() error { return e.Err }

// PlaceholderError lists the placeholders of a contract that have no value.
type PlaceholderError struct {
	File string // display path of the contract
	List []workspace.Placeholder
}

// Error names each with its line.
func (e *PlaceholderError) Error() string {
	var b strings.Builder
	for i, p := range e.List {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s:%d: placeholder {{%s}} has no value; %s", e.File, p.Line, p.Name, MendPlaceholder(p.Name))
	}
	return b.String()
}
