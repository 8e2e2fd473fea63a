package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"towpath/internal/durable"
	"towpath/internal/workspace"
)

// Copy makes a second workspace of the one at from: every file but outputs,
// history and version control, the same to the byte. to must not exist, or be
// an empty folder. It gives the number of files. After an error nothing is left
// at to.
func Copy(from, to string) (int, error) {
	tree, dir, err := durable.OpenTree(from)
	if err != nil {
		return 0, err
	}
	w, err := workspace.Load(tree.FS(), dir, workspace.Options{})
	if err != nil {
		return 0, err
	}
	if entries, err := os.ReadDir(to); err == nil && len(entries) > 0 {
		return 0, fmt.Errorf("%s is there and not empty; choose another name", to)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("looking at %s: %w", to, err)
	}
	source := filepath.Join(tree.Root(), filepath.FromSlash(dir))
	if inside(source, to) {
		return 0, fmt.Errorf("%s lies inside the workspace that is to be copied; choose a place outside it", to)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return 0, fmt.Errorf("making the copy: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(to), ".towpath-new-*")
	if err != nil {
		return 0, fmt.Errorf("making the copy: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return 0, fmt.Errorf("making the copy: %w", err)
	}
	c := copier{source: source, target: tmp, outputs: map[string]bool{}}
	for _, st := range w.Stages {
		c.outputs[filepath.Join(tree.Root(), filepath.FromSlash(st.OutputDir()))] = true
	}
	if err := filepath.WalkDir(source, c.visit); err != nil {
		return 0, fmt.Errorf("copying the workspace: %w", err)
	}
	_ = os.Remove(to) // an empty folder, else the rename says what is wrong
	if err := os.Rename(tmp, to); err != nil {
		return 0, fmt.Errorf("making the copy: %w", err)
	}
	return c.files, nil
}

func inside(dir, p string) bool {
	d, err1 := filepath.Abs(dir)
	q, err2 := filepath.Abs(p)
	return err1 == nil && err2 == nil && (q == d || strings.HasPrefix(q, d+string(filepath.Separator)))
}

type copier struct {
	source, target string
	outputs        map[string]bool // folders whose contents stay behind
	files          int
}

func (c *copier) visit(p string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(c.source, p)
	if err != nil {
		return err
	}
	target := filepath.Join(c.target, rel)
	switch {
	case rel == "history" || d.Name() == ".git":
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case c.outputs[filepath.Dir(p)]:
		if d.Name() != ".gitkeep" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
	}
	switch {
	case d.IsDir():
		return os.MkdirAll(target, 0o777)
	case d.Type()&fs.ModeSymlink != 0:
		return c.link(p, target)
	case d.Type().IsRegular():
		c.files++
		return copyFile(p, target)
	}
	return fmt.Errorf("%s is neither a file nor a folder; move it out of the workspace", p)
}

// link copies a link that stays in the workspace as it is; another one would
// point somewhere else from its new place.
func (c *copier) link(p, target string) error {
	to, err := os.Readlink(p)
	if err != nil {
		return err
	}
	if filepath.IsAbs(to) || !inside(c.source, filepath.Join(filepath.Dir(p), to)) {
		return fmt.Errorf("%s links to %s outside the workspace; replace the link by the file", p, to)
	}
	c.files++
	return os.Symlink(to, target)
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm())
}
