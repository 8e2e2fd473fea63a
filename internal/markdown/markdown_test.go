package markdown

import (
	"strings"
	"testing"
)

func outline(d *Doc) string {
	names := map[Kind]string{Other: "other", Paragraph: "paragraph", Heading: "heading", List: "list", Table: "table", Code: "code", Quote: "quote", HTML: "html", Rule: "rule"}
	var out []string
	for _, b := range d.Blocks {
		out = append(out, names[b.Kind])
	}
	return strings.Join(out, " ")
}

func TestBlocksStandWhereTheyAreWritten(t *testing.T) {
	t.Parallel()
	src := "\ufeff---\r\nname: x\r\n---\r\n# T\r\n\r\ntext\r\nmore\n\nSet\n---\n\n```md\n## no\n```\n<!--\n## no\n-->\n\n## A *b*\n\n" +
		"- a\n  cont\n  - b\n    ```\n    x\n    ```\n- c\n\n| a | b |\n|---|---|\n| `x\\|y` | 2 |\n| 3 |\n\n> ## q\n\n1. z\n\n***\n"
	d := Parse([]byte(src))
	if got := outline(d); got != "heading paragraph heading code html heading list table quote list rule" {
		t.Error(got)
	}
	if d.Front != "---\nname: x\n---\n" || strings.ContainsAny(d.Text, "\r\ufeff") {
		t.Errorf("front matter %q", d.Front)
	}
	lines := []int{4, 6, 9, 12, 15, 19, 21, 29, 34, 36, 38}
	for i, b := range d.Blocks {
		if b.Line != lines[i] {
			t.Errorf("block %d is on line %d, want %d", i, b.Line, lines[i])
		}
	}
	list := d.Blocks[6].Items
	if len(list) != 2 || list[0].Text != "a\ncont" || len(list[0].Sub) != 1 || list[0].Sub[0].Code != "x\n" || list[1].Line != 27 {
		t.Errorf("%+v", list)
	}
	if got := d.Slice(list[0].Start, list[0].End); got != "- a\n  cont\n  - b\n    ```\n    x\n    ```\n" {
		t.Errorf("%q", got)
	}
	table := d.Blocks[7]
	if strings.Join(table.Header.Cells, ",") != "a,b" || len(table.Rows) != 2 || table.Rows[0].Cells[0] != "`x|y`" || table.Rows[1].Line != 32 {
		t.Errorf("%+v", table)
	}
}

func TestATableRightBelowALineOfText(t *testing.T) {
	t.Parallel()
	d := Parse([]byte("Working:\n| a |\n|---|\n| b |\n"))
	if outline(d) != "paragraph table" || d.Slice(d.Blocks[0].Start, d.Blocks[0].End) != "Working:\n" || d.Blocks[1].Line != 2 {
		t.Errorf("%+v", d.Blocks)
	}
}

func TestFrontMatterIsTold(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"---\na: b\n---\ntext\n":      "---\na: b\n---\n",
		"---\n# c\na: b\n...\ntext\n": "---\n# c\na: b\n...\n",
		"+++\na = 1\n+++\n":           "+++\na = 1\n+++\n",
		"---\n\n---\n":                "---\n\n---\n",
		"---\nA sentence.\n---\n":     "",
		"---\na: b\n":                 "",
		"text\n---\na: b\n---\n":      "",
		"---\n- **bold: x**\n---\n":   "",
		"---":                         "",
		"":                            "",
	} {
		if got := Parse([]byte(src)).Front; got != want {
			t.Errorf("%q has the front matter %q, want %q", src, got, want)
		}
	}
}

func TestPlainDropsTheMarks(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"**Inputs** `a_b` *x*":                "Inputs a_b x",
		"[the *guide*](a(b).md \"t\") ![](x)": "the guide",
		"snake_case and 2 * 3":                "snake_case and 2 * 3",
		"a <b>c</b> <!-- d --> 1 < 2":         "a c 1 < 2",
		`\*not\* \[it\]`:                      "*not* [it]",
		"notes/*.md":                          "notes/*.md",
		"~~old~~ new":                         "old new",
		"``a`b``":                             "a`b",
	} {
		if got := Plain(src); got != want {
			t.Errorf("Plain(%q) is %q, want %q", src, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"# a\n\n- b\n  - c\n\n| a |\n|---|\n| b |\n", "---\na: b\n---\n", "a\n===\n", "- - - a\n", "> - `", "<!--", "```\n", "1. a\n\n   b\n", "\r\n\r", "| a |\n|-|\n|\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 1<<16 {
			return
		}
		d := Parse([]byte(src))
		at := 0
		for _, b := range d.Blocks {
			if b.Start < at || b.End < b.Start || b.End > len(d.Text) {
				t.Fatalf("a block from %d to %d after %d in %d bytes", b.Start, b.End, at, len(d.Text))
			}
			at = b.Start
			checkItems(t, b.Items, b.Start, b.End)
			for _, r := range b.Rows {
				if r.Start < b.Start || r.End > b.End || r.End < r.Start {
					t.Fatalf("a row from %d to %d in a table from %d to %d", r.Start, r.End, b.Start, b.End)
				}
			}
		}
		_ = Plain(src)
	})
}

func checkItems(t *testing.T, items []Item, start, end int) {
	t.Helper()
	for _, it := range items {
		if it.Start < start || it.End > end || it.End < it.Start {
			t.Fatalf("an item from %d to %d within %d to %d", it.Start, it.End, start, end)
		}
		checkItems(t, it.Sub, it.Start, it.End)
	}
}
