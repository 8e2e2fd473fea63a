package engine

import (
	"strings"

	"towpath/internal/lint"
	"towpath/internal/workspace"
)

// unsupported names the first section of a contract that this version cannot
// run, so that nothing that an author asked for is silently left out.
func (e *Engine) unsupported(st *workspace.Stage) error {
	c := st.Contract
	what, at := "", 0
	note := func(name string, line int) {
		if what == "" || line < at {
			what, at = name, line
		}
	}
	if c.Run != nil {
		note("Run", c.Run.Line)
	}
	if len(c.Checks) > 0 {
		note("Verify", c.Checks[0].Line)
	}
	if c.OnFail != nil {
		note("On fail", c.OnFail.Line)
	}
	if c.Worktree != nil {
		note("Worktree", c.Worktree.Line)
	}
	for name, list := range map[string][]workspace.Entry{"Hand off": c.HandOff, "On success": c.OnSuccess, "Memory": c.Memory} {
		if len(list) > 0 {
			note(name, list[0].Line)
		}
	}
	if what == "" {
		return nil
	}
	heading := what
	for _, s := range c.Sections {
		if s.Line <= at {
			heading, at = s.Heading, max(at, s.Line)
		}
	}
	called := "the section " + heading
	if !strings.EqualFold(plain(heading), what) {
		called += " (" + what + ")"
	}
	return usage("take the section out to run the stage without it",
		"%s: %s is not run by this version", e.place(st, at), called)
}

// lintErrors gives the errors that concern the given stages: those of their
// own files, and those that belong to no stage.
func (e *Engine) lintErrors(stages []*workspace.Stage) []workspace.Problem {
	wanted := map[string]bool{}
	for _, st := range stages {
		wanted[st.Name] = true
	}
	opt := e.lintOptions()
	opt.Contexts = stages
	if opt.Contexts == nil {
		opt.Contexts = []*workspace.Stage{}
	}
	var errs []workspace.Problem
	for _, p := range lint.Run(e.fsys, e.cfg.Workspace, opt) {
		if p.Severity != workspace.Error {
			continue
		}
		if st := e.stageOf(p.File); st == nil || wanted[st.Name] {
			errs = append(errs, p)
		}
	}
	return errs
}

func (e *Engine) lintOptions() lint.Options {
	opt := lint.Options{Vars: e.cfg.Vars, Project: e.cfg.Project}
	if e.cfg.Servers == nil {
		return opt
	}
	opt.Servers = map[string][]string{}
	for _, name := range e.cfg.Servers.Names() {
		var tools []string
		if specs, ok := e.cfg.Servers.Known(name); ok {
			for _, s := range specs {
				tools = append(tools, s.Name)
			}
		}
		opt.Servers[name] = tools
	}
	return opt
}

// stageOf gives the stage in whose folder a file lies.
func (e *Engine) stageOf(treePath string) *workspace.Stage {
	for _, st := range e.cfg.Workspace.Stages {
		if treePath == st.Dir || strings.HasPrefix(treePath, st.Dir+"/") {
			return st
		}
	}
	return nil
}

// refuse stops a run before anything is spent when a contract cannot be run.
// remaining are all stages that lie ahead, planned those that this command
// reaches by itself.
func (e *Engine) refuse(remaining, planned []*workspace.Stage) error {
	if errs := e.lintErrors(remaining); len(errs) > 0 {
		var b strings.Builder
		for i, p := range errs {
			if i > 0 {
				b.WriteString("\n")
			}
			b.WriteString(e.problem(p))
		}
		return usage("", "%s", b.String())
	}
	for _, st := range planned {
		if err := e.unsupported(st); err != nil {
			return err
		}
		if _, err := parseStop(st); err != nil {
			return usage("", "%s: %v", e.show(st.Contract.Path), err)
		}
		if _, err := e.targets(st); err != nil {
			return err
		}
	}
	return nil
}

// problem is a lint problem with the path that people see.
func (e *Engine) problem(p workspace.Problem) string {
	p.File = e.show(p.File)
	return p.Error()
}
