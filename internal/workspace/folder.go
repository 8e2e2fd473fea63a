package workspace

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// containers are the folders that can hold the stages, in the order in which
// they are looked for.
var containers = []string{"pipeline/stages", "workflow/stages", "pipeline", "stages", "phases"}

var stageName = pattern(`(?i)^(?:(?:stage|step|phase)[-_ ]*)?([0-9]{1,3})([a-z]?)(?:$|[-_. ].*$)`)

// stageOf reads a folder's name: 01-scope, 01_scope, 1-scope, 01b-x, stage-01-x.
func stageOf(name string) (number int, letter string, ok bool) {
	m := stageName().FindStringSubmatch(name)
	if m == nil {
		return 0, "", false
	}
	n, err := strconv.Atoi(m[1])
	return n, strings.ToLower(m[2]), err == nil
}

type folder struct {
	name, dir string // dir: tree path
	number    int
	letter    string
	contract  string // tree path of its CONTEXT.md, links resolved; "" if there is none
	fault     string // why it cannot be looked into, as the end of a sentence; "" if it can
}

func (t tree) stageFolders(dir string) []folder {
	entries, err := t.list(dir)
	if err != nil {
		return nil
	}
	var out []folder
	for _, e := range entries {
		n, letter, ok := stageOf(e.Name())
		if !ok {
			continue
		}
		p := path.Join(dir, e.Name())
		real, info, err := t.real(p)
		if err != nil && e.Type()&fs.ModeSymlink != 0 {
			out = append(out, folder{name: e.Name(), dir: p, number: n, letter: letter, fault: fault(info, err)})
		}
		if err != nil || !info.IsDir() {
			continue
		}
		out = append(out, folder{name: e.Name(), dir: real, number: n, letter: letter, contract: t.named(real, "CONTEXT.md")})
	}
	slices.SortFunc(out, func(a, b folder) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.letter, b.letter), cmp.Compare(a.name, b.name))
	})
	return out
}

// container finds the folder that holds a workspace's stages.
func (t tree) container(dir string) (string, []folder) {
	entries, err := t.list(dir)
	if err != nil {
		return "", nil
	}
	has := map[string]string{}
	for _, e := range entries {
		has[strings.ToLower(e.Name())] = e.Name()
	}
	for _, c := range containers {
		first, rest, nested := strings.Cut(c, "/")
		name, ok := has[first]
		if !ok {
			continue
		}
		p := path.Join(dir, name)
		if nested {
			p = path.Join(p, rest)
		}
		real, info, err := t.real(p)
		if err != nil || !info.IsDir() {
			continue
		}
		if f := t.stageFolders(real); hasContract(f) {
			return real, f
		}
	}
	// Numbered folders at the root: those with a contract that are not
	// workspaces themselves.
	var f []folder
	for _, s := range t.stageFolders(dir) {
		if s.contract == "" {
			continue
		}
		if !t.holdsContainer(s.dir) {
			f = append(f, s)
		}
	}
	if len(f) > 0 {
		return dir, f
	}
	return "", nil
}

func (t tree) holdsContainer(dir string) bool {
	for _, c := range containers {
		if _, info, err := t.real(path.Join(dir, c)); err == nil && info.IsDir() && hasContract(t.stageFolders(path.Join(dir, c))) {
			return true
		}
	}
	return false
}

func hasContract(f []folder) bool {
	return slices.ContainsFunc(f, func(s folder) bool { return s.contract != "" })
}

// named finds a file in a folder, exactly or ignoring letter case. The path has
// its links resolved; "" if there is none.
func (t tree) named(dir, name string) string {
	p := path.Join(dir, name)
	if real, info, err := t.real(p); err == nil && info.Mode().IsRegular() {
		return real
	}
	entries, err := t.list(dir)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if strings.EqualFold(e.Name(), name) {
			if real, info, err := t.real(path.Join(dir, e.Name())); err == nil && info.Mode().IsRegular() {
				return real
			}
		}
	}
	return ""
}

// unusable says why what stands in a folder under a file's name is not read, as
// the end of a sentence; "" if nothing stands there.
func (t tree) unusable(dir, name string) (file, why string) {
	entries, err := t.list(dir)
	if err != nil {
		return "", ""
	}
	for _, e := range entries {
		if !strings.EqualFold(e.Name(), name) {
			continue
		}
		p := path.Join(dir, e.Name())
		_, info, err := t.real(p)
		if why = fault(info, err); why != "" {
			return p, why
		}
	}
	return "", ""
}

// fault says why something is no file that can be read, "" if it is one.
func fault(info fs.FileInfo, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is a link to something that is not there"
	case errors.Is(err, errOutside), errors.Is(err, errLoop):
		return linkReason(err)
	case err != nil:
		return "cannot be read: " + reason(err)
	case info.IsDir():
		return "is a folder"
	case !info.Mode().IsRegular():
		return "is not a regular file"
	}
	return ""
}

// Discover lists the workspaces at or below dir, as tree paths in byte order.
// Several may live in one repository. Hidden folders, outputs and the folders
// of package managers are not searched, links are not followed, and the search
// goes eight folders deep.
func Discover(fsys fs.FS, dir string) ([]string, error) {
	t := newTree(fsys)
	root, info, err := t.real(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "search", Path: dir, Err: fs.ErrInvalid}
	}
	d := discovery{tree: t, left: 20000}
	d.walk(root, 0)
	slices.Sort(d.found)
	return d.found, nil
}

type discovery struct {
	tree
	found []string
	left  int // folders that may still be looked at
}

func (d *discovery) walk(dir string, depth int) {
	if depth > 8 || d.left <= 0 {
		return
	}
	d.left--
	skip := map[string]bool{}
	if c, stages := d.container(dir); c != "" {
		d.found = append(d.found, dir)
		if c != dir {
			skip[c] = true
			for _, other := range containers {
				skip[path.Join(dir, firstOf(other))] = true
			}
		}
		for _, s := range stages {
			skip[s.dir] = true
		}
	}
	entries, err := d.list(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		p := path.Join(dir, e.Name())
		if e.IsDir() && !skip[p] && !notSearched(e.Name()) {
			d.walk(p, depth+1)
		}
	}
}

func notSearched(name string) bool {
	switch name {
	case "node_modules", "vendor", "output", "history", "__pycache__", "venv":
		return true
	}
	return strings.HasPrefix(name, ".")
}

// Above gives the workspace that dir belongs to, dir itself or the nearest
// folder above it, and the folder of its stages. A folder of stages is no
// workspace of its own. Both are tree paths, "" if there is none.
func Above(fsys fs.FS, dir string) (workspace, stages string) {
	t := newTree(fsys)
	for p := path.Clean(dir); ; p = path.Dir(p) {
		c, _ := t.container(p)
		if c == "" {
			if p == "." {
				return "", ""
			}
			continue
		}
		for up := p; up != "."; {
			up = path.Dir(up)
			if c2, _ := t.container(up); c2 == p {
				return up, p
			}
			if strings.Count(p, "/")-strings.Count(up, "/") > 1 {
				break // a container lies two folders down at most
			}
		}
		return p, c
	}
}
