package prompt

import (
	"io/fs"
	"path"
	"time"

	"towpath/internal/workspace"
)

// looked remembers what was looked at while one context is built: the inputs
// of a stage lie in the same few folders, and finding out whether a folder is a
// link costs as much as reading a small file. It is for one goroutine.
type looked struct {
	fs.FS
	seen map[string]look
	read map[string][]byte // files that were read; nil when none is kept
}

type look struct {
	info fs.FileInfo
	err  error
}

// keepsUpTo is the largest file, in bytes, that Remember keeps.
const keepsUpTo = 64 << 10

// Remember gives a view of fsys that looks at each name, and reads each small
// file, once: for going through a whole workspace as it is at one moment. It is
// for one goroutine.
func Remember(fsys fs.FS, w *workspace.Workspace) fs.FS {
	l := remember(fsys, w)
	l.read = map[string][]byte{}
	return l
}

// remember begins with what reading the workspace found out already: where its
// stages lie, links resolved.
func remember(fsys fs.FS, w *workspace.Workspace) *looked {
	if known, ok := fsys.(*looked); ok {
		return known
	}
	l := &looked{FS: fsys, seen: make(map[string]look, 16)}
	for _, st := range w.Stages {
		for dir := st.Dir; dir != "." && dir != ""; dir = path.Dir(dir) {
			if _, ok := l.seen[dir]; ok {
				break
			}
			l.seen[dir] = look{info: folder{}}
		}
	}
	for _, name := range w.Config {
		if dir := path.Dir(name); dir == path.Join(w.Dir, "_config") {
			l.seen[dir] = look{info: folder{}}
			break
		}
	}
	return l
}

// Lstat describes a name without following it, once.
func (l *looked) Lstat(name string) (fs.FileInfo, error) {
	if name == "." {
		return folder{}, nil
	}
	if known, ok := l.seen[name]; ok {
		return known.info, known.err
	}
	info, err := fs.Lstat(l.FS, name)
	l.seen[name] = look{info, err}
	return info, err
}

// ReadLink gives where a link leads.
func (l *looked) ReadLink(name string) (string, error) { return fs.ReadLink(l.FS, name) }

// Stat describes what a name leads to.
func (l *looked) Stat(name string) (fs.FileInfo, error) { return fs.Stat(l.FS, name) }

// ReadDir lists a folder.
func (l *looked) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(l.FS, name) }

// ReadFile reads a file whole. What it gives must not be changed.
func (l *looked) ReadFile(name string) ([]byte, error) {
	if data, ok := l.read[name]; ok {
		return data, nil
	}
	data, err := fs.ReadFile(l.FS, name)
	if err == nil && l.read != nil && len(data) <= keepsUpTo {
		l.read[name] = data
	}
	return data, err
}

// folder describes what is known to be a folder and no link.
type folder struct{}

func (folder) Name() string       { return "." }
func (folder) Size() int64        { return 0 }
func (folder) Mode() fs.FileMode  { return fs.ModeDir | 0o555 }
func (folder) ModTime() time.Time { return time.Time{} }
func (folder) IsDir() bool        { return true }
func (folder) Sys() any           { return nil }
