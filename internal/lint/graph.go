package lint

import (
	"fmt"
	"io/fs"
	"strings"

	"towpath/internal/workspace"
)

// Graph is what flows between the stages of a workspace.
type Graph struct {
	Workspace string  `json:"workspace"` // tree path
	Stages    []Node  `json:"stages"`
	Flows     []Flow  `json:"flows"`
	Routes    []Route `json:"routes"` // On fail
}

// Node is a stage.
type Node struct {
	Name     string   `json:"name"`
	Title    string   `json:"title,omitempty"`
	Kind     string   `json:"kind"` // "model" or "command"
	Tools    []string `json:"tools,omitempty"`
	ForEach  string   `json:"for_each,omitempty"` // "module in pipeline/03-outline/output/outline.md"
	Outputs  []string `json:"outputs"`            // display paths
	Checks   []string `json:"checks,omitempty"`
	Stop     []string `json:"stop,omitempty"`
	Exits    []string `json:"exits"` // the ways in which the stage ends
	Gate     string   `json:"gate"`
	Worktree string   `json:"worktree,omitempty"`
}

// Flow is a file that goes into a stage.
type Flow struct {
	From     string          `json:"from,omitempty"` // name of the stage that makes it, "" for a file that people keep
	To       string          `json:"to"`
	Path     string          `json:"path"` // display path, with § and the section where one is named
	Layer    workspace.Layer `json:"layer"`
	Optional bool            `json:"optional,omitempty"`
	Items    bool            `json:"items,omitempty"`   // the source of a for-each
	Missing  bool            `json:"missing,omitempty"` // not there yet
}

// Route is where a surrender goes.
type Route struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Times int    `json:"times"`
}

// Draw reads the graph of a workspace. Inputs that cannot be resolved are left
// out: Run reports them.
func Draw(fsys fs.FS, w *workspace.Workspace) *Graph {
	g := &Graph{Workspace: w.Dir, Stages: []Node{}, Flows: []Flow{}, Routes: []Route{}}
	for _, st := range w.Stages {
		c := &st.Contract
		g.Stages = append(g.Stages, node(fsys, w, st))
		for _, in := range c.Inputs {
			g.flow(fsys, w, st, in, false)
		}
		if c.ForEach != nil {
			g.flow(fsys, w, st, c.ForEach.Source, true)
		}
		if f := c.OnFail; f != nil {
			to := f.Stage
			if s, err := w.Stage(f.Stage); err == nil {
				to = s.Name
			}
			g.Routes = append(g.Routes, Route{From: st.Name, To: to, Times: f.Times})
		}
	}
	return g
}

func (g *Graph) flow(fsys fs.FS, w *workspace.Workspace, st *workspace.Stage, in workspace.Input, items bool) {
	r, err := w.Resolve(fsys, st, in)
	if err != nil {
		return
	}
	f := Flow{To: st.Name, Path: w.Display(r.Path), Layer: r.Layer, Optional: in.Optional, Items: items, Missing: r.Missing}
	if in.Section != "" {
		f.Path += " § " + in.Section
	}
	if r.Maker != nil {
		f.From = r.Maker.Name
	}
	g.Flows = append(g.Flows, f)
}

func node(fsys fs.FS, w *workspace.Workspace, st *workspace.Stage) Node {
	c := &st.Contract
	n := Node{Name: st.Name, Title: c.Title, Kind: "model", Gate: string(c.Gate), Outputs: []string{}, Exits: []string{"success"}}
	if c.Run != nil {
		n.Kind = "command"
	}
	if n.Gate == "" {
		n.Gate = string(workspace.GateStop)
	}
	for _, t := range c.Tools {
		n.Tools = append(n.Tools, grant(t))
	}
	if f := c.ForEach; f != nil {
		n.ForEach = f.Word + " in " + f.Source.Written
		if r, err := w.Resolve(fsys, st, f.Source); err == nil {
			n.ForEach = f.Word + " in " + w.Display(r.Path)
		}
	}
	for _, o := range c.Outputs {
		n.Outputs = append(n.Outputs, w.Display(o.Path))
	}
	for _, k := range c.Checks {
		n.Checks = append(n.Checks, check(k))
	}
	for _, s := range c.Stop {
		n.Stop = append(n.Stop, s.Text)
	}
	if len(c.Checks) > 0 || len(c.Stop) > 0 {
		n.Exits = append(n.Exits, "surrender")
	}
	if len(c.HandOff) > 0 {
		n.Exits = append(n.Exits, "hand-off")
	}
	if c.Worktree != nil {
		n.Worktree = c.Worktree.Repo
	}
	return n
}

func grant(t workspace.ToolGrant) string {
	s := t.Server + ": all"
	if !t.All {
		s = t.Server + ": " + strings.Join(t.Tools, ", ")
	}
	if t.Required {
		s += " (required)"
	}
	return s
}

func check(k workspace.Check) string {
	s := k.Kind
	if k.Arg != "" {
		s += ": " + k.Arg
	}
	if k.Each {
		s = "each: " + s
	}
	if k.Warn {
		s = "warn: " + s
	}
	return s
}

// Text is the graph for a terminal.
func (g *Graph) Text() string {
	var b strings.Builder
	for i, n := range g.Stages {
		if i > 0 {
			b.WriteString("      |\n")
		}
		fmt.Fprintf(&b, "%s", n.Name)
		if n.Kind == "command" {
			b.WriteString("  (a command)")
		}
		b.WriteByte('\n')
		row(&b, "each", n.ForEach)
		for _, f := range g.Flows {
			if f.To == n.Name {
				row(&b, "reads", f.line())
			}
		}
		for _, t := range n.Tools {
			row(&b, "tools", t)
		}
		for _, o := range n.Outputs {
			row(&b, "writes", o)
		}
		for _, k := range n.Checks {
			row(&b, "checks", k)
		}
		row(&b, "stops", strings.Join(n.Stop, "; "))
		row(&b, "exits", strings.Join(n.Exits, ", "))
		for _, r := range g.Routes {
			if r.From == n.Name {
				row(&b, "on fail", fmt.Sprintf("back to %s, at most %d times", r.To, r.Times))
			}
		}
		row(&b, "gate", n.Gate)
	}
	return b.String()
}

func row(b *strings.Builder, label, text string) {
	if text != "" {
		fmt.Fprintf(b, "  %-8s%s\n", label, text)
	}
}

func (f Flow) line() string {
	s := f.Path
	var notes []string
	if f.Items {
		notes = append(notes, "items")
	} else {
		notes = append(notes, layerName(f.Layer))
	}
	if f.From != "" {
		notes = append(notes, "from "+f.From)
	}
	if f.Optional {
		notes = append(notes, "optional")
	}
	if f.Missing {
		notes = append(notes, "not there yet")
	}
	return s + "  (" + strings.Join(notes, ", ") + ")"
}

func layerName(l workspace.Layer) string {
	switch l {
	case workspace.LayerWorking:
		return "working"
	case workspace.LayerReference:
		return "reference"
	}
	return fmt.Sprintf("layer %d", l)
}
