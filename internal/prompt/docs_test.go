package prompt

import (
	"flag"
	"os"
	"strings"
	"testing"

	"towpath/internal/workspace"
)

var update = flag.Bool("update", false, "write the example of docs/prompts.md anew")

// TestTheDocumentedExampleIsWhatIsSent holds docs/prompts.md byte for byte.
func TestTheDocumentedExampleIsWhatIsSent(t *testing.T) {
	fsys := os.DirFS("testdata/leaflet")
	w, err := workspace.Load(fsys, ".", workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st := stage(t, w, "02-text")
	list, err := w.Items(fsys, st)
	if err != nil || len(list.Items) != 3 {
		t.Fatalf("%d items, %v", len(list.Items), err)
	}
	c, err := Build(fsys, w, st, Options{Item: &list.Items[1], Total: 3})
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/leaflet/pipeline/02-text/CONTEXT.md")
	if err != nil {
		t.Fatal(err)
	}
	const page, fence = "../../docs/prompts.md", "`````"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	pieces := strings.Split(string(data), fence)
	if len(pieces) != 7 {
		t.Fatalf("%s has %d fences of five, want 6", page, len(pieces)-1)
	}
	want := []string{"markdown\n" + string(source), "text\n" + c.System + "\n", "text\n" + c.User + "\n"}
	for i, text := range want {
		if *update {
			pieces[2*i+1] = text
		} else if pieces[2*i+1] != text {
			t.Errorf("block %d of %s is\n%s\nbut it is\n%s", i+1, page, pieces[2*i+1], text)
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(strings.Join(pieces, fence)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
