package document

import (
	"strings"
	"testing"
)

// TestMarksWithoutEndTakeNoLongTime: 200 kB of marks that open and never close
// took twenty seconds; the links around them are still found.
func TestMarksWithoutEndTakeNoLongTime(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]string{
		"emphasis": strings.Repeat("*a_ ", 50_000), "links": strings.Repeat("[a](", 20_000), "targets": strings.Repeat("[a](<b", 30_000),
		"brackets": strings.Repeat("[", 200_000), "images": strings.Repeat("![", 100_000),
	} {
		got := Links("[first](https://a.example/)\n\n" + s + "\n\n*[last](https://b.example/)*\n")
		if len(got) != 2 || got[0].Target != "https://a.example/" || got[1].Text != "last" {
			t.Errorf("%s: got %d links", name, len(got))
		}
	}
}

func TestManyLinksOfOneParagraphAreFound(t *testing.T) {
	t.Parallel()
	if got := Links(strings.Repeat("**[a](https://a.example/)** ", 900)); len(got) != 900 || got[899].Text != "a" {
		t.Errorf("got %d links", len(got))
	}
}
