package prompt

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"towpath/internal/workspace"
)

// onDisk writes the course with its results below a fresh folder.
func onDisk(b *testing.B) (fs.FS, *workspace.Workspace, *workspace.Stage) {
	b.Helper()
	dir, from := b.TempDir(), course(b)
	if err := os.CopyFS(filepath.Join(dir, "w"), from); err != nil {
		b.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Join(dir, "w")) // as a run opens it
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { root.Close() })
	fsys := root.FS()
	w := load(b, fsys)
	return fsys, w, stage(b, w, "02-research")
}

// BenchmarkBuild assembles the context of a stage; BenchmarkRead reads the same
// files and does nothing else. The first is to stay within twice the second.
func BenchmarkBuild(b *testing.B) {
	fsys, w, st := onDisk(b)
	for b.Loop() {
		if _, err := Build(fsys, w, st, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead is the floor of BenchmarkBuild.
func BenchmarkRead(b *testing.B) {
	fsys, w, st := onDisk(b)
	c, err := Build(fsys, w, st, Options{})
	if err != nil {
		b.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(c.Files))
	for b.Loop() {
		for _, name := range names {
			if _, err := fs.ReadFile(fsys, name); err != nil {
				b.Fatal(err)
			}
		}
	}
}
