package prompt

import (
	"io/fs"

	"towpath/internal/workspace"
)

// Standing gives what holds for a workspace as a whole, whatever is asked:
// layers 0 and 1, and every file below _config/. Only the Context's System is
// set, in the layout of a stage's prompt.
func Standing(fsys fs.FS, w *workspace.Workspace, opt Options) (*Context, error) {
	b := &builder{fsys: remember(fsys, w), w: w, st: &workspace.Stage{}, opt: opt, files: map[string]string{}, seen: map[place]bool{}}
	for layer, name := range []string{w.Identity, w.Routing} {
		if name == "" || b.seen[place{file: name}] {
			continue
		}
		p := Part{Path: w.Display(name), Layer: workspace.Layer(layer)}
		if err := b.read(&p, name, workspace.Input{}); err != nil {
			return nil, err
		}
		b.system = append(b.system, p)
	}
	for _, name := range w.Config {
		if b.seen[place{file: name}] {
			continue
		}
		p := Part{Path: w.Display(name), Layer: workspace.LayerReference}
		if err := b.read(&p, name, workspace.Input{}); err != nil {
			return nil, err
		}
		b.reference = append(b.reference, p)
	}
	sys := &page{}
	for _, p := range b.system {
		sys.file(p)
	}
	if len(b.reference) > 0 {
		sys.own(headConstraints)
	}
	for _, p := range b.reference {
		sys.file(p)
	}
	c := &Context{Files: b.files, Parts: append(b.system, b.reference...), System: sys.text.String(), Tokens: sys.tokens + perMessage}
	c.Hash = hash([]byte(c.System))
	return c, nil
}
