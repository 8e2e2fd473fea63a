package docs

import (
	"os"
	"path/filepath"
	"testing"

	"towpath/internal/lint"
	"towpath/internal/starter"
	"towpath/internal/workspace"
)

// TestReadmesContractIsSound puts the contract of the README into the course that
// it is taken from.
func TestReadmesContractIsSound(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "course")
	if err := starter.Write(dir, "course"); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, b := range fences(read(t, filepath.Join("..", "README.md"))) {
		if b.info != "markdown" {
			continue
		}
		found = true
		if err := os.WriteFile(filepath.Join(dir, "pipeline", "04-draft", "CONTEXT.md"), []byte(b.body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fsys := os.DirFS(dir)
	w, err := workspace.Load(fsys, ".", workspace.Options{})
	if err != nil || !found {
		t.Fatal(err, found)
	}
	st, err := w.Stage("4")
	if err != nil {
		t.Fatal(err)
	}
	if c := st.Contract; len(c.Inputs) != 2 || c.ForEach == nil || c.Gate != workspace.GateApprove || len(c.Outputs) != 1 {
		t.Errorf("it is read as %+v", c)
	}
	for _, p := range lint.Run(fsys, w, lint.Options{}) {
		t.Error(p)
	}
}
