package document

import (
	"context"
	"fmt"
)

// Reader turns documents into Markdown and keeps what is costly to start.
type Reader struct {
	opt Options
}

// NewReader gives a Reader. It starts nothing yet.
func NewReader(opt Options) *Reader {
	return &Reader{opt: opt}
}

// Text is like the function Text, with this Reader's engine and bounds.
func (r *Reader) Text(ctx context.Context, name string, data []byte) (Doc, error) {
	return r.TextOf(ctx, name, "", data)
}

// TextOf is like Text for bytes that came with a media type, such as an HTTP
// Content-Type header with its charset. The bytes win over a media type that
// contradicts them.
func (r *Reader) TextOf(ctx context.Context, name, mediaType string, data []byte) (Doc, error) {
	return Doc{}, fmt.Errorf("%s: documents cannot be read yet", name)
}

// Close ends the PDF engine. The Reader can not be used after it.
func (r *Reader) Close() error { return nil }
