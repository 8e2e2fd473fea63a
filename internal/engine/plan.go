package engine

import (
	"context"
	"fmt"

	"towpath/internal/journal"
	"towpath/internal/tool"
	"towpath/internal/workspace"
)

// Planned is a stage and what a run would do with it.
type Planned struct {
	Stage  string `json:"stage"`
	Action string `json:"action"` // "skip", "run", "wait" (for approval)
	Why    string `json:"why"`
}

// Plan says what Run would do, stage by stage, up to where it would stop. It
// writes nothing, contacts nothing and takes no lock.
func (e *Engine) Plan(opt Options) ([]Planned, error) {
	d := &drive{e: e, opt: opt}
	if err := d.names(); err != nil {
		return nil, err
	}
	var list []Planned
	err := d.foresee(func(s *standing, what step) {
		p := Planned{Stage: s.st.Name, Action: "skip", Why: s.present(e.cfg.Actor)}
		switch what {
		case stepRun:
			p.Action, p.Why = "run", "output missing"
			if s.done {
				p.Why = "asked for again"
				if s.stale {
					p.Why = "stale"
				}
			}
		case stepWait:
			p.Action, p.Why = "wait", "needs approval"
		case stepReopen:
			p.Why = "output present, its gate was not shown yet"
		case stepLeave:
			p.Why = "stale, but a person edited it"
		case stepSkip:
			if !s.done {
				p.Why = "output missing, but only stale stages run"
			}
		}
		list = append(list, p)
	})
	return list, err
}

// foresee goes through the stages as the run will, as far as it can be known
// now: up to the first place where a person is waited for.
func (d *drive) foresee(each func(s *standing, what step)) error {
	ran := d.ran
	defer func() { d.ran = ran }()
	for _, st := range d.e.cfg.Workspace.Stages {
		if d.single != nil && st != d.single {
			continue
		}
		s, err := d.stand(st)
		if err != nil {
			return err
		}
		what := d.next(s)
		if what == stepRun {
			d.ran = append(d.ran, st)
		}
		stop := what == stepWait || st == d.until || d.single != nil
		if what == stepRun || what == stepReopen {
			stop = stop || st.Contract.Gate == workspace.GateApprove
			stop = stop || st.Contract.Gate == workspace.GateStop && !d.opt.All && d.until == nil
		}
		each(s, what)
		if stop {
			return nil
		}
	}
	return nil
}

// plan gives the stages that lie ahead and those that this command reaches by
// itself.
func (d *drive) plan() (remaining, planned []*workspace.Stage, err error) {
	err = d.foresee(func(s *standing, what step) {
		if what == stepRun {
			planned = append(planned, s.st)
		}
	})
	if err != nil || d.single != nil || d.opt.Stale {
		return planned, planned, err
	}
	for _, st := range d.e.cfg.Workspace.Stages {
		s, err := d.stand(st)
		if err != nil {
			return nil, nil, err
		}
		if !s.done {
			remaining = append(remaining, st)
		}
		if st == d.until {
			break
		}
	}
	if len(planned) == 0 {
		return nil, nil, nil // it stops before any stage runs
	}
	return remaining, planned, nil
}

// dryRun says what would run and whether its contracts can be.
func (d *drive) dryRun() (journal.Exited, error) {
	remaining, planned, err := d.plan()
	if err != nil {
		return journal.Exited{}, err
	}
	if err := d.e.refuse(remaining, planned); err != nil {
		return journal.Exited{}, err
	}
	list, err := d.e.Plan(d.opt)
	if err != nil {
		return journal.Exited{}, err
	}
	exited := journal.Exited{How: HowDryRun, Reason: "nothing would run"}
	for _, p := range list {
		if p.Action == "skip" {
			d.e.tell(journal.Event{Type: journal.StageSkipped, Stage: p.Stage, Note: p.Why})
			continue
		}
		d.e.tell(journal.Event{Type: journal.Warning, Stage: p.Stage, Note: "would " + p.Action + ": " + p.Why})
		if exited.Next == "" {
			exited.Next, exited.Reason = p.Stage, "nothing was run"
		}
	}
	return exited, nil
}

// preflight makes sure, before anything is spent, that every model and server
// of the planned stages is there and can do what its stage needs.
func (d *drive) preflight(ctx context.Context, planned []*workspace.Stage) error {
	for _, st := range planned {
		c, err := d.e.cfg.Models.Choose(ctx, st, "turn")
		if err != nil {
			return fmt.Errorf("choosing a model for %s: %w", st.Name, err)
		}
		d.chosen[st.Name] = c
		if err := d.e.serversThere(ctx, st, c); err != nil {
			return err
		}
	}
	return nil
}

// serversThere checks a stage's tool servers, and that its model can use them.
func (e *Engine) serversThere(ctx context.Context, st *workspace.Stage, c Chosen) error {
	grants := st.Contract.Tools
	if len(grants) == 0 {
		return nil
	}
	if c.Info.Tools != nil && !*c.Info.Tools {
		return failed("choose a model that can (towpath models lists them), or take the Tools section out",
			"%s: %s needs a model that can call tools, and %s cannot", e.place(st, grants[0].Line), st.Name, c.Info.ID)
	}
	names := serverNames(grants)
	if e.cfg.Servers == nil {
		return failed("set them up in towpath.toml", "%s names tool servers, and none is configured: %v", st.Name, names)
	}
	if err := e.cfg.Servers.Check(ctx, st, names); err != nil {
		return fmt.Errorf("checking the tool servers of %s: %w", st.Name, err)
	}
	return nil
}

func serverNames(grants []workspace.ToolGrant) []string {
	var names []string
	seen := map[string]bool{}
	for _, g := range grants {
		if !seen[g.Server] {
			seen[g.Server] = true
			names = append(names, g.Server)
		}
	}
	return names
}

// granted gives the tools that a contract's grants open, as far as they are
// known without starting a server, and the servers whose tools are not.
func (e *Engine) granted(st *workspace.Stage) (specs []tool.Spec, unknown []string) {
	for _, name := range serverNames(st.Contract.Tools) {
		var known []tool.Spec
		ok := false
		if e.cfg.Servers != nil {
			known, ok = e.cfg.Servers.Known(name)
		}
		if !ok {
			unknown = append(unknown, name)
			continue
		}
		for _, s := range known {
			if grantsTool(st.Contract.Tools, name, s.Name) {
				specs = append(specs, s)
			}
		}
	}
	return specs, unknown
}

func grantsTool(grants []workspace.ToolGrant, server, name string) bool {
	for _, g := range grants {
		if g.Server != server {
			continue
		}
		if g.All {
			return true
		}
		for _, t := range g.Tools {
			if t == name {
				return true
			}
		}
	}
	return false
}
