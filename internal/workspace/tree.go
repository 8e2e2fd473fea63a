package workspace

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

var (
	errOutside = errors.New("leads out of the repository")
	errLoop    = errors.New("is a loop of links")
)

// tree looks into a file system: links are resolved first, step by step, so
// that none leads out and none is followed for ever.
type tree struct{ fsys fs.FS }

func newTree(fsys fs.FS) tree { return tree{fsys} }

const maxLinks = 40

// real resolves every link in a tree path. An absolute target and one above
// the root are errOutside, more than maxLinks links are errLoop.
func (t tree) real(name string) (string, fs.FileInfo, error) {
	name = path.Clean(name)
	if !fs.ValidPath(name) {
		return "", nil, errOutside
	}
	if info, linked, err := t.plain(name); !linked {
		if err != nil {
			return "", nil, err
		}
		return name, info, nil
	}
	links := 0
	rest := strings.Split(name, "/")
	done := "."
	var info fs.FileInfo
	var err error
	for len(rest) > 0 {
		head := rest[0]
		rest = rest[1:]
		switch head {
		case "", ".":
			continue
		case "..":
			if done == "." {
				return "", nil, errOutside
			}
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, head)
		if info, err = fs.Lstat(t.fsys, next); err != nil {
			return "", nil, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", nil, errLoop
		}
		target, err := fs.ReadLink(t.fsys, next)
		if err != nil {
			return "", nil, err
		}
		target = strings.ReplaceAll(target, `\`, "/")
		if path.IsAbs(target) || strings.Contains(target, ":/") {
			return "", nil, errOutside
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if info, err = fs.Lstat(t.fsys, done); err != nil {
		return "", nil, err
	}
	return done, info, nil
}

// plain looks at a clean path part by part, under its own spelling: most paths
// pass through no link, and a context resolves many. linked says that this one
// does.
func (t tree) plain(name string) (info fs.FileInfo, linked bool, err error) {
	for end := 0; end < len(name); {
		part := strings.IndexByte(name[end+1:], '/')
		if part < 0 {
			end = len(name)
		} else {
			end += 1 + part
		}
		info, err = fs.Lstat(t.fsys, name[:end])
		if err != nil {
			return nil, false, err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return nil, true, nil
		}
	}
	return info, false, nil
}

// list reads a folder, sorted by the bytes of the names.
func (t tree) list(dir string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(t.fsys, dir)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// loose finds a path whose names differ from the given ones only by Unicode
// form or letter case. caseOnly says that the case differs.
func (t tree) loose(name string) (found string, caseOnly bool, err error) {
	done := "."
	for _, seg := range strings.Split(path.Clean(name), "/") {
		if seg == ".." {
			return "", false, errOutside
		}
		if seg == "." || seg == "" {
			continue
		}
		if _, err := fs.Lstat(t.fsys, path.Join(done, seg)); err != nil {
			other, cased := t.match(done, seg)
			if other == "" {
				return "", false, fs.ErrNotExist
			}
			seg, caseOnly = other, caseOnly || cased
		}
		real, _, err := t.real(path.Join(done, seg))
		if err != nil {
			return "", false, err
		}
		done = real
	}
	return done, caseOnly, nil
}

func (t tree) match(dir, seg string) (name string, caseOnly bool) {
	entries, err := t.list(dir)
	if err != nil {
		return "", false
	}
	want := norm.NFC.String(seg)
	for _, e := range entries {
		if norm.NFC.String(e.Name()) == want {
			return e.Name(), false
		}
	}
	for _, e := range entries {
		if strings.EqualFold(norm.NFC.String(e.Name()), want) {
			return e.Name(), true
		}
	}
	return "", false
}

// maxFiles bounds what a folder or a glob may bring.
const maxFiles = 10000

// files lists the regular files below a folder, links resolved and each once,
// by the bytes of their paths. Hidden ones and editors' own do not count. A
// link that leads out is passed over.
func (t tree) files(dir string) []string {
	w := filesWalk{tree: t, seen: map[string]bool{}}
	w.dir(dir, 0)
	var out []string
	for _, v := range w.visits {
		out = append(out, v.real)
	}
	return sortedUnique(out)
}

// visit is a file met on a walk: under which path, and where it really is.
type visit struct{ seen, real string }

type filesWalk struct {
	tree
	seen   map[string]bool // folders by real path
	visits []visit
	steps  int
	hidden bool // go into hidden folders too
}

func (w *filesWalk) dir(at string, depth int) { w.walk(at, at, depth) }

func (w *filesWalk) walk(shown, real string, depth int) {
	if depth > 32 || w.seen[real] || len(w.visits) >= maxFiles {
		return
	}
	w.seen[real] = true
	entries, err := w.list(real)
	if err != nil {
		return
	}
	for _, e := range entries {
		if w.steps++; w.steps > 10*maxFiles {
			return
		}
		if IgnoredFile(e.Name()) || !w.hidden && strings.HasPrefix(e.Name(), ".") || e.Name() == ".git" {
			continue
		}
		at, info, err := w.real(path.Join(real, e.Name()))
		if err != nil {
			continue
		}
		name := path.Join(shown, e.Name())
		if info.IsDir() {
			w.walk(name, at, depth+1)
		} else if info.Mode().IsRegular() {
			w.visits = append(w.visits, visit{name, at})
		}
	}
}

func sortedUnique(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}
