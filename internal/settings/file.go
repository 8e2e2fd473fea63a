package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"towpath/internal/durable"
)

// maxFile is the most that is read of a settings file, in bytes.
const maxFile = 1 << 20

// FileError is a fault in a settings file.
type FileError struct {
	File string
	Line int // from 1
	Key  string
	Why  string
}

// Error names file and line.
func (e *FileError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Why)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Key, e.Why)
}

// ExitCode is 2: what the user wrote is wrong.
func (e *FileError) ExitCode() int { return 2 }

// findProject gives the nearest towpath.toml, going up from the workspace to
// its repository's root, or where there is no repository to the top, and the
// folder that a workspace may not lead out of.
func findProject(workspace string, env *environment) (file, root string, err error) {
	if workspace == "" {
		return "", "", nil
	}
	dir, err := realPath(env.abs(workspace))
	if err != nil {
		return "", "", fmt.Errorf("finding the workspace: %w", err)
	}
	root = durable.RepositoryRoot(dir)
	top := root
	if root == "" {
		root = dir
	}
	for {
		file = filepath.Join(dir, ProjectFile)
		if _, err := os.Lstat(file); err == nil {
			return file, root, nil
		}
		up := filepath.Dir(dir)
		if dir == top || up == dir {
			return "", root, nil
		}
		dir = up
	}
}

func realPath(p string) (string, error) {
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return "", durable.Explain("open", p, err)
	}
	return real, nil
}

// readProject reads the workspace's file. A link may not lead out of the
// repository: an error would show what it points to.
func readProject(file, root string) (layer, []byte, error) {
	if file == "" {
		return nil, nil, nil
	}
	real, err := realPath(file)
	if err != nil {
		return nil, nil, err
	}
	st, err := os.Lstat(file)
	if err == nil && st.Mode()&fs.ModeSymlink != 0 && !within(root, real) {
		return nil, nil, fmt.Errorf("reading %s: it is a link that leads out of the repository; replace it by a file", file)
	}
	data, err := readSmall(real)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the settings: %w", err)
	}
	l, err := parseFile(file, data, rankProject)
	return l, data, err
}

func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func readUser(file string) (layer, error) {
	if file == "" {
		return nil, nil
	}
	data, err := readSmall(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading your settings: %w", err)
	}
	return parseFile(file, data, rankUser)
}

// readSmall reads a regular file of at most maxFile bytes.
func readSmall(file string) ([]byte, error) {
	st, err := os.Stat(file)
	if err != nil {
		return nil, durable.Explain("read", file, err)
	}
	if !st.Mode().IsRegular() {
		return nil, &durable.FileError{Op: "read", Path: file, Kind: durable.ErrNotRegular}
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, durable.Explain("read", file, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, durable.Explain("read", file, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("cannot read %s: it is larger than %d KiB", file, maxFile>>10)
	}
	return data, nil
}

// parseFile reads a settings file's text strictly.
func parseFile(file string, data []byte, rank int) (layer, error) {
	data = []byte(strings.TrimPrefix(string(data), "\ufeff"))
	if n := markerLine(data); n > 0 {
		return nil, &FileError{File: file, Line: n, Why: "there is a merge conflict in the file; settle it"}
	}
	var doc map[string]any
	if err := toml.Unmarshal(data, &doc); err != nil {
		return nil, syntaxError(file, err)
	}
	f := &fileReader{file: file, rank: rank, lines: keyLines(data), out: layer{}}
	if err := f.table(nil, doc); err != nil {
		return nil, err
	}
	return f.out, nil
}

func markerLine(data []byte) int {
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ") {
			return n
		}
	}
	return 0
}

func syntaxError(file string, err error) error {
	var d *toml.DecodeError
	if errors.As(err, &d) {
		line, _ := d.Position()
		why := strings.TrimPrefix(d.Error(), "toml: ")
		return &FileError{File: file, Line: line, Key: keyName(d.Key()), Why: "this is not TOML: " + why}
	}
	return &FileError{File: file, Line: 1, Why: "this is not TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
}

// keyLines gives the line on which each key and table stands first. The text
// has been read without error.
func keyLines(data []byte) map[string]int {
	lines := map[string]int{}
	ends := lineEnds(data)
	var p unstable.Parser
	p.Reset(data)
	note := func(path []string, at unstable.Range) {
		if len(path) > deepestKey {
			return // no key of the settings is as deep
		}
		name := strings.Join(path, "\x00")
		if _, ok := lines[name]; !ok {
			n, _ := slices.BinarySearch(ends, int(at.Offset))
			lines[name] = n + 1
		}
	}
	var prefix []string
	var pair func(prefix []string, n *unstable.Node)
	pair = func(prefix []string, n *unstable.Node) {
		path := slices.Clone(prefix)
		for it := n.Key(); it.Next(); {
			path = append(path, string(it.Node().Data))
			note(path, it.Node().Raw)
		}
		if n.Kind == unstable.KeyValue && n.Value().Kind == unstable.InlineTable {
			for it := n.Value().Children(); it.Next(); {
				pair(path, it.Node())
			}
		}
	}
	for p.NextExpression() {
		n := p.Expression()
		switch n.Kind {
		case unstable.KeyValue:
			pair(prefix, n)
		case unstable.Table, unstable.ArrayTable:
			pair(nil, n)
			prefix = nil
			for it := n.Key(); it.Next(); {
				prefix = append(prefix, string(it.Node().Data))
			}
		}
	}
	return lines
}

// deepestKey is how many parts of a dotted key have their line noted.
const deepestKey = 16

// lineEnds gives the offsets of the line ends.
func lineEnds(data []byte) []int {
	var ends []int
	for i, c := range data {
		if c == '\n' {
			ends = append(ends, i)
		}
	}
	return ends
}

type fileReader struct {
	file  string
	rank  int
	lines map[string]int
	out   layer
}

func (f *fileReader) fail(path []string, why string) error {
	return &FileError{File: f.file, Line: max(1, f.lines[strings.Join(path, "\x00")]), Key: keyName(path), Why: why}
}

// table reads a table's keys in the order in which they stand, so that the
// first fault is the one that is told.
func (f *fileReader) table(path []string, t map[string]any) error {
	names := make([]string, 0, len(t))
	for name := range t {
		names = append(names, name)
	}
	at := func(name string) int {
		return f.lines[strings.Join(append(slices.Clone(path), name), "\x00")]
	}
	slices.SortFunc(names, func(a, b string) int {
		if la, lb := at(a), at(b); la != lb {
			return la - lb
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		if err := f.key(append(slices.Clone(path), name), t[name]); err != nil {
			return err
		}
	}
	return nil
}

func (f *fileReader) key(path []string, raw any) error {
	key, known := find(path)
	sub, isMap := raw.(map[string]any)
	switch {
	case known:
		data, err := key.fromFile(raw)
		if err != nil {
			return f.fail(path, err.Error())
		}
		line := max(1, f.lines[strings.Join(path, "\x00")])
		f.out[keyName(path)] = value{key: key, path: path, data: data, rank: f.rank, origin: Origin{File: f.file, Line: line}}
		return nil
	case isTable(path) && isMap:
		return f.table(path, sub)
	case isTable(path):
		return f.fail(path, "this is a table: write its keys below ["+keyName(path)+"]")
	}
	return f.fail(path, unknown(path))
}
