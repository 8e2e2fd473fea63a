package prompt

import "io/fs"

// looked remembers what was looked at while one context is built: the inputs
// of a stage lie in the same few folders, and finding out whether a folder is a
// link costs as much as reading a small file. It is for one goroutine.
type looked struct {
	fs.FS
	seen map[string]look
}

type look struct {
	info fs.FileInfo
	err  error
}

func remember(fsys fs.FS) *looked { return &looked{fsys, map[string]look{}} }

// Lstat describes a name without following it, once.
func (l *looked) Lstat(name string) (fs.FileInfo, error) {
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

// ReadFile reads a file whole.
func (l *looked) ReadFile(name string) ([]byte, error) { return fs.ReadFile(l.FS, name) }
