package lint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"towpath/internal/prompt"
	"towpath/internal/workspace"
)

func (l *linter) placeholders(st *workspace.Stage) {
	for _, p := range prompt.Unresolved(st, l.opt.Vars) {
		l.add(workspace.Error, st.Contract.Path, p.Line, "placeholder",
			fmt.Sprintf("placeholder {{%s}} has no value", p.Name), prompt.MendPlaceholder(p.Name))
	}
}

// tools looks for servers and tools that are not there.
func (l *linter) tools(st *workspace.Stage) {
	if l.opt.Servers == nil {
		return
	}
	names := make([]string, 0, len(l.opt.Servers))
	for name := range l.opt.Servers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, g := range st.Contract.Tools {
		known, ok := l.opt.Servers[g.Server]
		if !ok {
			l.add(workspace.Error, st.Contract.Path, g.Line, "unknown-server", fmt.Sprintf("there is no tool server %q", g.Server),
				"configure it under [servers."+g.Server+"], or name one of: "+strings.Join(names, ", "))
			continue
		}
		for _, t := range g.Tools {
			if known != nil && !slices.Contains(known, t) && !slices.Contains(known, strings.TrimPrefix(t, g.Server+"_")) {
				l.add(workspace.Error, st.Contract.Path, g.Line, "unknown-tool", fmt.Sprintf("%s has no tool %q", g.Server, t),
					"name one of: "+strings.Join(known, ", "))
			}
		}
	}
}

// loop looks at the checks and limits of a stage.
func (l *linter) loop(st *workspace.Stage) {
	c := &st.Contract
	if len(c.Stop) > 0 && len(c.Checks) == 0 {
		l.add(workspace.Warning, c.Path, c.Stop[0].Line, "stop-without-verify", "Stop without Verify bounds one turn and checks nothing",
			"add a ## Verify section, or take Stop out")
	}
	blocking, judges := 0, 0
	for _, k := range c.Checks {
		if k.Warn {
			continue
		}
		blocking++
		if k.Kind == "judge" {
			judges++
		}
	}
	if blocking > 0 && judges == blocking {
		l.add(workspace.Warning, c.Path, c.Checks[0].Line, "judges-only", "only models judge this stage",
			"add a check that code decides, such as count, headings, schema or run")
	}
	l.parts(st)
}

// parts warns of a loop that leaves out a part of what makes a loop a
// contract. A stage that only verifies its result is no such loop.
func (l *linter) parts(st *workspace.Stage) {
	c := &st.Contract
	if len(c.Stop) == 0 && len(c.Trigger) == 0 && len(c.Memory) == 0 {
		return
	}
	has := map[string]bool{}
	line := 0
	for _, s := range c.Sections {
		has[s.Kind] = true
		if line == 0 && (s.Kind == "stop" || s.Kind == "trigger" || s.Kind == "memory") {
			line = s.Line
		}
	}
	var lacks []string
	for _, p := range []struct {
		kind string
		is   bool
		name string
	}{
		{"trigger", len(c.Trigger) > 0, "what starts it (## Trigger)"},
		{"verify", len(c.Checks) > 0 || len(c.Stop) > 0, // Stop without Verify is reported by itself
			"a goal that code can check (## Verify)"},
		{"tools", len(c.Tools) > 0, "its tools (## Tools, none if none)"},
		{"memory", len(c.Memory) > 0, "what it keeps between runs (## Memory)"},
		{"stop", len(c.Stop) > 0, "its limits (## Stop)"},
	} {
		if !p.is && !has[p.kind] {
			lacks = append(lacks, p.name)
		}
	}
	if len(lacks) > 0 {
		l.add(workspace.Warning, c.Path, max(line, 1), "loop-part", "this loop does not say "+strings.Join(lacks, ", "), "add it, so that the loop can be reviewed whole")
	}
}

// onFail looks at where a surrender goes.
func (l *linter) onFail(i int, st *workspace.Stage) {
	f := st.Contract.OnFail
	if f == nil {
		return
	}
	to, err := l.w.Stage(f.Stage)
	if err != nil {
		l.add(workspace.Error, st.Contract.Path, f.Line, "on-fail", fmt.Sprintf("On fail names %q: %v", f.Stage, err), "name an earlier stage")
		return
	}
	if at := slices.Index(l.w.Stages, to); at >= i {
		l.add(workspace.Error, st.Contract.Path, f.Line, "on-fail", "On fail names "+to.Name+", which does not come before this stage", "name an earlier stage")
	}
}

// context builds the stage's context as a probe does, for its size and for
// files that cannot be part of it.
func (l *linter) context(st *workspace.Stage) {
	opt := prompt.Options{Probe: true, Vars: l.opt.Vars, Project: l.opt.Project}
	if st.Contract.ForEach != nil {
		list, err := l.w.Items(l.fsys, st)
		var missing *workspace.MissingSourceError
		switch {
		case err == nil && len(list.Items) > 0:
			opt.Item, opt.Total = &list.Items[0], len(list.Items)
		case err != nil && !errors.As(err, &missing):
			line := st.Contract.ForEach.Line
			message := strings.TrimPrefix(err.Error(), fmt.Sprintf("%s:%d: ", st.Contract.Path, line)) // said by the problem itself
			l.add(workspace.Error, st.Contract.Path, line, "no-items", message, "")
		}
	}
	ctx, err := prompt.Build(l.fsys, l.w, st, opt)
	var file *prompt.FileError
	if errors.As(err, &file) {
		l.file(st, file)
	}
	if ctx != nil && ctx.Tokens > l.opt.Budget {
		l.add(workspace.Warning, st.Contract.Path, 1, "over-budget",
			fmt.Sprintf("the context is about %d tokens, over the budget of %d; the largest part is %s with about %d",
				ctx.Tokens, l.opt.Budget, ctx.Largest(1)[0].Title(), ctx.Largest(1)[0].Tokens),
			"name fewer files, or sections of them")
	}
}

// file reports a file that cannot be part of a prompt: at the input that asks
// for it, or in itself where every stage reads it.
func (l *linter) file(st *workspace.Stage, e *prompt.FileError) {
	at, line := st.Contract.Path, e.Line
	for _, name := range []string{l.w.Identity, l.w.Routing} {
		if line == 0 && name != "" && l.w.Display(name) == e.Path {
			at = name
		}
	}
	message := e.Path + " " + e.Message
	if e.Err != nil {
		message += ": " + e.Err.Error()
	}
	l.add(workspace.Error, at, line, e.Code, message, e.Mend)
}
