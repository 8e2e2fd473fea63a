package document

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Every mark of emphasis in a paragraph is held against those before it, and an
// open link is looked for to the paragraph's end. Marks beyond these are text.
const (
	mostMarks = 2000
	mostLinks = 5000
	linkWork  = 1 << 30 // links times bytes of their paragraph
)

// inlineParsers are those of CommonMark, none of which takes more time than a
// paragraph is worth.
func inlineParsers() []util.PrioritizedValue {
	list := parser.DefaultInlineParsers()
	for i, v := range list {
		p, ok := v.Value.(parser.InlineParser)
		if ok && bytes.ContainsAny(p.Trigger(), "*[") {
			list[i].Value = &sparing{InlineParser: p, key: parser.NewContextKey()}
		}
	}
	return list
}

// sparing stops opening marks in a paragraph that has too many.
type sparing struct {
	parser.InlineParser
	key parser.ContextKey
}

type spent struct {
	parent ast.Node
	marks  int
	most   int
}

func (s *sparing) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, _ := block.PeekLine()
	if len(line) == 0 || line[0] == ']' {
		return s.InlineParser.Parse(parent, block, pc)
	}
	n, _ := pc.Get(s.key).(*spent)
	if n == nil || n.parent != parent {
		n = &spent{parent: parent, most: mostMarks}
		if line[0] == '[' || line[0] == '!' {
			n.most = min(mostLinks, linkWork/max(1, size(parent)))
		}
		pc.Set(s.key, n)
	}
	if n.marks++; n.marks > n.most {
		return nil
	}
	return s.InlineParser.Parse(parent, block, pc)
}

// CloseBlock hands on the end of a paragraph to parsers that want it.
func (s *sparing) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if c, ok := s.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

func size(n ast.Node) int {
	if n.Type() != ast.TypeBlock || n.Lines().Len() == 0 {
		return 0
	}
	return n.Lines().At(n.Lines().Len()-1).Stop - n.Lines().At(0).Start
}
