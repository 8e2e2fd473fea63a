package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"towpath/internal/app"
	"towpath/internal/prompt"
)

// contextCost builds the prompt of a stage: resolving its inputs, reading,
// hashing and counting them, joining the text. One turn is many builds, as a
// single one is too short to time.
func contextCost(b *bench) (table, error) {
	dir, err := b.course("context")
	if err != nil {
		return table{}, err
	}
	a, err := app.Open(b.ctx, app.Options{Path: dir, WorkDir: b.dir, Environ: b.environ()})
	if err != nil {
		return table{}, err
	}
	defer a.Close()
	st, err := a.Workspace.Stage("03-outline")
	if err != nil {
		return table{}, err
	}
	fsys := a.Tree.FS()
	first, err := prompt.Build(fsys, a.Workspace, st, prompt.Options{})
	if err != nil {
		return table{}, err
	}
	names := slices.Sorted(maps.Keys(first.Files)) // the workspace is the tree's root or below it
	const each = 20
	repeat := func(f func() error) *side {
		return &side{run: func() error {
			for range each {
				if err := f(); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	build := repeat(func() error { _, err := prompt.Build(fsys, a.Workspace, st, prompt.Options{}); return err })
	guarded := repeat(func() error {
		for _, n := range names {
			if _, err := a.Tree.ReadFile(filepath.ToSlash(filepath.Join(a.Dir, n))); err != nil {
				return err
			}
		}
		return nil
	})
	bare := repeat(func() error {
		for _, n := range names {
			if _, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(n))); err != nil {
				return err
			}
		}
		return nil
	})
	if err := alternate(b.turns(200), build, guarded, bare); err != nil {
		return table{}, err
	}
	return table{title: fmt.Sprintf("Assembling a context of %d tokens against reading its %d files", first.Tokens, len(names)), rows: []row{
		{"against os.ReadFile", ms(build.median() / each), ms(bare.median() / each), times(pairwise(build, bare)), "at most 2 times"},
		{"against a run's own way of reading", ms(build.median() / each), ms(guarded.median() / each), times(pairwise(build, guarded)), ""},
	}}, nil
}
