package prompt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"towpath/internal/workspace"
)

// MaxTotal is the size in bytes above which the files of one context are
// refused together.
const MaxTotal = 64 << 20

// read fills a part with the text of a file, or of a section of it.
func (b *builder) read(p *Part, name string, in workspace.Input) error {
	b.seen[place{name, in.Section}] = true
	data, err := b.load(name, in)
	if err != nil {
		return err
	}
	p.Hash = hash(data)
	b.files[p.Path] = p.Hash
	if b.hashOnly {
		return nil
	}
	text, err := b.text(name, data, in)
	if err != nil {
		return err
	}
	if in.Section != "" {
		section, _, ok := workspace.SectionOf([]byte(text), in.Section)
		if !ok {
			return b.fault(name, in, CodeNoSection, fmt.Sprintf("has no section %q", in.Section), "correct the section's name or add its heading", nil)
		}
		text = trim(section)
	}
	p.setText(text)
	return nil
}

func (p *Part) setText(text string) {
	p.Text = text
	p.Bytes = len(text)
	p.Tokens = Estimate(text)
}

// load reads a file whole, within the bounds. What Resolve looked at is known:
// it is not asked again, and what is no regular file is never opened.
func (b *builder) load(name string, in workspace.Input) ([]byte, error) {
	tooLarge := func() error {
		return b.fault(name, in, CodeTooLarge, fmt.Sprintf("is larger than %d MiB", MaxFile>>20), "name a part of it that the stage needs", nil)
	}
	if known, ok := b.fsys.seen[name]; ok && known.err == nil {
		if !known.info.Mode().IsRegular() {
			return nil, b.fault(name, in, CodeUnreadable, "is not a regular file", "name a file", nil)
		}
		if known.info.Size() > MaxFile {
			return nil, tooLarge()
		}
	}
	data, err := b.fsys.ReadFile(name)
	if err != nil {
		return nil, b.unreadable(name, in, err)
	}
	if len(data) > MaxFile {
		return nil, tooLarge()
	}
	if b.size += int64(len(data)); b.size > MaxTotal {
		return nil, b.fault(name, in, CodeTooLarge, fmt.Sprintf("takes the inputs of this stage over %d MiB together", MaxTotal>>20), "name fewer files", nil)
	}
	return data, nil
}

func (b *builder) unreadable(name string, in workspace.Input, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err // the path is named already, as people know it
	}
	return b.fault(name, in, CodeUnreadable, "cannot be read", "check that it is there and its permissions", err)
}

func (b *builder) fault(name string, in workspace.Input, code, message, mend string, err error) error {
	e := &FileError{Path: b.w.Display(name), Code: code, Message: message, Mend: mend, Err: err}
	if in.Line > 0 {
		e.File, e.Line = b.w.Display(b.st.Contract.Path), in.Line
	}
	return e
}

// text gives a file's text as a prompt holds it.
func (b *builder) text(name string, data []byte, in workspace.Input) (string, error) {
	kind := kindOf(data)
	if b.opt.Project != nil && (kind != "" || projected(name)) {
		text, err := b.opt.Project(name, data)
		if err != nil {
			return "", b.fault(name, in, CodeNotText, "cannot be turned into text", "name a text file in its place", err)
		}
		return clean(text), nil
	}
	if kind != "" {
		code := CodeNotText
		if kind == kindUTF16 || kind == kindOtherText {
			code = CodeEncoding
		}
		return "", b.fault(name, in, code, "is not text but "+kind, "name a text file in its place", nil)
	}
	text := clean(string(data))
	if line := conflict(text); line > 0 {
		return "", b.fault(name, in, CodeConflict, fmt.Sprintf("holds an unresolved merge conflict at line %d", line), "resolve it first", nil)
	}
	return text, nil
}

// itemText gives an item's block as a prompt holds it.
func (b *builder) itemText(it *workspace.Item) (string, error) {
	var in workspace.Input
	if f := b.st.Contract.ForEach; f != nil {
		in.Line = f.Line
	}
	name := it.File
	if it.Line > 0 {
		name = "" // a piece of a file, cut out of it as text already
	}
	return b.text(name, []byte(it.Text), in)
}

// clean takes off a byte order mark and blank lines at both ends, and makes
// line ends LF: a checkout with other line ends is the same text.
func clean(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	return trim(text)
}

func trim(text string) string {
	return strings.TrimLeft(strings.TrimRight(text, " \t\n"), "\n")
}

// projected reports text formats that read better when projected.
func projected(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".html", ".htm", ".xhtml", ".ipynb", ".csv", ".tsv":
		return true
	}
	return false
}

// The kinds that are text all the same.
const (
	kindUTF16     = "UTF-16 text"
	kindOtherText = "text in an encoding other than UTF-8"
)

// kindOf names what data is when it is not UTF-8 text, with its article; else
// it is "".
func kindOf(data []byte) string {
	for _, m := range []struct{ magic, kind string }{
		{"%PDF-", "a PDF document"},
		{"\x89PNG", "a PNG image"},
		{"\xff\xd8\xff", "a JPEG image"},
		{"GIF8", "a GIF image"},
		{"PK\x03\x04", "a ZIP archive or an Office document"},
		{"\xd0\xcf\x11\xe0", "an old Office document"},
		{"\x1f\x8b", "a gzip archive"},
		{"SQLite format 3\x00", "an SQLite database"},
		{"\x7fELF", "a program"},
		{"MZ\x90\x00", "a program"},
		{"\xff\xfe", kindUTF16},
		{"\xfe\xff", kindUTF16},
		{"OggS", "Ogg sound"},
		{"ID3", "MP3 sound"},
	} {
		if bytes.HasPrefix(data, []byte(m.magic)) {
			return m.kind
		}
	}
	switch {
	case len(data) > 12 && bytes.HasPrefix(data, []byte("RIFF")) && bytes.Equal(data[8:12], []byte("WEBP")):
		return "a WebP image"
	case len(data) > 12 && bytes.Equal(data[4:8], []byte("ftyp")):
		return "a video"
	case bytes.IndexByte(data, 0) >= 0:
		return "binary data"
	case !utf8.Valid(data):
		return kindOtherText
	}
	return ""
}

// conflict gives the line of a merge conflict that is still in a text, or 0.
// Conflicts quoted in code fences are examples.
func conflict(text string) int {
	if !strings.HasPrefix(text, "<<<<<<< ") && !strings.Contains(text, "\n<<<<<<< ") {
		return 0
	}
	line, at, middle, fence := 0, 0, false, false
	for s := range strings.Lines(text) {
		line++
		switch {
		case strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~"):
			fence = !fence
		case fence:
		case strings.HasPrefix(s, "<<<<<<< "):
			at, middle = line, false
		case at > 0 && strings.TrimRight(s, "\n") == "=======":
			middle = true
		case middle && strings.HasPrefix(s, ">>>>>>> "):
			return at
		}
	}
	return 0
}
