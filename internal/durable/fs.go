package durable

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// FS shows the tree as an fs.FS that can also read links (fs.ReadLinkFS), list
// folders, and stat and read files. Opening never leaves the root; ReadLink
// gives an absolute link that points into the tree as a relative one.
func (t *Tree) FS() fs.FS { return treeFS{t} }

type treeFS struct{ t *Tree }

var (
	_ fs.ReadLinkFS = treeFS{}
	_ fs.ReadDirFS  = treeFS{}
	_ fs.StatFS     = treeFS{}
	_ fs.ReadFileFS = treeFS{}
)

func (f treeFS) Open(name string) (fs.File, error) {
	file, err := f.t.open("open", name)
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (f treeFS) ReadFile(name string) ([]byte, error) { return f.t.ReadFile(name) }

func (f treeFS) Stat(name string) (fs.FileInfo, error) { return f.t.Stat(name) }

func (f treeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	d, err := f.t.open("list", name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.ReadDir(-1)
	if err != nil {
		return nil, fileError("list", name, err)
	}
	sortEntries(list)
	return list, nil
}

func (f treeFS) Lstat(name string) (fs.FileInfo, error) {
	if err := checkName("look at", name); err != nil {
		return nil, err
	}
	// As in open, the plain way first: links above the last part that are
	// absolute or lead out are rare.
	if st, err := f.t.lstat(name); err == nil {
		return st, nil
	}
	real, err := f.t.parent("look at", name)
	if err != nil {
		return nil, err
	}
	st, err := f.t.lstat(real)
	if err != nil {
		return nil, fileError("look at", name, err)
	}
	return st, nil
}

func (f treeFS) ReadLink(name string) (string, error) {
	real, err := f.t.parent("follow", name)
	if err != nil {
		return "", err
	}
	target, err := f.t.root.Readlink(native(real))
	if err != nil {
		return "", fileError("follow", name, err)
	}
	if !filepath.IsAbs(target) {
		return filepath.ToSlash(target), nil
	}
	in, ok := f.t.inside(target)
	if !ok {
		return filepath.ToSlash(target), nil
	}
	up := strings.Repeat("../", strings.Count(real, "/"))
	return path.Clean(up + in), nil
}

// parent resolves the links of all but the last part of name.
func (t *Tree) parent(op, name string) (string, error) {
	if err := checkName(op, name); err != nil {
		return "", err
	}
	dir, base := path.Split(name)
	if dir == "" {
		return name, nil
	}
	real, err := t.resolve(op, path.Clean(dir))
	if err != nil {
		return "", err
	}
	return path.Join(real, base), nil
}

// resolveToWrite is resolve for a name that is to be written: nothing in a .git
// folder ever is, since what stands there (hooks, the name of a pager) starts
// programs.
func (t *Tree) resolveToWrite(op, name string) (string, error) {
	real, err := t.resolve(op, name)
	if err == nil && inGit(real) {
		err = &FileError{Op: op, Path: name, Kind: ErrGit}
	}
	return real, err
}

// parentToWrite is parent with the same care.
func (t *Tree) parentToWrite(op, name string) (string, error) {
	real, err := t.parent(op, name)
	if err == nil && inGit(real) {
		err = &FileError{Op: op, Path: name, Kind: ErrGit}
	}
	return real, err
}

// inGit reports whether a slash path passes through a folder that git takes for
// its own, by whatever name a file system may know it.
func inGit(name string) bool {
	for _, part := range strings.Split(name, "/") {
		part = strings.TrimRight(part, ". ")
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1") {
			return true
		}
	}
	return false
}
