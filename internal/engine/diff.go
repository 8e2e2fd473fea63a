package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// Diff gives what a person changed since the model wrote the stage's outputs,
// as a unified diff; "" is no change.
func (e *Engine) Diff(stage string) (string, error) {
	st, err := e.stage(stage)
	if err != nil {
		return "", err
	}
	s, err := e.stand(st)
	if err != nil {
		return "", err
	}
	if len(s.past.Outputs) == 0 {
		return "", failed("", "history has no output of %s that a model wrote, so there is nothing to compare with", st.Name)
	}
	var b strings.Builder
	for _, f := range s.files {
		out, ok := s.past.Outputs[f.show]
		if !ok || out.Hash == f.hash {
			continue
		}
		model, err := e.cfg.Tree.ReadFile(path.Join(e.cfg.Dir, out.Kept))
		if errors.Is(err, fs.ErrNotExist) {
			return "", failed("take it from version control", "the model's version of %s is gone from history: %s", f.show, out.Kept)
		}
		if err != nil {
			return "", fmt.Errorf("reading the model's version of %s: %w", f.show, err)
		}
		text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
			A: diffLines(string(model)), B: diffLines(string(f.data)),
			FromFile: out.Kept, ToFile: f.show, Context: 3,
		})
		if err != nil {
			return "", fmt.Errorf("comparing %s: %w", f.show, err)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// diffLines cuts a text into lines as programs that apply a diff want them.
func diffLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	last := len(lines) - 1
	if lines[last] == "" {
		return lines[:last]
	}
	lines[last] += "\n\\ No newline at end of file\n"
	return lines
}
