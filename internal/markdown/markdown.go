// Package markdown reads CommonMark once and gives the pieces that the rest of
// the program cuts by: headings, lists, tables, code blocks, each with the
// bytes and the line where it stands, so that what is cut out stays as its
// author wrote it. Values are not changed after Parse and may be shared.
package markdown

import (
	"bytes"
	"sort"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Kind says what a block is.
type Kind int

// The kinds of a block.
const (
	Other Kind = iota // anything that is not named below
	Paragraph
	Heading
	List
	Table
	Code // fenced or indented
	Quote
	HTML // among it comments
	Rule
)

// Doc is a parsed text. Text has no byte order mark and only LF endings; every
// offset counts bytes in it.
type Doc struct {
	Text   string
	Front  string // the front matter with its marks, "" without one
	Blocks []Block
	starts []int // offsets of the lines
	origin []int // the line that each line came from; nil: itself
}

// Block is one block at the top level of a text, from the start of its first
// line to the start of the next block.
type Block struct {
	Kind       Kind
	Start, End int
	Line       int // of Start, from 1

	Level   int    // of a heading, 1 to 6
	Title   string // of a heading, as written without the marks of the heading
	Info    string // of a fenced code block: "python"
	Body    string // of a code block
	Ordered bool   // of a list
	Items   []Item // of a list
	Header  Row    // of a table
	Rows    []Row  // of a table
}

// Item is one item of a list.
type Item struct {
	Start, End int
	Line       int
	Text       string // its own paragraphs, lines joined by LF, without lists below it
	Sub        []Item // the lists below it
	Code       string // bodies of code blocks below it
}

// Row is a row of a table.
type Row struct {
	Start, End int
	Line       int
	Cells      []string // as written, trimmed; escaped bars are bars
}

var blockParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(BlockParsers()...),
		parser.WithParagraphTransformers(
			util.Prioritized(NewTables(), 200),
		),
	)
})

// Normalise removes a byte order mark and turns CRLF and CR into LF.
func Normalise(src []byte) string {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if bytes.IndexByte(src, '\r') < 0 {
		return string(src)
	}
	s := strings.ReplaceAll(string(src), "\r\n", "\n")
	return strings.ReplaceAll(s, "\r", "\n")
}

// Parse reads a text. Any bytes are a text: there is no error.
func Parse(src []byte) *Doc { return ParseFrom(src, nil) }

// ParseFrom reads a text that was made of another one: origin holds, for each
// of its lines, the line of the other text that it stands for.
func ParseFrom(src []byte, origin []int) *Doc {
	d := &Doc{Text: Normalise(src), origin: origin}
	d.starts = append(d.starts, 0)
	for i := 0; i < len(d.Text); i++ {
		if d.Text[i] == '\n' {
			d.starts = append(d.starts, i+1)
		}
	}
	d.Front = frontMatter(d.Text)
	masked := []byte(d.Text)
	for i := range len(d.Front) {
		if masked[i] != '\n' {
			masked[i] = ' '
		}
	}
	root := blockParser().Parse(text.NewReader(masked))
	d.Blocks = d.children(root, masked, len(d.Text))
	return d
}

// LineOf gives the line, from 1, in which an offset lies.
func (d *Doc) LineOf(offset int) int {
	n := sort.Search(len(d.starts), func(i int) bool { return d.starts[i] > offset })
	if n > 0 && n <= len(d.origin) {
		return d.origin[n-1]
	}
	return n
}

// Slice is the text between two offsets.
func (d *Doc) Slice(start, end int) string { return d.Text[start:end] }

func (d *Doc) lineStart(offset int) int {
	offset = min(max(offset, 0), len(d.Text))
	return strings.LastIndexByte(d.Text[:offset], '\n') + 1
}

func (d *Doc) children(parent ast.Node, src []byte, end int) []Block {
	var out []Block
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Pos() < 0 || n.Type() != ast.TypeBlock {
			continue
		}
		b := Block{Start: d.lineStart(position(n)), End: end}
		if k := len(out); k > 0 {
			b.Start = max(b.Start, out[k-1].Start)
			out[k-1].End = b.Start
		}
		b.Line = d.LineOf(b.Start)
		d.fill(&b, n, src)
		out = append(out, b)
	}
	// Ends are known only now, and lists and tables need them.
	i := 0
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Pos() < 0 || n.Type() != ast.TypeBlock {
			continue
		}
		switch out[i].Kind {
		case List:
			out[i].Items = d.items(n, src, out[i].Start, out[i].End)
		case Table:
			d.table(&out[i], n, src)
		}
		i++
	}
	return out
}

// position is where a block begins. A table that follows a line of text without
// a blank one says that it begins with that line; its first row knows better.
func position(n ast.Node) int {
	if t, ok := n.(*east.Table); ok && t.FirstChild() != nil && t.FirstChild().Pos() >= 0 {
		return t.FirstChild().Pos()
	}
	return n.Pos()
}

func (d *Doc) fill(b *Block, n ast.Node, src []byte) {
	switch n := n.(type) {
	case *ast.Heading:
		b.Kind, b.Level = Heading, n.Level
		b.Title = strings.TrimSpace(linesOf(n, src, " "))
	case *ast.Paragraph, *ast.TextBlock:
		b.Kind = Paragraph
	case *ast.List:
		b.Kind, b.Ordered = List, n.IsOrdered()
	case *ast.FencedCodeBlock:
		b.Kind, b.Body = Code, linesOf(n, src, "")
		if n.Info != nil {
			b.Info = strings.TrimSpace(string(n.Info.Segment.Value(src)))
		}
	case *ast.CodeBlock:
		b.Kind, b.Body = Code, linesOf(n, src, "")
	case *ast.Blockquote:
		b.Kind = Quote
	case *ast.HTMLBlock:
		b.Kind = HTML
	case *ast.ThematicBreak:
		b.Kind = Rule
	case *east.Table:
		b.Kind = Table
	}
}

func (d *Doc) items(list ast.Node, src []byte, start, end int) []Item {
	var out []Item
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		pos := n.Pos()
		if pos < 0 {
			continue
		}
		it := Item{Start: min(max(d.lineStart(pos), start), end), End: end}
		if k := len(out); k > 0 {
			it.Start = max(it.Start, out[k-1].Start)
			out[k-1].End = it.Start
		}
		it.Line = d.LineOf(it.Start)
		out = append(out, it)
	}
	i := 0
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Pos() < 0 {
			continue
		}
		var own []string
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			switch c := c.(type) {
			case *ast.List:
				out[i].Sub = append(out[i].Sub, d.items(c, src, out[i].Start, out[i].End)...)
			case *ast.FencedCodeBlock, *ast.CodeBlock:
				out[i].Code += linesOf(c, src, "")
			case *ast.Heading, *ast.Paragraph, *ast.TextBlock:
				own = append(own, strings.TrimSpace(linesOf(c, src, "")))
			}
		}
		out[i].Text = strings.Join(own, "\n")
		i++
	}
	return out
}

func (d *Doc) table(b *Block, n ast.Node, src []byte) {
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		var row Row
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			s := strings.TrimSpace(linesOf(c, src, " "))
			row.Cells = append(row.Cells, strings.ReplaceAll(s, `\|`, "|"))
		}
		row.Start = min(max(d.lineStart(r.Pos()), b.Start), b.End)
		row.Line = d.LineOf(row.Start)
		row.End = b.End
		if i := strings.IndexByte(d.Text[row.Start:], '\n'); i >= 0 {
			row.End = min(row.Start+i+1, b.End)
		}
		if _, ok := r.(*east.TableHeader); ok {
			b.Header = row
		} else {
			b.Rows = append(b.Rows, row)
		}
	}
}

func linesOf(n ast.Node, src []byte, sep string) string {
	var b strings.Builder
	lines := n.Lines()
	if lines == nil {
		return ""
	}
	for i := range lines.Len() {
		if i > 0 {
			b.WriteString(sep)
		}
		seg := lines.At(i)
		b.Write(seg.Value(src))
	}
	return b.String()
}

// frontMatter gives the YAML (---) or TOML (+++) block at the very start, with
// its marks and line end; "" where there is none. A rule at the start of a
// text is not one.
func frontMatter(s string) string {
	mark, rest, ok := strings.Cut(s, "\n")
	mark = strings.TrimRight(mark, " \t")
	if !ok || (mark != "---" && mark != "+++") {
		return ""
	}
	offset := len(s) - len(rest)
	sawKey := false
	for offset < len(s) {
		line, _, more := strings.Cut(s[offset:], "\n")
		next := offset + len(line)
		if more {
			next++
		}
		line = strings.TrimRight(line, " \t")
		if line == mark || (mark == "---" && line == "...") {
			if !sawKey && strings.TrimSpace(s[len(mark):offset]) != "" {
				return ""
			}
			return s[:next]
		}
		if !sawKey && strings.TrimSpace(line) != "" {
			if !looksLikeKey(line, mark) {
				return ""
			}
			sawKey = !strings.HasPrefix(strings.TrimSpace(line), "#")
		}
		offset = next
	}
	return ""
}

func looksLikeKey(line, mark string) bool {
	t := strings.TrimSpace(line)
	if strings.HasPrefix(t, "# ") && mark == "---" {
		return true
	}
	sep := ":"
	if mark == "+++" {
		if strings.HasPrefix(t, "[") || strings.HasPrefix(t, "#") {
			return true
		}
		sep = "="
	}
	key, _, ok := strings.Cut(t, sep)
	key = strings.Trim(strings.TrimSpace(key), `"'`)
	return ok && key != "" && len(key) < 60 && !strings.ContainsAny(key, "*#[]`|")
}
