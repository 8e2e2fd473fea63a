package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"towpath/internal/workspace"
)

// ErrNoItem says that a stage runs once per item and none was given.
var ErrNoItem = errors.New("the stage runs once per item and no item was given")

// Build gives the context of one call of stage st. With a *MissingError the
// Context is whole but for the inputs that it lists; with any other error it
// is nil. Other kinds: *FileError (not text, too large, unreadable, no such
// section, merge conflict), *PlaceholderError, *workspace.OutsideError and
// ErrNoItem. Inputs that are optional and not there are left out.
func Build(fsys fs.FS, w *workspace.Workspace, st *workspace.Stage, opt Options) (*Context, error) {
	b := &builder{fsys: remember(fsys, w), w: w, st: st, opt: opt, values: values(st, opt), files: map[string]string{}, seen: map[place]bool{}}
	if !opt.Probe {
		if st.Contract.ForEach != nil && opt.Item == nil {
			return nil, fmt.Errorf("%s: %w", st.Name, ErrNoItem)
		}
		if list := unresolved(st, b.values); len(list) > 0 {
			return nil, &PlaceholderError{File: w.Display(st.Contract.Path), List: list}
		}
	}
	if err := b.gather(); err != nil {
		return nil, err
	}
	c := b.render()
	if len(b.missing) > 0 {
		return c, &MissingError{Stage: st.Name, List: b.missing}
	}
	return c, nil
}

// Files gives every file whose change makes the stage stale, as Context.Files
// does, without building a prompt: workspace path -> SHA-256 in hex. Files that
// are not there are left out.
func Files(fsys fs.FS, w *workspace.Workspace, st *workspace.Stage) (map[string]string, error) {
	b := &builder{fsys: remember(fsys, w), w: w, st: st, files: map[string]string{}, hashOnly: true, seen: map[place]bool{}}
	if err := b.gather(); err != nil {
		return nil, err
	}
	return b.files, nil
}

// place is what a prompt holds at most once.
type place struct{ file, section string }

// builder gathers the parts of one context.
type builder struct {
	fsys     *looked
	w        *workspace.Workspace
	st       *workspace.Stage
	opt      Options
	values   map[string]string
	hashOnly bool

	system    []Part // layers 0 and 1
	reference []Part // layer 3
	working   []Part // layer 4
	item      *Part
	files     map[string]string
	seen      map[place]bool
	size      int64
	missing   []Missing
}

func (b *builder) gather() error {
	c := &b.st.Contract
	b.files[b.w.Display(c.Path)] = hash(c.Source)
	b.seen[place{file: c.Path}] = true // its process is the user's turn already
	for layer, name := range []string{b.w.Identity, b.w.Routing} {
		if name == "" || b.seen[place{file: name}] {
			continue
		}
		p := Part{Path: b.w.Display(name), Layer: workspace.Layer(layer)}
		if err := b.read(&p, name, workspace.Input{}); err != nil {
			return err
		}
		b.system = append(b.system, p)
	}
	for _, in := range c.Inputs {
		if err := b.input(in); err != nil {
			return err
		}
	}
	if c.ForEach != nil {
		if err := b.source(c.ForEach.Source); err != nil {
			return err
		}
	}
	return b.takeItem()
}

// input adds the files of one input to their layer.
func (b *builder) input(in workspace.Input) error {
	r, err := b.w.Resolve(b.fsys, b.st, in)
	if err != nil {
		return err
	}
	if r.Missing {
		if p, ok := b.absent(r); ok {
			b.add(p)
		}
		return nil
	}
	in = r.Input // what the file itself decided: a scope that is a section
	for _, name := range r.Files {
		if b.seen[place{file: name}] || b.seen[place{name, in.Section}] {
			continue
		}
		p := Part{Path: b.w.Display(name), Section: in.Section, Layer: r.Layer, Base: r.Base}
		if err := b.read(&p, name, in); err != nil {
			return err
		}
		b.add(p)
	}
	return nil
}

func (b *builder) add(p Part) {
	switch p.Layer {
	case workspace.LayerIdentity, workspace.LayerRouting:
		b.system = append(b.system, p)
	case workspace.LayerWorking:
		b.working = append(b.working, p)
	default:
		b.reference = append(b.reference, p)
	}
}

// source notes the files of a for-each for staleness. Their text is not part
// of the prompt: only the item's block is.
func (b *builder) source(in workspace.Input) error {
	r, err := b.w.Resolve(b.fsys, b.st, in)
	if err != nil {
		return err
	}
	if r.Missing {
		r.Input.Optional = false // without items there is nothing to run
		if p, ok := b.absent(r); ok {
			p.Layer = workspace.LayerWorking
			b.add(p)
		}
		return nil
	}
	for _, name := range r.Files {
		key := b.w.Display(name)
		if _, ok := b.files[key]; ok {
			continue
		}
		data, err := b.load(name, in)
		if err != nil {
			return err
		}
		b.files[key] = hash(data)
	}
	return nil
}

// absent deals with an input that is not there. ok says that the part takes
// its place.
func (b *builder) absent(r workspace.Resolved) (p Part, ok bool) {
	maker := ""
	if r.Maker != nil {
		maker = r.Maker.Name
	}
	if b.hashOnly {
		return p, false
	}
	if b.opt.Probe && maker != "" {
		at := place{r.Path, r.Input.Section}
		if b.seen[at] {
			return p, false
		}
		b.seen[at] = true
		return Part{Path: b.w.Display(r.Path), Section: r.Input.Section, Layer: r.Layer, Pending: maker, Base: r.Base}, true
	}
	if !r.Input.Optional {
		b.missing = append(b.missing, Missing{
			Input: r.Input, File: b.w.Display(b.st.Contract.Path), Line: r.Input.Line,
			Path: b.w.Display(r.Path), Maker: maker, Mend: b.mend(r),
		})
	}
	return p, false
}

func (b *builder) mend(r workspace.Resolved) string {
	switch {
	case r.Maker == nil && r.Path == b.st.Dir+"/input.md":
		return "write it, or give its text with --input"
	case r.Maker == nil:
		return `make the file, correct the path, or add ", optional" to the input`
	case r.Maker == b.st:
		return "this stage makes it itself; name what an earlier stage makes"
	default:
		return "run stage " + r.Maker.Name + " first, which makes it"
	}
}

// takeItem makes a part of the item's block.
func (b *builder) takeItem() error {
	it := b.opt.Item
	if it == nil || b.hashOnly {
		return nil
	}
	p := Part{Path: b.w.Display(it.File), Section: it.Title, Layer: workspace.LayerWorking}
	text, err := b.itemText(it)
	if err != nil {
		return err
	}
	p.setText(text)
	p.Hash = b.files[p.Path]
	b.item = &p
	return nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
