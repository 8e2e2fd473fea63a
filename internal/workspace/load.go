package workspace

import (
	"errors"
	"io/fs"
)

// Options are what the user's settings add to reading a workspace.
type Options struct {
	// Synonyms adds words for sections to the built-in table. The key is the
	// canonical name ("inputs", "process", "outputs", ...), the values are
	// headings that mean it, in any language.
	Synonyms map[string][]string
	// Vars are the names that [vars] of the settings defines. Placeholders
	// with these names are known.
	Vars map[string]string
}

// ErrNoWorkspace says that a folder holds no numbered stages.
var ErrNoWorkspace = errors.New("no workspace")

// Load reads the workspace whose folder is dir (a tree path). What is wrong
// with its files is in Problems; an error means that there is no workspace to
// speak of (errors.Is ErrNoWorkspace) or that the tree could not be read.
func Load(fsys fs.FS, dir string, opt Options) (*Workspace, error) {
	return nil, ErrNoWorkspace
}

// Discover lists the workspaces at or below dir, as tree paths in byte order.
// Several may live in one repository. Hidden folders, outputs and the folders
// of package managers are not searched.
func Discover(fsys fs.FS, dir string) ([]string, error) { return nil, nil }
