package markdown

import (
	"strings"
	"testing"
)

func TestParseDump(t *testing.T) {
	src := "\ufeff---\r\nname: x\r\n---\r\n# T\r\n\r\ntext\r\nmore\n\nSet\n---\n\n```md\n## no\n```\n<!-- \n## no\n-->\n\n## A\n\n- a\n  cont\n  - b\n    ```\n    x\n    ```\n- c\n\n| a | b |\n|---|---|\n| `x\\|y` | 2 |\n| 3 |\n\n> ## q\n\n1. z\n"
	d := Parse([]byte(src))
	for _, b := range d.Blocks {
		t.Logf("%d %q line %d lvl %d %q items %+v rows %+v %+v body %q", b.Kind, d.Slice(b.Start, b.End), b.Line, b.Level, b.Title, b.Items, b.Header, b.Rows, b.Body)
	}
	if d.Front != "---\nname: x\n---\n" {
		t.Errorf("front %q", d.Front)
	}
	if strings.Contains(d.Text, "\r") {
		t.Error("CR left")
	}
}
