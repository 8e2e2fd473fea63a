// Package library is a folder of the user's own documents that can be searched
// and read without a network. Documents have library: addresses, which are
// slash paths in the folder, percent-encoded, with a heading as fragment:
// library:guide/install.md#first-steps.
//
// A Library is safe for use by several goroutines, and several processes may
// use one folder at once: the index is an SQLite file in the user's cache
// folder that each of them brings up to date.
package library

import (
	"context"
	"fmt"
	"strings"

	"towpath/internal/document"
)

// Options say where a library lies. A zero bound takes its default.
type Options struct {
	Folder   string                // of the documents
	Cache    string                // folder for the index; one file per library is made in it
	Reader   *document.Reader      // reads the documents; the caller closes it
	MaxFiles int                   // most files that are indexed; default 20,000
	MaxBytes int64                 // largest file, bytes; default 64 MiB. Larger ones are passed over
	Progress func(done, total int) // called while documents are read into the index; may be nil
}

// Hit is a place in a document that answers a query.
type Hit struct {
	Address string  // library: address, with the heading it lies under
	Title   string  // of the document, with the heading
	Snippet string  // a few words around the place, plain text, one line
	Score   float64 // higher is better; comparable within one query only
}

// Page is a document as read.
type Page struct {
	Address  string // canonical address of the document, with the anchor that was asked for if it exists
	Path     string // slash path in the folder
	Anchor   string // heading that was asked for, "" if none
	Title    string
	Markdown string
	Kind     string // of document.Doc
	Cut      string // of document.Doc
}

// Report says what bringing the index up to date did.
type Report struct {
	Files   int      // documents in the index now
	Changed int      // read anew
	Removed int      // no longer there
	Passed  []string // files that were passed over, each with the reason, bounded
}

// NotFoundError says that the library has no such document.
type NotFoundError struct {
	Address string
	Nearest []string // addresses that it has, best first, at most 5
}

// Error names the nearest addresses.
func (e *NotFoundError) Error() string {
	s := fmt.Sprintf("the library has no document %s", e.Address)
	if len(e.Nearest) > 0 {
		s += "; it has " + strings.Join(e.Nearest, ", ")
	}
	return s
}

// Library is an open library.
type Library struct {
	opt Options
}

// Open checks that the folder is there. It reads no document yet.
func Open(opt Options) (*Library, error) { return &Library{opt: opt}, nil }

// Refresh brings the index up to date with the folder. Search and Read do so
// by themselves.
func (l *Library) Refresh(ctx context.Context) (Report, error) { return Report{}, nil }

// Search finds the places that answer query best, at most max. Any text is a
// good query; one without a single word is an error. No hit is no error.
func (l *Library) Search(ctx context.Context, query string, max int) ([]Hit, error) {
	return nil, fmt.Errorf("the library cannot be searched yet")
}

// Read gives the document at an address, which may lack the "library:". The
// error is a *NotFoundError when the library does not have it.
func (l *Library) Read(ctx context.Context, address string) (Page, error) {
	return Page{}, &NotFoundError{Address: address}
}

// Addresses lists the addresses of all documents, sorted.
func (l *Library) Addresses(ctx context.Context) ([]string, error) { return nil, nil }

// Close lets the index go.
func (l *Library) Close() error { return nil }
