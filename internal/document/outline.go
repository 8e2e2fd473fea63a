package document

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"towpath/internal/markdown"
)

// Section is a heading of a document with the text below it.
type Section struct {
	Level  int
	Title  string // plain text
	Anchor string // the heading as the fragment of an address; no two of a document are equal
	Start  int    // offset of the heading in the Markdown, bytes
	Body   int    // offset of the text after the heading
	End    int    // offset of the next heading, or the text's length
}

// Outline gives the headings of a document's Markdown, in order.
func Outline(md string) []Section {
	doc := markdown.Parse([]byte(md))
	shift := strings.Index(md, doc.Text) // front matter and marks that the parser takes off
	if shift < 0 {
		shift = 0
	}
	var out []Section
	used := map[string]bool{}
	for _, b := range doc.Blocks {
		if b.Kind != markdown.Heading {
			continue
		}
		title := oneLine(markdown.Plain(b.Title), 300)
		if title == "" {
			continue
		}
		start := min(b.Start+shift, len(md))
		if n := len(out); n > 0 {
			out[n-1].End = start
		}
		out = append(out, Section{Level: b.Level, Title: title, Anchor: unique(used, Anchor(title)),
			Start: start, Body: min(b.End+shift, len(md)), End: len(md)})
	}
	return out
}

// Anchor makes the fragment that stands for a heading: lower case, words
// joined by hyphens, other marks left out.
func Anchor(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(title)) {
		switch {
		case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || r == '-' || r == '_':
			b.WriteRune(r)
		case unicode.IsSpace(r):
			b.WriteByte('-')
		}
	}
	if b.Len() == 0 {
		return "section"
	}
	return b.String()
}

func unique(used map[string]bool, anchor string) string {
	name := anchor
	for n := 1; used[name]; n++ {
		name = anchor + "-" + strconv.Itoa(n)
	}
	used[name] = true
	return name
}

// Find gives the section that an anchor names, and the end of everything below
// its heading, lower headings included. Anchors are compared as Anchor makes
// them, so that a heading's own words do as well.
func Find(sections []Section, anchor string) (s Section, end int, ok bool) {
	at := -1
	for i, c := range sections {
		if c.Anchor == anchor {
			at = i
			break
		}
		if at < 0 && c.Anchor == Anchor(anchor) {
			at = i
		}
	}
	if at < 0 {
		return Section{}, 0, false
	}
	end = sections[at].End
	for _, c := range sections[at+1:] {
		if c.Level <= sections[at].Level {
			break
		}
		end = c.End
	}
	return sections[at], end, true
}

// Link is a link of a document.
type Link struct {
	Text   string // plain, one line
	Target string // as written
}

// Links gives the links of Markdown in order, bare addresses among them.
// Images are none.
func Links(md string) []Link {
	src := []byte(md)
	syntax := goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(markdown.BlockParsers()...),
			parser.WithInlineParsers(inlineParsers()...),
			parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(), util.Prioritized(markdown.NewTables(), 200))...),
			parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
		)),
		goldmark.WithExtensions(extension.Linkify, extension.Strikethrough, extension.TaskList),
	).Parser()
	var out []Link
	_ = ast.Walk(syntax.Parse(text.NewReader(src)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch l := n.(type) {
		case *ast.Link:
			target := string(l.Destination)
			out = append(out, Link{Text: linkText(l, src, target), Target: target})
			return ast.WalkSkipChildren, nil
		case *ast.AutoLink:
			if l.AutoLinkType == ast.AutoLinkURL {
				out = append(out, Link{Text: oneLine(string(l.Label(src)), 200), Target: string(l.URL(src))})
			}
		}
		return ast.WalkContinue, nil
	})
	return out
}

func linkText(l ast.Node, src []byte, target string) string {
	var b strings.Builder
	_ = ast.Walk(l, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch t := n.(type) {
			case *ast.Text:
				b.Write(t.Segment.Value(src))
				b.WriteByte(' ')
			case *ast.String:
				b.Write(t.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	if s := oneLine(markdown.Plain(b.String()), 200); s != "" {
		return s
	}
	return oneLine(target, 200)
}
