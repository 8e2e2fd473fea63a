package starter

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestEveryTemplateIsListedAndWritten(t *testing.T) {
	t.Parallel()
	entries, err := fs.ReadDir(files, "files")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(Templates()) {
		t.Fatalf("%d templates are shipped, %d are listed", len(entries), len(Templates()))
	}
	for _, tpl := range Templates() {
		dir := filepath.Join(t.TempDir(), "ws")
		if err := Write(dir, tpl.Name); err != nil {
			t.Fatalf("%s: %v", tpl.Name, err)
		}
		for _, name := range []string{"CLAUDE.md", "CONTEXT.md", "_config/audience.md", "pipeline/proposed/.gitkeep"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("%s: %v", tpl.Name, err)
			}
		}
	}
}

func TestNothingIsWrittenOverAPersonsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine := filepath.Join(dir, "CONTEXT.md")
	if err := os.WriteFile(mine, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, "course"); !errors.Is(err, ErrNotEmpty) {
		t.Fatalf("got %v, want ErrNotEmpty", err)
	}
	if got, _ := os.ReadFile(mine); string(got) != "mine" {
		t.Errorf("the file now holds %q", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%d entries, want the person's file alone", len(entries))
	}
}

func TestUnknownTemplateNamesTheKnownOnes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "corse", "../files/course", "course/pipeline"} {
		if err := Write(t.TempDir(), name); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
}
