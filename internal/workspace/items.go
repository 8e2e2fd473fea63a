package workspace

import "io/fs"

// ItemList is what a for-each runs over.
type ItemList struct {
	Items  []Item
	How    string   // how they were found: "headings that begin with module", "files of notes/*.md"
	Passed []string // what was passed over: headings before, between or after the items
}

// Items reads the items of a stage's for-each. No source and no item are
// errors; a *MissingSourceError says that the source is yet to be made.
func (w *Workspace) Items(fsys fs.FS, st *Stage) (ItemList, error) { return ItemList{}, nil }

// MissingSourceError says that the source of a for-each is not there.
type MissingSourceError struct {
	Stage    *Stage
	Resolved Resolved
}

// Error names the source and who makes it.
func (e *MissingSourceError) Error() string { return "missing source" }

// SectionOf gives the section of a Markdown source whose heading is named, for
// inputs such as guide.md#Voice: from its heading line to the next heading of
// its level or higher. The name may be the heading's text (marks, case and
// numbering ignored) or its GitHub anchor. line is the heading's, from 1.
func SectionOf(src []byte, heading string) (text string, line int, ok bool) { return "", 0, false }

// Slug makes a file name of an item's title: NFC, lower case, words joined by
// hyphens, no name that a system reserves, at most 60 bytes, never empty.
func Slug(title string) string { return "item" }
