package markdown

import (
	"bytes"
	"slices"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// What a text nests deeper than deepest, in quotes and lists together, is plain
// text: every further level costs each line below it once more.
const deepest = 100

// A table may have so many cells however short its text is, and beyond that one
// for each byte. Cells that a row leaves out are made, so a header with many
// columns and a row of one letter for each would else take all memory.
const freeCells = 50_000

// BlockParsers are those of CommonMark, none of which takes more time or memory
// than its text is worth.
func BlockParsers() []util.PrioritizedValue {
	list := parser.DefaultBlockParsers()
	for i, v := range list {
		p, ok := v.Value.(parser.BlockParser)
		if ok && (slices.Contains(p.Trigger(), '>') || slices.Contains(p.Trigger(), '+')) {
			list[i].Value = shallow{p}
		}
	}
	return list
}

// shallow opens no quote or list below the deepest level.
type shallow struct{ parser.BlockParser }

func (s shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		if k := n.Kind(); k == ast.KindBlockquote || k == ast.KindList {
			depth++
		}
	}
	if depth >= deepest && parent.Kind() != ast.KindList {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

type tables struct{ parser.ParagraphTransformer }

// NewTables gives what makes tables of paragraphs, but of none that would have
// far more cells than text.
func NewTables() parser.ParagraphTransformer {
	return tables{extension.NewTableParagraphTransformer()}
}

func (t tables) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines := node.Lines()
	columns, size := 0, 0
	for i := range lines.Len() {
		line := lines.At(i)
		value := line.Value(reader.Source())
		size += len(value)
		if len(bytes.Trim(value, " \t\r\n|:-")) == 0 { // may be the line below a header
			columns = max(columns, bytes.Count(value, []byte("|"))+1)
		}
	}
	if columns*lines.Len() > freeCells+size {
		return
	}
	t.ParagraphTransformer.Transform(node, reader, pc)
}
