package durable

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxLinks is how many links one name may pass through.
const maxLinks = 40

// Resolve gives the name without links of what name leads to: absolute links
// into the tree are translated, links that lead out of it are refused. The end
// of the name need not exist, unless a link led there.
func (t *Tree) Resolve(name string) (string, error) {
	if err := checkName("follow", name); err != nil {
		return "", err
	}
	return t.resolve("follow", name)
}

// part is one element of a path that is still to be walked, with the link that
// it came from.
type part struct{ name, link string }

func (t *Tree) resolve(op, name string) (string, error) {
	if t.fast.plain(name) {
		return name, nil
	}
	todo := parts(name, "")
	var done []string // link-free
	links := 0
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		switch p.name {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", &FileError{Op: op, Path: name, Kind: ErrLeavesLink, Link: p.link}
			}
			done = done[:len(done)-1]
			continue
		}
		here := path.Join(path.Join(done...), p.name)
		st, err := t.lstat(here)
		if err != nil {
			if !notThere(err) {
				return "", fileError(op, name, err)
			}
			if p.link != "" {
				return "", &FileError{Op: op, Path: name, Kind: ErrDangling, Link: p.link, Err: fs.ErrNotExist}
			}
			done = append(done, p.name)
			continue
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			done = append(done, p.name)
			continue
		}
		if links++; links > maxLinks {
			return "", &FileError{Op: op, Path: name, Kind: ErrLoop, Link: here}
		}
		target, err := t.root.Readlink(native(here))
		if err != nil {
			return "", fileError(op, name, err)
		}
		if filepath.IsAbs(target) {
			in, ok := t.inside(target)
			if !ok {
				return "", &FileError{Op: op, Path: name, Kind: ErrLeavesLink, Link: here}
			}
			done = nil
			target = in
		}
		todo = append(parts(filepath.ToSlash(target), here), todo...)
	}
	if len(done) == 0 {
		return ".", nil
	}
	return path.Join(done...), nil
}

func parts(name, link string) []part {
	var ps []part
	for _, n := range strings.Split(name, "/") {
		ps = append(ps, part{n, link})
	}
	return ps
}

// inside translates an absolute path into a slash path from the root, if it
// leads into the tree. The path may reach the root under another name (a
// linked home, /tmp on a Mac), so its existing part is looked at too.
func (t *Tree) inside(abs string) (string, bool) {
	if rel, ok := below(t.path, abs); ok {
		return rel, true
	}
	rest := ""
	for at := filepath.Clean(abs); ; {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return below(t.path, filepath.Join(real, rest))
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", false
		}
		up := filepath.Dir(at)
		if up == at {
			return "", false
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = up
	}
}

// below gives what follows root in abs, without interpreting "..".
func below(root, abs string) (string, bool) {
	if abs == root {
		return ".", true
	}
	rest, ok := strings.CutPrefix(abs, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))
	return filepath.ToSlash(rest), ok
}
