package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"towpath/internal/durable"
	"towpath/internal/workspace"
)

// target is one file that a stage declares; with {{n}} or {{item}} in the name
// there is one for each item.
type target struct {
	output int    // index in the contract's Outputs
	item   int    // from 1; 0 where the file is not an item's own
	path   string // tree path
	show   string // as people see it
}

// found is a target as it is on disk.
type found struct {
	target
	there bool // a regular file with something in it
	data  []byte
	hash  string // of data, "" if not there
	why   string // why it does not count: "is missing", "is empty", ...
}

// The reasons for which nothing is lost when an output is written.
const (
	whyMissing = "is missing"
	whyEmpty   = "is empty"
)

// targets lists the files that a stage declares. Without its items (the source
// of the for-each is not there) the names with a placeholder stand for every
// file of their pattern that exists.
func (e *Engine) targets(st *workspace.Stage) ([]target, error) {
	var items []workspace.Item
	known := true
	if st.Contract.ForEach != nil && perItem(st) {
		list, err := e.cfg.Workspace.Items(e.fsys, st)
		items, known = list.Items, err == nil
	}
	return e.targetsOf(st, items, known)
}

func perItem(st *workspace.Stage) bool {
	for _, o := range st.Contract.Outputs {
		if o.PerItem() {
			return true
		}
	}
	return false
}

func (e *Engine) targetsOf(st *workspace.Stage, items []workspace.Item, known bool) ([]target, error) {
	var all []target
	add := func(output, item int, p string) {
		all = append(all, target{output, item, p, e.show(p)})
	}
	for i, o := range st.Contract.Outputs {
		if err := e.mayWrite(st, o); err != nil {
			return nil, err
		}
		switch {
		case !o.PerItem():
			add(i, 0, o.Path)
		case known:
			for n, p := range itemPaths(o, items) {
				add(i, n+1, p)
			}
		default:
			for _, p := range e.matching(o) {
				add(i, 0, p)
			}
		}
	}
	return all, nil
}

// mayWrite refuses an output outside the stage's own output folder, unless the
// user's settings allow it.
func (e *Engine) mayWrite(st *workspace.Stage, o workspace.Output) error {
	if strings.HasPrefix(path.Clean(o.Path), st.OutputDir()+"/") {
		return e.mayFollow(st, o)
	}
	if e.cfg.MayWrite != nil && e.cfg.MayWrite(o.Path) {
		return nil
	}
	return usage("write it to output/, or list it under write in your own settings",
		"%s:%d: output %s lies outside the stage's output/", e.show(st.Contract.Path), o.Line, o.Name)
}

// mayFollow refuses an output whose folder is reached through a link that leads
// out of the stage's own output folder, as it would be refused if the contract
// named that place.
func (e *Engine) mayFollow(st *workspace.Stage, o workspace.Output) error {
	home, err := e.cfg.Tree.Resolve(st.Dir)
	if err != nil {
		return fmt.Errorf("looking at stage %s: %w", st.Name, err)
	}
	real, err := e.cfg.Tree.Resolve(path.Dir(path.Clean(o.Path)))
	if err != nil {
		return fmt.Errorf("looking at output %s: %w", o.Name, err)
	}
	own := path.Join(home, path.Base(st.OutputDir()))
	if real == own || strings.HasPrefix(real, own+"/") || e.cfg.MayWrite != nil && e.cfg.MayWrite(real) {
		return nil
	}
	return usage("replace the link by a folder, or list that place under write in your own settings",
		"%s:%d: output %s goes through a link to %s, outside the stage's output/", e.show(st.Contract.Path), o.Line, o.Name, e.show(real))
}

// itemPaths gives the tree path of each item's file. Two titles that make one
// name are told apart by the item's number.
func itemPaths(o workspace.Output, items []workspace.Item) []string {
	taken := map[string]bool{}
	paths := make([]string, len(items))
	for i, it := range items {
		slug := workspace.Slug(it.Title)
		p := fillName(o.Path, i+1, slug)
		for n := i + 1; taken[strings.ToLower(p)]; n++ {
			p = fillName(o.Path, i+1, slug+"-"+strconv.Itoa(n))
		}
		taken[strings.ToLower(p)] = true
		paths[i] = p
	}
	return paths
}

func fillName(name string, n int, slug string) string {
	return strings.NewReplacer("{{n}}", strconv.Itoa(n), "{{item}}", slug).Replace(name)
}

// matching lists the files that could have come from a name with placeholders.
func (e *Engine) matching(o workspace.Output) []string {
	pattern := strings.NewReplacer("{{n}}", "*", "{{item}}", "*").Replace(o.Path)
	all, err := fs.Glob(e.fsys, pattern)
	if err != nil || len(all) == 0 {
		return []string{o.Path} // counts as a file that is missing
	}
	var files []string
	for _, p := range all {
		if !workspace.IgnoredFile(path.Base(p)) {
			files = append(files, p)
		}
	}
	return files
}

// look reads a target. That it does not count as done is no error.
func (e *Engine) look(t target) (found, error) {
	f := found{target: t}
	info, err := fs.Lstat(e.fsys, t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.why = whyMissing
		return f, nil
	case err != nil:
		return f, fmt.Errorf("looking at output %s: %w", t.show, err)
	case info.Mode()&fs.ModeSymlink != 0:
		f.why = "is a link, not a regular file"
		return f, nil
	case !info.Mode().IsRegular():
		f.why = "is not a regular file"
		return f, nil
	}
	f.data, err = e.cfg.Tree.ReadFile(t.path)
	if err != nil {
		return f, fmt.Errorf("reading output %s: %w", t.show, err)
	}
	if len(bytes.TrimSpace(f.data)) == 0 {
		f.why = whyEmpty
		return f, nil
	}
	f.hash = durable.Hash(f.data)
	f.there = true
	return f, nil
}

// lookAll reads every target of a stage; all says that the stage is done by
// its files.
func (e *Engine) lookAll(st *workspace.Stage) (files []found, all bool, err error) {
	ts, err := e.targets(st)
	if err != nil {
		return nil, false, err
	}
	all = len(ts) > 0
	for _, t := range ts {
		f, err := e.look(t)
		if err != nil {
			return nil, false, err
		}
		all = all && f.there
		files = append(files, f)
	}
	return files, all, nil
}

// mergeMarker gives the line of the first conflict that a merge left in a text,
// 0 if there is none. A marker counts only with the two that belong to it.
func mergeMarker(data []byte) int {
	start, middle := 0, false
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSuffix(line, "\r")
		switch {
		case strings.HasPrefix(line, "<<<<<<< ") && start == 0:
			start = i + 1
		case line == "=======" && start > 0:
			middle = true
		case strings.HasPrefix(line, ">>>>>>> ") && middle:
			return start
		}
	}
	return 0
}

// undeclared lists the files in a stage's output folder that no contract line
// names.
func (e *Engine) undeclared(st *workspace.Stage, files []found) []string {
	declared := map[string]bool{}
	for _, f := range files {
		declared[f.path] = true
	}
	var other []string
	_ = fs.WalkDir(e.fsys, st.OutputDir(), func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == st.OutputDir() {
			return nil // what cannot be read cannot be named
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir // such as .surrendered
		}
		if !d.IsDir() && !declared[p] && !workspace.IgnoredFile(d.Name()) {
			other = append(other, e.show(p))
		}
		return nil
	})
	return other
}

func (e *Engine) show(treePath string) string { return e.cfg.Workspace.Display(treePath) }
