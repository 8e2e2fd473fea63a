// Package library is a folder of the user's own documents that can be searched
// and read without a network. Documents have library: addresses, which are
// slash paths in the folder, percent-encoded, with a heading as fragment:
// library:guide/install.md#first-steps.
//
// A Library is safe for use by several goroutines, and several processes may
// use one folder at once: the index is an SQLite file in the user's cache
// folder that each of them brings up to date. Documents are never written.
package library

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

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
	Clock    func() time.Time      // nil: time.Now
}

// Hit is a place in a document that answers a query.
type Hit struct {
	Address string  // library: address, with the heading it lies under
	Title   string  // of the document, with the heading
	Snippet string  // a few words around the place, plain text, one line
	Score   float64 // higher is better; comparable within one query only
	All     bool    // it has every word of the query
}

// Page is a document as read.
type Page struct {
	Address  Address // of the document, with the anchor that was asked for if it is there
	NoAnchor string  // anchor that was asked for and is not there
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
	switch len(e.Nearest) {
	case 0:
		return s + "; it is empty"
	case 1:
		return s + "; nearest is " + e.Nearest[0]
	}
	return s + "; nearest are " + strings.Join(e.Nearest, ", ")
}

// Library is an open library.
type Library struct {
	opt    Options
	folder string // absolute, links resolved
	root   *os.Root

	mu     sync.Mutex // held while the index is opened or brought up to date
	ix     *index
	closed bool
}

// Open checks that the folder is there. It reads no document and makes no
// index yet.
func Open(opt Options) (*Library, error) {
	if opt.Reader == nil {
		return nil, errors.New("opening the library: there is no reader of documents")
	}
	if opt.MaxFiles <= 0 {
		opt.MaxFiles = defaultMaxFiles
	}
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = defaultMaxBytes
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.Progress == nil {
		opt.Progress = func(int, int) {}
	}
	folder, err := filepath.Abs(opt.Folder)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(folder); err == nil && !info.IsDir() {
			err = errors.New("it is not a folder")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the library %s cannot be opened: %w; make the folder, or name another", opt.Folder, cause(err))
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("the library %s cannot be opened: %w", opt.Folder, cause(err))
	}
	return &Library{opt: opt, folder: folder, root: root}, nil
}

// Folder is the absolute path of the library's folder, with links resolved.
func (l *Library) Folder() string { return l.folder }

// Read gives the document at an address, which may lack the "library:". Letter
// case in the path matters only where two documents differ by it alone. The
// error is an *AddressError, a *NotFoundError, or says why the document cannot
// be read.
func (l *Library) Read(ctx context.Context, address string) (Page, error) {
	at, err := ParseAddress(address)
	if err != nil {
		return Page{}, err
	}
	name, err := l.locate(ctx, at)
	if err != nil {
		return Page{}, err
	}
	data, _, err := l.readFile(name)
	if err != nil {
		return Page{}, fmt.Errorf("%s cannot be read: %w", Address{Path: name}, cause(err))
	}
	doc, err := l.opt.Reader.Text(ctx, name, data)
	if err != nil {
		return Page{}, err
	}
	page := Page{Address: Address{Path: name}, Title: doc.Title, Markdown: doc.Markdown, Kind: doc.Kind, Cut: doc.Cut}
	if at.Anchor != "" {
		if s, _, ok := document.Find(document.Outline(doc.Markdown), at.Anchor); ok {
			page.Address.Anchor = s.Anchor
		} else {
			page.NoAnchor = at.Anchor
		}
	}
	return page, nil
}

// locate finds the file that an address means.
func (l *Library) locate(ctx context.Context, at Address) (string, error) {
	info, err := l.root.Stat(at.Path)
	if err == nil && info.Mode().IsRegular() && !hidden(at.Path) {
		return at.Path, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !outside(err) {
		return "", fmt.Errorf("%s cannot be read: %w", at, cause(err))
	}
	files, err := l.walk(ctx, &passed{})
	if err != nil {
		return "", err
	}
	same := ""
	for _, f := range files {
		if strings.EqualFold(f.path, at.Path) {
			if same != "" {
				same = ""
				break
			}
			same = f.path
		}
	}
	if same != "" {
		return same, nil
	}
	return "", &NotFoundError{Address: Address{Path: at.Path}.String(), Nearest: nearest(at.Path, files, 5)}
}

// hidden says that some element of a path begins with a dot.
func hidden(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(part, ".") {
			return true
		}
	}
	return false
}

// outside says that an error came from a link that leads out of the folder, or
// from a path that can be no file; for a reader there is nothing there.
func outside(err error) bool {
	s := err.Error()
	return strings.Contains(s, "path escapes") || strings.Contains(s, "not a directory") || strings.Contains(s, "too long") || strings.Contains(s, "too many levels")
}

// Addresses lists the addresses of all documents, sorted by path.
func (l *Library) Addresses(ctx context.Context) ([]string, error) {
	files, err := l.walk(ctx, &passed{})
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(files))
	for _, f := range files {
		out = append(out, Address{Path: f.path}.String())
	}
	return out, nil
}

// Close lets the folder and the index go.
func (l *Library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	err := l.root.Close()
	if l.ix != nil {
		err = errors.Join(err, l.ix.close())
	}
	return err
}

// Nearest gives the addresses whose names are most like a text, such as an
// address that leads elsewhere; best first, at most n.
func (l *Library) Nearest(ctx context.Context, text string, n int) []string {
	files, err := l.walk(ctx, &passed{})
	if err != nil {
		return nil
	}
	text = strings.TrimRight(text, "/")
	if i := strings.Index(text, "://"); i >= 0 {
		text = text[i+3:]
	}
	return nearest(text, files, n)
}
