package lint

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"towpath/internal/workspace"
)

// edge says that a stage reads what a stage makes. from and to are places in
// Workspace.Stages.
type edge struct {
	from, to int
	path     string // tree path
	line     int    // of the input in the reader's contract
}

// inputs looks at what a stage reads.
func (l *linter) inputs(i int, st *workspace.Stage) {
	for _, in := range st.Contract.Inputs {
		l.input(i, st, in)
	}
	if f := st.Contract.ForEach; f != nil {
		in := f.Source
		if in.Line == 0 {
			in.Line = f.Line
		}
		in.Optional = false
		l.input(i, st, in)
	}
}

func (l *linter) input(i int, st *workspace.Stage, in workspace.Input) {
	file := st.Contract.Path
	r, err := l.w.Resolve(l.fsys, st, in)
	if err != nil {
		var out *workspace.OutsideError
		if errors.As(err, &out) {
			l.add(workspace.Error, file, in.Line, "outside", outside(err), "name a file inside it, or copy the file in")
		} else {
			l.add(workspace.Error, file, in.Line, "unreadable-input", err.Error(), "")
		}
		return
	}
	for _, name := range r.Files {
		l.used[name] = true
	}
	shown := l.w.Display(r.Path)
	if r.CaseOnly {
		l.add(workspace.Warning, file, in.Line, "case-only", fmt.Sprintf("%s is %s but for letter case", in.Written, shown),
			"write it as the file is named: other systems tell them apart")
	}
	if r.Maker != nil {
		l.edges = append(l.edges, edge{slices.Index(l.w.Stages, r.Maker), i, r.Path, in.Line})
	}
	if r.Missing && !in.Optional {
		l.missing(i, st, in, r)
	}
	if r.Layer == workspace.LayerReference && !r.Missing {
		l.reference(r.Files)
	}
}

// missing reports an input that is not there and that no earlier stage makes.
func (l *linter) missing(i int, st *workspace.Stage, in workspace.Input, r workspace.Resolved) {
	file, shown := st.Contract.Path, l.w.Display(r.Path)
	switch {
	case r.Maker == nil && r.Path == path.Join(st.Dir, "input.md"):
		l.add(workspace.Error, file, in.Line, "missing-input", "input "+shown+" is missing", "write it, or give its text with run --input")
	case r.Maker == nil:
		l.add(workspace.Error, file, in.Line, "missing-input", "input "+shown+" is missing and no earlier stage makes it",
			`make the file, correct the path, or add ", optional"`)
	case slices.Index(l.w.Stages, r.Maker) < i && !makes(r.Maker, r.Path):
		l.add(workspace.Error, file, in.Line, "missing-input", fmt.Sprintf("input %s is missing and %s does not make it", shown, r.Maker.Name),
			fmt.Sprintf("it makes %s: correct the path, or add it to the Outputs there", outputNames(r.Maker)))
	}
}

// makes reports whether a stage declares an output at, below or matching name.
// A name with placeholders may be any file.
func makes(st *workspace.Stage, name string) bool {
	for _, o := range st.Contract.Outputs {
		pattern := o.Path
		if o.PerItem() {
			if path.Dir(pattern) == path.Dir(name) || pattern == name || strings.HasPrefix(pattern, name+"/") {
				return true
			}
			continue
		}
		if strings.EqualFold(pattern, name) || strings.HasPrefix(pattern, name+"/") || strings.HasPrefix(name, pattern+"/") {
			return true
		}
		if ok, err := path.Match(name, pattern); err == nil && ok {
			return true
		}
		if strings.Contains(name, "**") {
			return strings.HasPrefix(pattern, name[:strings.Index(name, "**")])
		}
	}
	return false
}

func outputNames(st *workspace.Stage) string {
	names := make([]string, 0, len(st.Contract.Outputs))
	for _, o := range st.Contract.Outputs {
		names = append(names, o.Name)
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// reference warns of long reference files, once a file.
func (l *linter) reference(files []string) {
	for _, name := range files {
		if l.long[name] {
			continue
		}
		l.long[name] = true
		info, err := fs.Stat(l.fsys, name)
		if err != nil || info.Size() > 1<<20 {
			continue // its size is reported elsewhere
		}
		data, err := fs.ReadFile(l.fsys, name)
		if err != nil {
			continue
		}
		if n := lines(data); n > maxReference {
			l.add(workspace.Warning, name, maxReference+1, "long-reference", fmt.Sprintf("the reference has %d lines", n),
				fmt.Sprintf("keep it within %d: split it, or name a section of it (file.md#Heading)", maxReference))
		}
	}
}

// order reports cycles between stages, and inputs that a later stage makes.
func (l *linter) order() {
	in := cycles(len(l.w.Stages), l.edges)
	for _, e := range l.edges {
		st := l.w.Stages[e.to]
		shown := l.w.Display(e.path)
		switch {
		case e.from == e.to:
			l.add(workspace.Error, st.Contract.Path, e.line, "cycle", st.Name+" reads its own output "+shown, "read what an earlier stage makes")
		case e.from > e.to && in[e.from] != 0 && in[e.from] == in[e.to]:
			l.add(workspace.Error, st.Contract.Path, e.line, "cycle",
				fmt.Sprintf("cycle between stages: %s; here %s reads %s, which the later stage %s makes", l.round(e), st.Name, shown, l.w.Stages[e.from].Name),
				"take this input out, or turn their order round")
		case e.from > e.to:
			l.add(workspace.Error, st.Contract.Path, e.line, "later-input",
				fmt.Sprintf("%s reads %s, which the later stage %s makes", st.Name, shown, l.w.Stages[e.from].Name), "turn their order round, or take the input out")
		}
	}
}

// round names the stages of the cycle that an edge closes.
func (l *linter) round(back edge) string {
	came := make([]int, len(l.w.Stages))
	for i := range came {
		came[i] = -1
	}
	queue := []int{back.to}
	came[back.to] = back.to
	for len(queue) > 0 && came[back.from] < 0 {
		at := queue[0]
		queue = queue[1:]
		for _, e := range l.edges {
			if e.from == at && came[e.to] < 0 {
				came[e.to] = at
				queue = append(queue, e.to)
			}
		}
	}
	names := []string{l.w.Stages[back.to].Name}
	for at := back.from; at != back.to && len(names) <= len(l.w.Stages); at = came[at] {
		names = append(names, l.w.Stages[at].Name)
	}
	names = append(names, l.w.Stages[back.to].Name)
	slices.Reverse(names)
	return strings.Join(names, " -> ")
}

// cycles numbers the groups of stages that reach each other; 0 is none.
func cycles(n int, edges []edge) []int {
	reach := make([][]bool, n)
	for i := range reach {
		reach[i] = make([]bool, n)
	}
	next := make([][]int, n)
	for _, e := range edges {
		next[e.from] = append(next[e.from], e.to)
	}
	for i := range n {
		stack := slices.Clone(next[i])
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if !reach[i][at] {
				reach[i][at] = true
				stack = append(stack, next[at]...)
			}
		}
	}
	group := make([]int, n)
	for i := range n {
		for j := range n {
			if i != j && reach[i][j] && reach[j][i] {
				group[i] = min(i, j) + 1
				if k := group[min(i, j)]; k != 0 {
					group[i] = k
				}
				break
			}
		}
	}
	return group
}

// outputs reports files that two stages write.
func (l *linter) outputs() {
	type writer struct {
		st   *workspace.Stage
		line int
	}
	first := map[string]writer{}
	for _, st := range l.w.Stages {
		for _, o := range st.Contract.Outputs {
			key := strings.ToLower(o.Path)
			other, ok := first[key]
			switch {
			case !ok:
				first[key] = writer{st, o.Line}
			case other.st != st: // twice in one stage is the parser's to say
				l.add(workspace.Error, st.Contract.Path, o.Line, "output-twice",
					fmt.Sprintf("%s writes %s, which %s writes too (%s:%d)", st.Name, l.w.Display(o.Path), other.st.Name, other.st.Contract.Path, other.line),
					"give it another name")
			}
		}
	}
}

// outside is what is wrong with an input that leaves the repository, without the
// place and the mend, which a problem has of its own.
func outside(err error) string {
	var e *workspace.OutsideError
	if errors.As(err, &e) {
		return fmt.Sprintf("the input %s %s", e.Written, e.Reason)
	}
	return err.Error()
}
