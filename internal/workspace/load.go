package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Options are what the user's settings add to reading a workspace.
type Options struct {
	// Synonyms adds words for sections to the built-in table. The key is the
	// canonical name ("inputs", "process", "outputs", ...), the values are
	// headings that mean it, in any language.
	Synonyms map[string][]string
	// Vars are what [vars] of the settings defines. They are put into the
	// paths of inputs, outputs and the source of a for-each here; in the
	// process text only when a prompt is built.
	Vars map[string]string
}

// ErrNoWorkspace says that a folder holds no numbered stages.
var ErrNoWorkspace = errors.New("no workspace")

// Load reads the workspace whose folder is dir (a tree path). What is wrong
// with its files is in Problems, of the workspace and of each contract; an
// error means that there is no workspace to speak of (errors.Is
// ErrNoWorkspace) or that the folder could not be read.
func Load(fsys fs.FS, dir string, opt Options) (*Workspace, error) {
	t := newTree(fsys)
	real, info, err := t.real(dir)
	if err != nil {
		return nil, fmt.Errorf("read the workspace %s: %w", dir, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is a file: give the folder of a workspace: %w", dir, ErrNoWorkspace)
	}
	container, folders := t.container(real)
	if container == "" {
		return nil, fmt.Errorf("%s has no numbered stage folders with a CONTEXT.md, in it or in pipeline/, stages/ or phases/: %w", dir, ErrNoWorkspace)
	}
	w := &Workspace{Dir: real, Container: container}
	if w.Identity = t.named(real, "CLAUDE.md"); w.Identity == "" {
		w.Identity = t.named(real, "AGENTS.md")
	}
	w.Routing = t.named(real, "CONTEXT.md")
	if p, info, err := t.real(path.Join(real, "_config")); err == nil && info.IsDir() {
		w.Config = t.files(p)
	}
	for _, p := range []string{w.Identity, w.Routing} {
		w.checkText(t, p)
	}
	w.checkNamed(t, real)
	l := loader{tree: t, w: w, words: newVocabulary(opt.Synonyms), opt: opt}
	for _, f := range folders {
		l.stage(f)
	}
	// Whether a path exists is asked of the tree by every contract: parse them
	// once all stages are known.
	for _, st := range w.Stages {
		l.parse(st)
	}
	w.checkNames(folders)
	return w, nil
}

type loader struct {
	tree
	w     *Workspace
	words vocabulary
	opt   Options
}

func (l *loader) stage(f folder) {
	if f.fault != "" {
		l.w.Problems = append(l.w.Problems, Problem{File: f.dir, Severity: Error, Code: "unreadable",
			Message: "the stage " + f.name + " " + f.fault, Mend: "copy the folder in, or remove the link"})
		return
	}
	if file, why := l.unusable(f.dir, "CONTEXT.md"); f.contract == "" && why != "" {
		l.w.Problems = append(l.w.Problems, Problem{File: file, Severity: Error, Code: "unreadable",
			Message: "the contract of " + f.name + " " + why, Mend: "put a file there"})
		return
	}
	if f.contract == "" {
		l.w.Problems = append(l.w.Problems, Problem{File: f.dir, Severity: Warning, Code: "no-contract",
			Message: f.name + " has a stage's name and no CONTEXT.md, so it was passed over", Mend: "write its contract, or give the folder a name without a number"})
		return
	}
	st := &Stage{Number: f.number, Letter: f.letter, Name: f.name, Dir: f.dir}
	st.Contract.Path = f.contract
	l.w.Stages = append(l.w.Stages, st)
}

func (l *loader) parse(st *Stage) {
	c := &st.Contract
	c.Gate = GateStop
	src, err := fs.ReadFile(l.fsys, c.Path)
	if err != nil {
		c.Problems = append(c.Problems, Problem{File: c.Path, Severity: Error, Code: "unreadable",
			Message: "the contract cannot be read: " + reason(err), Mend: "check the file's permissions"})
		return
	}
	c.Source = src
	b := bases{tree: l.tree, workspace: l.w.Dir, container: l.w.Container, stage: st.Dir}
	asked := map[string]bool{}
	r := reader{c: c, words: l.words, vars: l.opt.Vars, stage: st, dirs: b}
	r.exists = func(p string) bool {
		if known, ok := asked[p]; ok || len(asked) > 2000 {
			return known
		}
		asked[p] = b.exists(p)
		return asked[p]
	}
	r.parse()
}

func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// checkNamed tells of a CLAUDE.md, AGENTS.md or CONTEXT.md that stands in the
// workspace's folder and is not read for what it is.
func (w *Workspace) checkNamed(t tree, dir string) {
	for _, name := range []string{"CLAUDE.md", "AGENTS.md", "CONTEXT.md"} {
		if name == "AGENTS.md" && w.Identity != "" {
			continue
		}
		if file, why := t.unusable(dir, name); why != "" && t.named(dir, name) == "" {
			w.Problems = append(w.Problems, Problem{File: file, Severity: Warning, Code: "unreadable",
				Message: "it " + why + ", so no stage is given its text", Mend: "put a file there, or remove it"})
		}
	}
}

// checkText looks at the encoding of a file that every stage reads.
func (w *Workspace) checkText(t tree, file string) {
	if file == "" {
		return
	}
	src, err := fs.ReadFile(t.fsys, file)
	if err != nil {
		w.Problems = append(w.Problems, Problem{File: file, Severity: Error, Code: "unreadable",
			Message: "the file cannot be read: " + reason(err), Mend: "check the file's permissions"})
		return
	}
	if line, what, ok := readable(src); !ok {
		w.Problems = append(w.Problems, encodingProblem(file, line, what))
	} else if line := conflict(string(src)); line > 0 {
		w.Problems = append(w.Problems, conflictProblem(file, line))
	}
}

// checkNames finds folders and reference files that are one where letter case
// or Unicode form does not count.
func (w *Workspace) checkNames(folders []folder) {
	var names []string
	for _, f := range folders {
		names = append(names, f.dir)
	}
	names = append(names, w.Config...)
	seen := map[string]string{}
	for _, n := range names {
		key := strings.ToLower(norm.NFC.String(n))
		if other, ok := seen[key]; ok && other != n {
			w.Problems = append(w.Problems, Problem{File: n, Severity: Error, Code: "name-twins",
				Message: path.Base(other) + " and " + path.Base(n) + " are one name where letter case or Unicode form does not count",
				Mend:    "rename one of them"})
		}
		seen[key] = n
	}
}

// bases are the folders from which a contract's paths are tried.
type bases struct {
	tree
	stage, workspace, container string
}

type basedPath struct {
	base Base
	path string // tree path
}

// try lists a path from every base, in order, without those that leave the
// tree and without repeats.
func (b bases) try(p string) []basedPath { return slices.Collect(b.each(p)) }

// each gives the paths of try one by one, so that those after the right one
// are never made.
func (b bases) each(p string) iter.Seq[basedPath] {
	p = strings.ReplaceAll(strings.TrimSpace(p), `\`, "/")
	abs := strings.HasPrefix(p, "/")
	p = strings.TrimLeft(p, "/")
	from := [...]struct {
		base Base
		dir  string
		rel  bool // not for a path that begins with a slash
	}{{BaseStage, b.stage, true}, {BaseWorkspace, b.workspace, false}, {BaseRepository, ".", false}, {BaseStages, b.container, true}}
	return func(yield func(basedPath) bool) {
		var given [len(from)]string
		for i, f := range from {
			if abs && f.rel {
				continue
			}
			full := path.Join(f.dir, p)
			if full == ".." || strings.HasPrefix(full, "../") || !fs.ValidPath(full) || slices.Contains(given[:i], full) {
				continue
			}
			given[i] = full
			if !yield(basedPath{f.base, full}) {
				return
			}
		}
	}
}

// exists reports whether something is at a path from any base, letter case
// counted.
func (b bases) exists(p string) bool {
	if p == "" || strings.ContainsAny(p, "\x00\n") {
		return false
	}
	p, _, _ = strings.Cut(p, "§")
	for _, c := range b.try(strings.TrimSpace(p)) {
		if _, _, err := b.real(c.path); err == nil {
			return true
		}
	}
	return false
}

func (b bases) has(p string) bool {
	_, _, err := b.real(p)
	return err == nil
}
