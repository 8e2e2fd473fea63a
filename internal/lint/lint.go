// Package lint says everything that can be said about a workspace without
// running it, and draws its graph. It is pure and never calls a model.
package lint

import (
	"io/fs"

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

	// Project is prompt.Options.Project.
	Project func(name string, data []byte) (string, error)
}

// DefaultBudget is the number of tokens over which a stage's context is
// reported: twice the upper end of a focused stage.
const DefaultBudget = 8000

// Run gives every problem of a workspace, its contracts' own included, sorted
// by file, line, severity and code. File is a tree path, as in Problem.
func Run(fsys fs.FS, w *workspace.Workspace, opt Options) []workspace.Problem { return nil }

// Graph is what flows between the stages of a workspace.
type Graph struct {
	Workspace string  `json:"workspace"` // tree path
	Stages    []Node  `json:"stages"`
	Flows     []Flow  `json:"flows"`
	Routes    []Route `json:"routes"` // On fail
}

// Node is a stage.
type Node struct {
	Name    string   `json:"name"`
	Title   string   `json:"title,omitempty"`
	Kind    string   `json:"kind"` // "model" or "command"
	Tools   []string `json:"tools,omitempty"`
	ForEach string   `json:"for_each,omitempty"`
	Outputs []string `json:"outputs"`
	Checks  []string `json:"checks,omitempty"`
	Stop    []string `json:"stop,omitempty"`
	Exits   []string `json:"exits"` // the ways in which the stage ends
	Gate    string   `json:"gate"`
}

// Flow is a file that goes into a stage.
type Flow struct {
	From  string          `json:"from,omitempty"` // name of the stage that makes it, "" for a file that people keep
	To    string          `json:"to"`
	Path  string          `json:"path"` // display path
	Layer workspace.Layer `json:"layer"`
}

// Route is where a surrender goes.
type Route struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Times int    `json:"times"`
}

// Draw reads the graph of a workspace.
func Draw(fsys fs.FS, w *workspace.Workspace) *Graph { return &Graph{} }

// Text is the graph for a terminal.
func (g *Graph) Text() string { return "" }

// Mermaid is the graph as a Mermaid flowchart.
func (g *Graph) Mermaid() string { return "" }
