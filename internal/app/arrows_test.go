package app

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// rows are the rooms from the bottom up. A room may import rooms of a lower row,
// and rooms inside itself.
var rows = [][]string{
	{"markdown"},
	{"workspace"},
	{"prompt"},
	{"lint"},
	{"durable"},
	{"journal", "settings", "document", "schema"},
	{"model", "tool"},
	{"agent"},
	{"toolbox"},
	{"engine", "starter"},
	{"chat"},
	{"app"},
	{"cli"},
}

// TestImportsGoOneWay reads every import of the program's own packages.
func TestImportsGoOneWay(t *testing.T) {
	t.Parallel()
	level := map[string]int{}
	for i, row := range rows {
		for _, room := range row {
			level[room] = i
		}
	}
	err := filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return err
		}
		room := roomOf(filepath.ToSlash(strings.TrimPrefix(p, ".."+string(filepath.Separator))))
		switch {
		case room == "fakeserver", room == "modelruns", room == "measure", filepath.Base(filepath.Dir(p)) == "modeltest":
			return nil // of tests and measurements alone
		}
		from, ok := level[room]
		if !ok {
			t.Errorf("%s lies in the room %q, which has no place in the rows", p, room)
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range f.Imports {
			name, _ := strconv.Unquote(imp.Path.Value)
			to, ok := strings.CutPrefix(name, "towpath/internal/")
			if !ok {
				continue
			}
			target := roomOf(to + "/")
			if target == room {
				continue
			}
			if l, ok := level[target]; !ok || l >= from {
				t.Errorf("%s imports %s: that arrow goes the wrong way", p, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func roomOf(path string) string {
	room, _, _ := strings.Cut(path, "/")
	return room
}
