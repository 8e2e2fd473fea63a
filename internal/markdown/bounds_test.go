package markdown

import (
	"strings"
	"testing"
)

// TestShortTableCannotTakeAllMemory: 30 kB of text whose header has 5,000
// columns and that has 5,000 rows of one letter would be a table of 25 million
// cells.
func TestShortTableCannotTakeAllMemory(t *testing.T) {
	t.Parallel()
	n := 5000
	d := Parse([]byte("|" + strings.Repeat("a|", n) + "\n|" + strings.Repeat("-|", n) + "\n" + strings.Repeat("a\n", n) + "\n# after\n"))
	if len(d.Blocks) != 2 || d.Blocks[0].Kind != Paragraph || d.Blocks[1].Kind != Heading {
		t.Errorf("got %d blocks, the first of kind %v", len(d.Blocks), d.Blocks[0].Kind)
	}
}

func TestLongTablesAreStillTables(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]string{
		"full":   "|a|b|\n|-|-|\n" + strings.Repeat("|1|2|\n", 60_000),
		"sparse": "|a|b|c|d|\n|-|-|-|-|\n" + strings.Repeat("|1|\n", 10_000),
	} {
		if d := Parse([]byte(s)); len(d.Blocks) != 1 || d.Blocks[0].Kind != Table || len(d.Blocks[0].Rows) < 10_000 {
			t.Errorf("%s: it is no table any more", name)
		}
	}
}

// TestDeepNestingEndsAsText: a line of 300,000 quote marks took a third of a
// minute.
func TestDeepNestingEndsAsText(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{">", "> ", "+ ", "1. ", "> + "} {
		src := strings.Repeat(mark, 200_000) + "x\n\n# after\n"
		d := Parse([]byte(src))
		if last := d.Blocks[len(d.Blocks)-1]; last.Kind != Heading {
			t.Errorf("%q: the heading after it is lost", mark)
		}
		depth, items := 0, d.Blocks[0].Items
		for len(items) > 0 && depth <= deepest {
			depth, items = depth+1, items[0].Sub
		}
		if depth > deepest {
			t.Errorf("%q: nested deeper than %d", mark, deepest)
		}
	}
}
