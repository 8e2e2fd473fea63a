package document

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// The bounds of Options.
const (
	defaultMaxBytes = 64 << 20
	defaultMaxText  = 8 << 20
	defaultMaxPages = 2000
	defaultPDFTime  = 2 * time.Minute
	maxHTML         = 16 << 20 // parsed trees take many times the bytes
)

// Reader turns documents into Markdown and keeps what is costly to start.
type Reader struct {
	opt Options
	pdf pdfEngine
}

// NewReader gives a Reader. It starts nothing yet.
func NewReader(opt Options) *Reader {
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = defaultMaxBytes
	}
	if opt.MaxText <= 0 {
		opt.MaxText = defaultMaxText
	}
	if opt.MaxPages <= 0 {
		opt.MaxPages = defaultMaxPages
	}
	if opt.PDFTime <= 0 {
		opt.PDFTime = defaultPDFTime
	}
	return &Reader{opt: opt, pdf: pdfEngine{cache: opt.Cache}}
}

// Text is like the function Text, with this Reader's engine and bounds.
func (r *Reader) Text(ctx context.Context, name string, data []byte) (Doc, error) {
	return r.TextOf(ctx, name, "", data)
}

// TextOf is like Text for bytes that came with a media type, such as an HTTP
// Content-Type header with its charset. The bytes win over a media type that
// contradicts them.
func (r *Reader) TextOf(ctx context.Context, name, mediaType string, data []byte) (Doc, error) {
	if err := ctx.Err(); err != nil {
		return Doc{}, err
	}
	if len(data) > r.opt.MaxBytes {
		return Doc{}, fmt.Errorf("%s has %d bytes, and at most %d are read; split it", name, len(data), r.opt.MaxBytes)
	}
	kind := kindOf(name, mediaType, data)
	if kind == KindPDF {
		doc, err := r.readPDF(ctx, data)
		return r.finish(name, doc, err)
	}
	if t := unsupported(name, data); t != "" {
		return Doc{}, &UnsupportedError{Name: name, Type: t}
	}
	if kind == KindHTML && len(data) > maxHTML {
		return Doc{}, fmt.Errorf("%s has %d bytes, and at most %d of an HTML page are read; split it", name, len(data), maxHTML)
	}
	text, err := decode(mediaType, kind == KindHTML, data)
	if err != nil {
		return Doc{}, fmt.Errorf("%s: %w", name, err)
	}
	doc, err := read(ctx, kind, name, text)
	return r.finish(name, doc, err)
}

// read turns decoded text of a kind into Markdown.
func read(ctx context.Context, kind, name, text string) (Doc, error) {
	switch kind {
	case KindHTML:
		return readHTML(ctx, name, text)
	case KindNotebook:
		return readNotebook(text)
	case KindCSV:
		return readCSV(name, text)
	case KindMarkdown:
		return readMarkdown(text), nil
	case KindSource:
		return readSource(name, text), nil
	}
	return readText(text), nil
}

// finish gives what all kinds have in common: bounds, line ends, a title.
func (r *Reader) finish(name string, doc Doc, err error) (Doc, error) {
	if err != nil {
		return Doc{}, fmt.Errorf("%s: %w", name, err)
	}
	doc.Markdown = tidy(doc.Markdown)
	if len(doc.Markdown) > r.opt.MaxText {
		whole := len(doc.Markdown)
		doc.Markdown = cutAt(doc.Markdown, r.opt.MaxText)
		doc.Cut = join(doc.Cut, fmt.Sprintf("only the first %d of %d bytes of text are given", len(doc.Markdown), whole))
	}
	if doc.Title = oneLine(doc.Title, 200); doc.Title == "" {
		doc.Title = titleFromName(name)
	}
	return doc, nil
}

// Close ends the PDF engine. The Reader can not be used after it.
func (r *Reader) Close() error { return r.pdf.close() }

// tidy brings text to LF line ends and valid UTF-8, without characters that
// have no place in a text.
func tidy(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "").Replace(s)
	s = strings.Trim(s, "\n")
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return s + "\n"
}

// cutAt gives at most max bytes of s, ending at a line where one is near, else
// at a whole character.
func cutAt(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	s = s[:max]
	if i := strings.LastIndexByte(s, '\n'); i > len(s)*3/4 {
		s = s[:i+1]
	}
	return s
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
