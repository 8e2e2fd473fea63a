// Package workspace holds the nouns of towpath: a Workspace, its Stages and
// their Contracts, read from plain folders and Markdown.
//
// It is pure: it reads an fs.FS and keeps no state, so that every value may be
// used by several goroutines once Load has returned it. All paths in this
// package are slash paths from the root of the tree (the repository, or the
// workspace where there is no repository), as fs.FS wants them.
package workspace

import "fmt"

// Layer says how a file reaches the model (ICM's five layers).
type Layer int

// The layers. Identity and Routing are read for every stage, Reference stays
// the same across runs, Working is the material of this run.
const (
	LayerIdentity  Layer = 0
	LayerRouting   Layer = 1
	LayerContract  Layer = 2
	LayerReference Layer = 3
	LayerWorking   Layer = 4
)

// Severity tells a problem that stops a run from one that does not.
type Severity string

// The severities of a Problem.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is something wrong with a workspace's files, said so that a person
// can mend it. Code is a stable short name such as "no-process".
type Problem struct {
	File     string   `json:"file"` // tree path
	Line     int      `json:"line"` // from 1; 0 where no line applies
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`
	Message  string   `json:"message"`
	Mend     string   `json:"mend"`
}

// Error gives the problem as one line: file:line: message, mend.
func (p Problem) Error() string {
	s := fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	if p.Line == 0 { // of the whole file
		s = p.File + ": " + p.Message
	}
	if p.Mend != "" {
		s += "; " + p.Mend
	}
	return s
}

// Workspace is a folder of numbered stages with what they share.
type Workspace struct {
	Dir       string    // tree path of the workspace's folder, "." for the tree's root
	Identity  string    // tree path of CLAUDE.md or AGENTS.md (layer 0), "" if there is none
	Routing   string    // tree path of the workspace's CONTEXT.md (layer 1), "" if there is none
	Container string    // tree path of the folder that holds the stages
	Stages    []*Stage  // in order of number, letter, name
	Config    []string  // tree paths of the files below _config/, sorted by bytes
	Problems  []Problem // found while reading; lint adds to them
}

// Stage is one numbered folder with its contract.
type Stage struct {
	Number   int    // from the folder's name
	Letter   string // "b" of 01b-x, else ""
	Name     string // the folder's name, as it is: 01-scope
	Dir      string // tree path of the folder
	Contract Contract
}

// OutputDir is the tree path of the folder that the stage writes to.
func (s *Stage) OutputDir() string { return joinPath(s.Dir, "output") }

// Contract is a stage's CONTEXT.md, read.
type Contract struct {
	Path   string // tree path of CONTEXT.md
	Source []byte // its bytes as they are on disk
	Title  string // the text of its first heading, "" if none stands before the sections

	Inputs      []Input
	Tools       []ToolGrant // empty means none
	ForEach     *ForEach    // nil: the process runs once
	Process     string      // the instructions and every unknown section, word for word
	ProcessLine int         // line of the Process heading, 0 if the section is missing
	Outputs     []Output
	Run         *Command  // a command in place of a model
	Checks      []Check   // Verify
	Stop        []Entry   // limits of the loop, as written
	HandOff     []Entry   // decisions left to a person
	OnFail      *OnFail   // nil: a surrender ends the run
	OnSuccess   []Entry   // what follows a success
	Gate        Gate      // GateStop where nothing is said
	Worktree    *Worktree // nil: the product is documents
	Memory      []Entry
	Trigger     []Entry

	Sections []Section // every section as found, in order
	Problems []Problem
}

// Section is one section of a contract, as written.
type Section struct {
	Heading string // as written, without the marks
	Kind    string // the canonical name ("inputs", "process", ...), "" if not known
	Level   int    // 2 or 3; 0 for bold lines taken as headings
	Line    int    // of the heading, from 1
	Body    string // the bytes between this heading and the next section
}

// Entry is a bullet or a line kept as written, with its place.
type Entry struct {
	Text string
	Line int
}

// Input is one thing that a stage reads, as its contract names it. Resolve
// turns it into files.
type Input struct {
	Written  string // the path as written, without label, link or backticks
	Section  string // of guide.md#Voice: "Voice"; "" is the whole file. SectionOf also reads `"Voice" + "Tone"`
	Scope    string // what a table's Scope column says where it is not surely a section; Resolve makes it the Section if the file has it
	Layer    Layer
	LayerSet bool // the contract gave the layer; else Resolve decides it
	Optional bool
	Note     string // what the author wrote beside the path (the Why column, a description); it stands in Process too
	Line     int
}

// Base names the folder from which an input's path was found.
type Base string

// The bases, in the order in which they are tried.
const (
	BaseStage      Base = "stage"
	BaseWorkspace  Base = "workspace"
	BaseRepository Base = "repository"
	BaseStages     Base = "stages" // the folder that holds the stages: 01-scope/output/x.md, tried last
)

// Resolved is an input with the files that it means.
type Resolved struct {
	Input    Input
	Layer    Layer
	Base     Base
	Path     string   // tree path that was matched, or where the file is expected if Missing
	Files    []string // tree paths (links resolved) in byte order; several for a folder or a glob
	CaseOnly bool     // matched only by ignoring letter case
	Missing  bool     // nothing is there
	Maker    *Stage   // the stage in whose output/ Path lies, nil if none
}

// ToolGrant is a line of the Tools section: tools of one server.
type ToolGrant struct {
	Server   string
	Tools    []string // as written; nil with All
	All      bool
	Required bool // one of these must be used before the model may answer
	Line     int
}

// ForEach says that the process runs once per item.
type ForEach struct {
	Word      string // "module", as written
	Source    Input
	AtATime   int  // 1 unless ", N at a time" is written
	Summaries bool // ", with summaries"
	Line      int
}

// Output is a file that the stage makes.
type Output struct {
	Name        string // as written, may hold {{n}} or {{item}}
	Path        string // tree path, inside the stage's output/ unless settings allow more
	Outside     bool   // not inside the stage's output/: needs leave in trusted settings
	Folder      bool   // names a folder and no file
	Optional    bool   // may stay away
	Description string
	Line        int
}

// PerItem reports whether each item of a for-each makes a file of its own.
func (o Output) PerItem() bool { return perItem(o.Name) }

// Gate says what stands between a stage and the next one.
type Gate string

// The gates.
const (
	GateStop    Gate = "stop"    // the same command goes on
	GateApprove Gate = "approve" // needs towpath approve
	GateNone    Gate = "none"    // goes on at once
)

// Check is a line of Verify, as written.
type Check struct {
	Kind string // "run", "schema", "count", ..., "judge"
	Arg  string // what follows the kind
	Warn bool
	Each bool
	Line int
}

// Command is the Run section.
type Command struct {
	Text string
	Line int
}

// OnFail names the stage that a surrender runs again, and how often.
type OnFail struct {
	Stage string
	Times int
	Line  int
}

// Worktree names the source tree that a stage changes.
type Worktree struct {
	Repo      string
	MayChange []string
	Protect   []string
	Line      int
}

// Item is one piece of a for-each's source.
type Item struct {
	N     int    // from 1
	Title string // without marks; what {{item}} stands for
	Text  string // the item's block, as written
	Line  int    // in the source, 0 where no line applies
	File  string // tree path of the file, for items that are files; else of the source
}
