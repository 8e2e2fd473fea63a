package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// OutsideError says that a path is refused: it leaves the tree, by itself or
// through a link, or its links run in a circle.
type OutsideError struct {
	Written string // as the contract has it
	File    string // the contract
	Line    int
	Reason  string // "leaves the repository", "is a link that leads out of the repository", ...
}

// Error says which path is refused, and where it is written.
func (e *OutsideError) Error() string {
	return fmt.Sprintf("%s:%d: the input %s %s: name a file inside it, or copy the file in", e.File, e.Line, e.Written, e.Reason)
}

// Resolve turns an input of a stage into files. The path is tried from the
// stage's folder, the workspace, the tree's root and the folder of the stages,
// then once more ignoring letter case. Nothing there is not an error: Missing
// is set, and Path says where the file is expected. The error is an
// *OutsideError when the path leaves the tree. That a section is in the file
// is not looked at here (see SectionOf), but for Scope: it becomes the
// Section of the resolved input if the one file has it. What lies in the
// stage's own output/ is always optional.
func (w *Workspace) Resolve(fsys fs.FS, st *Stage, in Input) (Resolved, error) {
	r := resolver{bases{newTree(fsys), st.Dir, w.Dir, w.Container}, w, st, in}
	res, err := r.resolve()
	if err != nil {
		return Resolved{Input: in}, err
	}
	res.Maker = w.maker(res.Path)
	res.Layer = in.Layer
	if !in.LayerSet {
		res.Layer = LayerReference
		if res.Maker != nil || inOutput(res.Path) || st.holds(res.Path, "input.md") || w.stageInput(res.Path) {
			res.Layer = LayerWorking
		}
	}
	res.Input.Layer = res.Layer
	if res.Maker == st && st != nil {
		res.Input.Optional = true // what the stage itself made before
	}
	if in.Scope != "" && in.Section == "" && len(res.Files) == 1 && isMarkdown(res.Files[0]) {
		if src, err := fs.ReadFile(fsys, res.Files[0]); err == nil {
			if _, _, ok := SectionOf(src, in.Scope); ok {
				res.Input.Section, res.Input.Scope = in.Scope, ""
			}
		}
	}
	return res, nil
}

type resolver struct {
	bases
	w  *Workspace
	st *Stage
	in Input
}

func (r resolver) refuse(reason string) error {
	return &OutsideError{Written: r.in.Written, File: r.st.Contract.Path, Line: r.in.Line, Reason: reason}
}

func (r resolver) resolve() (Resolved, error) {
	written := strings.TrimSpace(r.in.Written)
	if strings.HasPrefix(written, "~/") || len(written) > 2 && written[1] == ':' && (written[2] == '\\' || written[2] == '/') {
		return Resolved{}, r.refuse("lies outside the repository")
	}
	for c := range r.each(written) { // lazily: the first is mostly the one
		res, ok, err := r.exact(c)
		if ok || err != nil {
			return res, err
		}
	}
	tries := r.try(written)
	if len(tries) == 0 {
		return Resolved{}, r.refuse("leaves the repository")
	}
	if pattern, ok := globOf(written); ok {
		for _, c := range r.try(pattern) {
			if files := r.glob(c.path); len(files) > 0 {
				return Resolved{Input: r.in, Base: c.base, Path: c.path, Files: files}, nil
			}
		}
		if strings.ContainsAny(pattern, "*?") {
			return r.missing(tries), nil
		}
	}
	for _, c := range tries {
		found, caseOnly, err := r.loose(c.path)
		if errors.Is(err, errOutside) || errors.Is(err, errLoop) {
			return Resolved{}, r.refuse(linkReason(err))
		}
		if err != nil {
			continue
		}
		if res, ok, err := r.exact(basedPath{c.base, found}); ok && err == nil {
			res.CaseOnly = caseOnly
			return res, nil
		}
	}
	if pattern, ok := standIn(written); ok {
		for _, c := range r.try(pattern) {
			if files := r.glob(c.path); len(files) == 1 {
				return Resolved{Input: r.in, Base: c.base, Path: files[0], Files: files}, nil
			}
		}
	}
	if strings.HasPrefix(written, "/") && !r.exists("/"+firstOf(strings.TrimLeft(written, "/"))) {
		return Resolved{}, r.refuse("lies outside the repository")
	}
	return r.missing(tries), nil
}

func firstOf(p string) string {
	first, _, _ := strings.Cut(p, "/")
	return first
}

func linkReason(err error) string {
	if errors.Is(err, errLoop) {
		return "is a link that leads back to itself"
	}
	return "is a link that leads out of the repository"
}

// exact takes a path as it is: a file, or a folder with something in it.
func (r resolver) exact(c basedPath) (Resolved, bool, error) {
	real, info, err := r.real(c.path)
	if errors.Is(err, errOutside) || errors.Is(err, errLoop) {
		return Resolved{}, false, r.refuse(linkReason(err))
	}
	if err != nil {
		return Resolved{}, false, nil
	}
	res := Resolved{Input: r.in, Base: c.base, Path: c.path}
	switch {
	case info.IsDir():
		res.Files = r.files(real)
		res.Missing = len(res.Files) == 0
	case info.Mode().IsRegular():
		res.Files = []string{real}
	default:
		return Resolved{}, false, r.refuse("is neither a file nor a folder")
	}
	return res, true, nil
}

// missing says where the file is expected: in the output/ of the stage that
// makes it, else where the folder is there already, else by the first base.
func (r resolver) missing(tries []basedPath) Resolved {
	best := tries[0]
	for _, c := range tries {
		if m := r.w.maker(c.path); m != nil {
			best = c
			return Resolved{Input: r.in, Base: best.base, Path: best.path, Missing: true}
		}
	}
	for _, c := range tries {
		if r.has(path.Dir(c.path)) && path.Dir(c.path) != "." {
			best = c
			break
		}
	}
	return Resolved{Input: r.in, Base: best.base, Path: best.path, Missing: true}
}

// maker is the stage in whose output/ a path lies.
func (w *Workspace) maker(p string) *Stage {
	for _, s := range w.Stages {
		if rest, ok := s.under(p); ok && (rest == "output" || strings.HasPrefix(rest, "output/")) {
			return s
		}
	}
	return nil
}

func (w *Workspace) stageInput(p string) bool {
	for _, s := range w.Stages {
		if s.holds(p, "input.md") {
			return true
		}
	}
	return false
}

// under gives what follows the stage's folder in a clean tree path.
func (s *Stage) under(p string) (string, bool) {
	if s.Dir == "." {
		return p, true
	}
	rest, ok := strings.CutPrefix(p, s.Dir)
	if !ok || len(rest) < 2 || rest[0] != '/' {
		return "", false
	}
	return rest[1:], true
}

func (s *Stage) holds(p, name string) bool {
	rest, ok := s.under(p)
	return ok && rest == name
}

// inOutput: the output/ of a stage of any workspace.
func inOutput(p string) bool {
	segs := strings.Split(p, "/")
	for i := 1; i < len(segs); i++ {
		if segs[i] == "output" {
			if _, _, ok := stageOf(segs[i-1]); ok {
				return true
			}
		}
	}
	return false
}

var (
	ranges   = pattern(`^[!^]?(?:.-.)+$`)
	standIns = pattern(`<[^<>/]{1,60}>|\[[^\[\]/]{1,60}\]|\{[^{}/]{1,60}\}|YYYY-MM-DD|YYYYMMDD`)
)

// globOf gives the pattern of a path with *, ?, {a,b} or a character class.
// ok is false for a plain path and for one with names to fill in: [slug].
func globOf(p string) (string, bool) {
	if strings.Contains(p, "{{") {
		return "", false
	}
	glob := strings.ContainsAny(p, "*?")
	for _, m := range standIns().FindAllString(p, -1) {
		switch m[0] {
		case '{':
			glob = glob || strings.Contains(m, ",")
		case '[':
			glob = glob || len(m) <= 5 || ranges().MatchString(m[1:len(m)-1])
		}
	}
	if !glob {
		return "", false
	}
	if q, ok := standIn(p); ok && strings.ContainsAny(p, "*?") {
		p = q
	}
	return p, doublestar.ValidatePattern(p)
}

// standIn makes a pattern of a path with names to fill in: {slug}, <slug>,
// [course-slug].
func standIn(p string) (string, bool) {
	if strings.Contains(p, "{{") {
		return "", false
	}
	q := standIns().ReplaceAllStringFunc(p, func(m string) string {
		if m[0] == '{' && strings.Contains(m, ",") || m[0] == '[' && ranges().MatchString(m[1:len(m)-1]) {
			return m
		}
		return "*"
	})
	return q, q != p && doublestar.ValidatePattern(q)
}

// glob lists the files that a pattern of tree paths matches. A folder that
// matches brings the files below it.
func (r resolver) glob(pattern string) []string {
	base, rest := doublestar.SplitPattern(pattern)
	real, info, err := r.real(base)
	if err != nil || !info.IsDir() {
		return nil
	}
	hidden := strings.HasPrefix(rest, ".") || strings.Contains(rest, "/.")
	if !strings.Contains(rest, "/") { // one folder: no need to walk
		return r.globFolder(real, rest, hidden)
	}
	w := filesWalk{tree: r.tree, seen: map[string]bool{}, hidden: hidden}
	w.walk(".", real, 0)
	var out []string
	for _, v := range w.visits {
		if matches(rest, v.seen) {
			out = append(out, v.real)
		}
	}
	return sortedUnique(out)
}

// matches reports whether a pattern matches a path or a folder above it.
func matches(pattern, p string) bool {
	for p != "." && p != "/" {
		if ok, err := doublestar.Match(pattern, p); ok && err == nil {
			return true
		}
		p = path.Dir(p)
	}
	return false
}

func (r resolver) globFolder(dir, pattern string, hidden bool) []string {
	entries, err := r.list(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		n := e.Name()
		if IgnoredFile(n) || !hidden && strings.HasPrefix(n, ".") {
			continue
		}
		if ok, err := doublestar.Match(pattern, n); !ok || err != nil {
			continue
		}
		real, info, err := r.real(path.Join(dir, n))
		switch {
		case err != nil:
		case info.IsDir():
			out = append(out, r.files(real)...)
		case info.Mode().IsRegular():
			out = append(out, real)
		}
	}
	return sortedUnique(out)
}
