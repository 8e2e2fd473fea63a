// Package prompt builds what one call of a stage is sent: layer by layer, the
// same bytes for the same files, with an estimate of its tokens. It is pure:
// it reads an fs.FS, keeps no state, and may be used by several goroutines.
//
// The layout is plain headings. A file stands under a heading with its path,
// and nothing is put around its text: small models copy fences and tags into
// their own reply, and every wrapper costs tokens. A byte order mark is taken
// off and CRLF becomes LF, so that a checkout on Windows gives the same prompt.
package prompt

import (
	"towpath/internal/workspace"
)

// MaxFile is the size in bytes above which a file is refused as an input.
const MaxFile = 8 << 20

// Part is a file's place in a context.
type Part struct {
	Path    string          `json:"path"` // as the heading above it names it: workspace path, or repository path outside the workspace
	Section string          `json:"section,omitempty"`
	Layer   workspace.Layer `json:"layer"`
	Bytes   int             `json:"bytes"`             // of Text
	Tokens  int             `json:"tokens"`            // estimate for Text
	Hash    string          `json:"hash"`              // SHA-256 of the file's bytes, hex; "" when pending
	Pending string          `json:"pending,omitempty"` // the stage that has yet to make it
	Base    workspace.Base  `json:"base,omitempty"`
	Text    string          `json:"-"` // as it stands in the prompt
}

// Context is what one call is sent.
type Context struct {
	System string            `json:"system"`
	User   string            `json:"user"`
	Parts  []Part            `json:"parts"`  // in the order in which they stand in the prompt
	Tokens int               `json:"tokens"` // estimate for System and User with what a chat template adds
	Hash   string            `json:"hash"`   // SHA-256 of System, a zero byte, and User
	Files  map[string]string `json:"files"`  // every file whose change makes the stage stale: workspace path -> SHA-256
}

// Options are the things about a call that are not in the contract.
type Options struct {
	Item      *workspace.Item   // the item of a for-each, nil without one
	Total     int               // number of items
	Earlier   []Summary         // titles and first sentences of the items before it
	Vars      map[string]string // [vars] of the settings
	Rejection *Rejection        // what a person refused, and why

	// Project turns a file that is not plain text (PDF, HTML, ipynb, CSV) into
	// text. Nil: what is not text is refused, the others go in as they are.
	Project func(name string, data []byte) (string, error)

	// Probe looks ahead: an input that an earlier stage has yet to make becomes
	// a Part with Pending set in place of an error, and placeholders that have
	// no value stay as written.
	Probe bool
}

// Summary stands for an earlier item.
type Summary struct {
	Title    string
	Sentence string
}

// Rejection is an output that a person sent back.
type Rejection struct {
	Output string // its text
	Reason string
}
