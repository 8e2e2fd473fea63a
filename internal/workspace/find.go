package workspace

import (
	"fmt"
	"path"
	"strings"
)

// StageError says that no stage, or more than one, goes by a name.
type StageError struct {
	Name    string
	Among   []string // the stages that there are
	Several []string // the stages that the name fits, when more than one does
}

// Error lists what there is.
func (e *StageError) Error() string {
	if len(e.Several) > 0 {
		return fmt.Sprintf("%q fits several stages: %s; give the folder's name", e.Name, strings.Join(e.Several, ", "))
	}
	if len(e.Among) == 0 {
		return fmt.Sprintf("there is no stage %q: the workspace has none", e.Name)
	}
	return fmt.Sprintf("there is no stage %q: there are %s", e.Name, strings.Join(e.Among, ", "))
}

// Stage finds a stage by its number ("2", "02", "01b"), its name ("research")
// or its folder ("02-research", "pipeline/02-research"). The error is a
// *StageError.
func (w *Workspace) Stage(name string) (*Stage, error) {
	asked := path.Clean(strings.ReplaceAll(strings.TrimSpace(name), `\`, "/"))
	tests := []func(*Stage) bool{
		func(s *Stage) bool { return s.Name == asked || s.Dir == asked || w.Display(s.Dir) == asked },
		func(s *Stage) bool { return strings.HasSuffix("/"+s.Dir, "/"+asked) && strings.Contains(asked, "/") },
		func(s *Stage) bool { return strings.EqualFold(s.Name, asked) },
		func(s *Stage) bool {
			n, letter, ok := stageOf(asked)
			return ok && bareNumber(asked) && n == s.Number && letter == s.Letter
		},
		func(s *Stage) bool { return fold(s.ShortName()) == fold(asked) },
		func(s *Stage) bool {
			n, letter, ok := stageOf(asked)
			return ok && n == s.Number && letter == s.Letter && fold(restOf(asked)) == fold(s.ShortName())
		},
	}
	for _, fits := range tests {
		var found []*Stage
		for _, s := range w.Stages {
			if fits(s) {
				found = append(found, s)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return nil, &StageError{Name: name, Several: names(found)}
		}
	}
	return nil, &StageError{Name: name, Among: names(w.Stages)}
}

func names(stages []*Stage) []string {
	var out []string
	for _, s := range stages {
		out = append(out, s.Name)
	}
	return out
}

// ShortName is the stage's name without its number: "research" of 02-research;
// the whole where there is nothing else.
func (s *Stage) ShortName() string { return restOf(s.Name) }

func restOf(name string) string {
	m := stageName().FindStringSubmatchIndex(name)
	if m == nil {
		return name
	}
	if rest := strings.TrimLeft(name[m[5]:], "-_. "); rest != "" {
		return rest
	}
	return name
}

func bareNumber(s string) bool {
	m := stageName().FindStringSubmatchIndex(s)
	return m != nil && m[5] == len(s)
}

// Display is the path shown to people and to the model: relative to the
// workspace, or to the repository for what lies outside the workspace.
func (w *Workspace) Display(treePath string) string {
	if w.Dir == "." || w.Dir == "" {
		return treePath
	}
	if treePath == w.Dir {
		return "."
	}
	if rest, ok := strings.CutPrefix(treePath, w.Dir+"/"); ok {
		return rest
	}
	return treePath
}
