// Package starter holds the workspaces that init writes.
package starter

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed all:files
var files embed.FS

// Template is a workspace that init can write.
type Template struct {
	Name    string
	Summary string
}

// Templates lists what init can write.
func Templates() []Template {
	return []Template{
		{"course", "from a one-line idea to objectives, notes, outline and drafts"},
		{"blank", "one stage to fill in"},
	}
}

// ErrNotEmpty says that a file of the template is already there.
var ErrNotEmpty = errors.New("a file of that name is already there")

// Write puts the template's files below dir, which is made if it is missing.
// It writes nothing if any of the files exists already.
func Write(dir, name string) error {
	root := path.Join("files", name)
	if _, err := fs.Stat(files, root); err != nil || strings.ContainsAny(name, `/\.`) || name == "" {
		return fmt.Errorf("there is no template %q; the templates are %s", name, names())
	}
	if err := eachFile(root, func(rel string, _ []byte) error {
		if _, err := os.Lstat(filepath.Join(dir, rel)); err == nil {
			return fmt.Errorf("%s: %w; choose an empty folder", filepath.Join(dir, rel), ErrNotEmpty)
		}
		return nil
	}); err != nil {
		return err
	}
	return eachFile(root, func(rel string, data []byte) error {
		target := filepath.Join(dir, rel)
		if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			return fmt.Errorf("making the workspace: %w", err)
		}
		if err := os.WriteFile(target, data, 0o666); err != nil {
			return fmt.Errorf("making the workspace: %w", err)
		}
		return nil
	})
}

func eachFile(root string, do func(rel string, data []byte) error) error {
	return fs.WalkDir(files, root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, p)
		if err != nil {
			return err
		}
		return do(filepath.FromSlash(strings.TrimPrefix(p, root+"/")), data)
	})
}

func names() string {
	var n []string
	for _, t := range Templates() {
		n = append(n, t.Name)
	}
	return strings.Join(n, ", ")
}
