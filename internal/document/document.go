// Package document turns the bytes of a file or a page into Markdown that a
// model can read: HTML, PDF, notebooks, CSV, Markdown, plain text and source.
//
// A Reader is safe for use by several goroutines. It owns the PDF engine,
// which it starts with the first PDF and ends with Close. Nothing here touches
// the file system but the engine's compiled form in Options.Cache.
package document

import (
	"context"
	"fmt"
	"time"
)

// Kinds of documents, as Doc.Kind gives them.
const (
	KindMarkdown = "markdown"
	KindHTML     = "html"
	KindPDF      = "pdf"
	KindNotebook = "notebook"
	KindCSV      = "csv"
	KindSource   = "source" // program text and configuration, given in one code block
	KindText     = "text"
)

// Doc is a document as Markdown.
type Doc struct {
	Title    string // as the document states it, else made from its name; never empty
	Markdown string // LF line ends, valid UTF-8
	Kind     string // one of the Kind constants
	Cut      string // what was left out, and why, in one clause; "" if nothing was
}

// Options bound a Reader. A zero field takes its default.
type Options struct {
	Cache    string        // folder that keeps the compiled PDF engine between processes; "": none is kept
	MaxBytes int           // largest document, bytes; default 64 MiB
	MaxText  int           // longest Markdown, bytes; default 8 MiB. What is over is cut and said in Doc.Cut
	MaxPages int           // most pages of a PDF that are read; default 2,000
	PDFTime  time.Duration // longest time on one PDF; default 2 minutes
}

// UnsupportedError says that a document is of a type that has no text form
// here.
type UnsupportedError struct {
	Name string // of the document
	Type string // in words: "PNG image", "ZIP archive"
}

// Error gives the cause and the mend.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s is a %s, which cannot be read as text; use a Markdown, HTML, PDF, notebook, CSV or text file instead", e.Name, e.Type)
}

// interpretBelow is the size, in bytes, below which one PDF alone is read
// sooner by interpreting the engine than by compiling it.
const interpretBelow = 256 << 10

// Text reads one document with a Reader of its own. Whoever reads several
// PDFs keeps a Reader instead, because starting the PDF engine takes about a
// second.
//
// name is the document's file name or address; its ending decides where the
// bytes alone do not. The error is an *UnsupportedError for a type that has no
// text form; others say that the document is damaged or too large.
func Text(ctx context.Context, name string, data []byte) (Doc, error) {
	r := NewReader(Options{})
	r.pdf.interpret = len(data) < interpretBelow
	doc, err := r.Text(ctx, name, data)
	if cerr := r.Close(); err == nil && cerr != nil {
		err = cerr
	}
	return doc, err
}
