package library

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"towpath/internal/workspace"
)

const (
	defaultMaxFiles = 20_000
	defaultMaxBytes = 64 << 20
	maxTotal        = 4 << 30 // bytes of all documents
	maxPassed       = 20      // reasons that a Report holds
)

// file is a document in the folder.
type file struct {
	path  string // slash path
	size  int64
	mtime int64 // nanoseconds since 1970
}

// passed gathers what was passed over, with reasons, bounded.
type passed struct {
	list []string
	more int
}

func (p *passed) add(name, format string, a ...any) {
	if len(p.list) >= maxPassed {
		p.more++
		return
	}
	p.list = append(p.list, name+": "+fmt.Sprintf(format, a...))
}

func (p *passed) all() []string {
	if p.more > 0 {
		return append(p.list, fmt.Sprintf("and %d more", p.more))
	}
	return p.list
}

// walk lists the documents, sorted by path. Hidden files and folders, editors'
// files, links and what is too large are passed over.
func (l *Library) walk(ctx context.Context, pass *passed) ([]file, error) {
	var out []file
	var total int64
	err := fs.WalkDir(l.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if name == "." {
				return err
			}
			if !errors.Is(err, fs.ErrNotExist) { // gone since it was listed
				pass.add(name, "it cannot be read (%v)", cause(err))
			}
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if name == "." {
			return nil
		}
		if d.IsDir() {
			if ignoredFolder(d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			pass.add(fmt.Sprintf("%q", name), "its name cannot be an address")
			return nil
		}
		if strings.HasPrefix(d.Name(), ".") || workspace.IgnoredFile(d.Name()) {
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			pass.add(name, "links are not followed; put the document itself there")
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil // gone since it was listed
		}
		if info.Size() > l.opt.MaxBytes {
			pass.add(name, "it has %d bytes, more than the %d that are read", info.Size(), l.opt.MaxBytes)
			return nil
		}
		if len(out) >= l.opt.MaxFiles || total+info.Size() > maxTotal {
			pass.add(name, "the library has too many documents; at most %d with %d bytes in all are indexed", l.opt.MaxFiles, int64(maxTotal))
			return nil
		}
		total += info.Size()
		out = append(out, file{path: name, size: info.Size(), mtime: info.ModTime().UnixNano()})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing the library %s: %w", l.folder, err)
	}
	slices.SortFunc(out, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return out, nil
}

// ignoredFolder names folders that hold no documents.
func ignoredFolder(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "__pycache__"
}

// readFile reads a document, bounded, never leaving the folder.
func (l *Library) readFile(name string) ([]byte, fs.FileInfo, error) {
	f, err := l.root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "read", Path: name, Err: errNotFile}
	}
	data, err := io.ReadAll(io.LimitReader(f, l.opt.MaxBytes+1))
	if err != nil {
		return nil, nil, err
	}
	if int64(len(data)) > l.opt.MaxBytes {
		return nil, nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has more than %d bytes", l.opt.MaxBytes)}
	}
	return data, info, nil
}

var errNotFile = errors.New("it is not a file")

// cause gives the bare reason of a file error.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// nearest gives the addresses that are most like a path, best first.
func nearest(want string, files []file, n int) []string {
	type scored struct {
		path  string
		score float64
	}
	var all []scored
	for _, f := range files {
		if s := likeness(want, f.path); s > 0 {
			all = append(all, scored{f.path, s})
		}
	}
	slices.SortFunc(all, func(a, b scored) int {
		if a.score != b.score {
			if a.score > b.score {
				return -1
			}
			return 1
		}
		return strings.Compare(a.path, b.path)
	})
	var out []string
	for _, s := range all[:min(len(all), n)] {
		out = append(out, Address{Path: s.path}.String())
	}
	return out
}

// likeness compares two paths, 0 for nothing in common. The last element
// counts most; letters count by their pairs, so that order and typing errors
// matter little.
func likeness(a, b string) float64 {
	a, b = strings.ToLower(a), strings.ToLower(b)
	base := func(s string) string { s = path.Base(s); return strings.TrimSuffix(s, path.Ext(s)) }
	return 2*dice(base(a), base(b)) + dice(a, b)
}

// dice is the share of letter pairs that two texts have in common.
func dice(a, b string) float64 {
	pairs := map[[2]rune]int{}
	ra, rb := []rune(a), []rune(b)
	if len(ra) < 2 || len(rb) < 2 {
		if a == b {
			return 1
		}
		return 0
	}
	for i := 0; i+1 < len(ra); i++ {
		pairs[[2]rune{ra[i], ra[i+1]}]++
	}
	common := 0
	for i := 0; i+1 < len(rb); i++ {
		if p := [2]rune{rb[i], rb[i+1]}; pairs[p] > 0 {
			pairs[p]--
			common++
		}
	}
	return 2 * float64(common) / float64(len(ra)+len(rb)-2)
}
