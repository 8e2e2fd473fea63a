// Package lint says everything that can be said about a workspace without
// running it, and draws its graph. It is pure and never calls a model.
package lint

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"towpath/internal/prompt"
	"towpath/internal/workspace"
)

// Options are what lint knows from outside the workspace.
type Options struct {
	// Servers names every tool server that is configured or built in, with its
	// tools. Nil tools are not known before the server was started. A nil map
	// means that nothing is known, and no server is reported.
	Servers map[string][]string
	Budget  int               // tokens that a stage's context may take; 0 is DefaultBudget
	Vars    map[string]string // [vars] of the settings

	// Contexts are the stages whose contexts are built, to find files that
	// cannot be part of one; nil is every stage.
	Contexts []*workspace.Stage

	// Project is prompt.Options.Project.
	Project func(name string, data []byte) (string, error)
}

// The sizes over which lint warns.
const (
	DefaultBudget = 8000 // tokens of a stage's context
	maxContract   = 80   // lines
	maxReference  = 200  // lines
)

// Run gives every problem of a workspace, its contracts' own included, sorted
// by file, line, severity and code. File is a tree path, as in Problem.
func Run(fsys fs.FS, w *workspace.Workspace, opt Options) []workspace.Problem {
	if opt.Budget == 0 {
		opt.Budget = DefaultBudget
	}
	l := &linter{fsys: prompt.Remember(fsys, w), w: w, opt: opt, used: map[string]bool{}, long: map[string]bool{}}
	l.list = append(l.list, w.Problems...)
	for i, st := range w.Stages {
		l.list = append(l.list, st.Contract.Problems...)
		l.stage(i, st)
	}
	l.order()
	l.outputs()
	l.numbers()
	l.config()
	return tidy(l.list)
}

// linter collects the problems of one workspace.
type linter struct {
	fsys fs.FS
	w    *workspace.Workspace
	opt  Options
	list []workspace.Problem

	edges []edge          // what flows between stages
	used  map[string]bool // tree paths that some stage reads
	long  map[string]bool // references that were reported already
}

func (l *linter) add(sev workspace.Severity, file string, line int, code, message, mend string) {
	l.list = append(l.list, workspace.Problem{File: file, Line: line, Severity: sev, Code: code, Message: message, Mend: mend})
}

// stage looks at one stage for itself.
func (l *linter) stage(i int, st *workspace.Stage) {
	c := &st.Contract
	if unread(c) {
		return // the rest would be said of a contract that is not known
	}
	if c.Run == nil && !hasProcess(c) {
		l.add(workspace.Error, c.Path, max(c.ProcessLine, 1), "no-process", "the contract has no Process", "add a ## Process section that says what to do")
	}
	if len(c.Outputs) == 0 {
		l.add(workspace.Error, c.Path, headingLine(c, workspace.KindOutputs), "no-outputs", "the contract names no output", "add a ## Outputs section such as: - notes.md -> output/")
	}
	if n := lines(c.Source); n > maxContract {
		l.add(workspace.Warning, c.Path, maxContract+1, "long-contract", fmt.Sprintf("the contract has %d lines", n),
			fmt.Sprintf("keep it within %d: move reference material into references/ or _config/", maxContract))
	}
	l.placeholders(st)
	l.tools(st)
	l.loop(st)
	l.onFail(i, st)
	l.inputs(i, st)
	if l.opt.Contexts == nil || slices.Contains(l.opt.Contexts, st) {
		l.context(st)
	}
}

// unread reports a contract that the parser could not read.
func unread(c *workspace.Contract) bool {
	return slices.ContainsFunc(c.Problems, func(p workspace.Problem) bool {
		return p.Code == "encoding" || p.Code == "too-large" || p.Code == "unreadable"
	})
}

// hasProcess reports whether the contract says what to do under a heading that
// means it. Text elsewhere is passed on, but is not known to be instructions.
func hasProcess(c *workspace.Contract) bool {
	return slices.ContainsFunc(c.Sections, func(s workspace.Section) bool {
		return s.Kind == workspace.KindProcess && strings.TrimSpace(s.Body) != ""
	})
}

// headingLine is the line of a section of that kind, or 1.
func headingLine(c *workspace.Contract, kind string) int {
	for _, s := range c.Sections {
		if s.Kind == kind {
			return s.Line
		}
	}
	return 1
}

func lines(data []byte) int {
	s := strings.TrimRight(string(data), "\r\n")
	if s == "" {
		return 0
	}
	return strings.Count(s, "\n") + 1
}

// numbers warns of stages with one number.
func (l *linter) numbers() {
	type key struct {
		n      int
		letter string
	}
	first := map[key]*workspace.Stage{}
	for _, st := range l.w.Stages {
		k := key{st.Number, strings.ToLower(st.Letter)}
		if other := first[k]; other != nil {
			l.add(workspace.Warning, st.Contract.Path, 1, "duplicate-number",
				fmt.Sprintf("%s has the number of %s; they run in the order of their names", st.Name, other.Name), "give one of them another number")
			continue
		}
		first[k] = st
	}
}

// config warns of shared files that no stage reads.
func (l *linter) config() {
	for _, name := range l.w.Config {
		if !l.used[name] && !workspace.IgnoredFile(base(name)) {
			l.add(workspace.Warning, name, 0, "unused-config", "no stage reads this file", "add it to the Inputs of a stage, or remove it")
		}
	}
}

func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// tidy sorts, and keeps one of each: what the parser said already is not said
// again.
func tidy(list []workspace.Problem) []workspace.Problem {
	slices.SortStableFunc(list, func(a, b workspace.Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, strings.Compare(string(a.Severity), string(b.Severity)), strings.Compare(a.Code, b.Code))
	})
	type key struct {
		file, code string
		line       int
	}
	seen := map[key]bool{}
	kept := make([]workspace.Problem, 0, len(list))
	for _, p := range list {
		k := key{p.File, p.Code, p.Line}
		switch p.Code {
		case "no-process", "no-outputs", "encoding", "duplicate-number":
			k.line = 0 // one a file
		case "placeholder", "missing-input", "unknown-tool", "case-only":
			k.code += p.Message // several a line
		}
		if !seen[k] {
			seen[k] = true
			kept = append(kept, p)
		}
	}
	return kept
}
