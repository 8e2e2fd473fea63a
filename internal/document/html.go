package document

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxElements = 200_000 // of a page whose main content is looked for
	fewChars    = 250     // a page with less visible text than this may hide its text from readers without JavaScript
)

// readHTML gives a page's main content as Markdown.
func readHTML(ctx context.Context, name, text string) (doc Doc, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading the page: %v", p)
		}
	}()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil { // nested too deep for a tree
		return Doc{Kind: KindHTML, Markdown: bareText(text)}, nil
	}
	title := pageTitle(root)
	reveal(root)
	clean(root)
	rest := measure(root)
	main, readTitle := mainContent(root, pageURL(name))
	if main == nil || measure(main) < fewChars && measure(main)*5 < rest {
		main = withoutChrome(root)
	}
	if err := ctx.Err(); err != nil {
		return Doc{}, err
	}
	md, err := toMarkdown(ctx, main)
	if err != nil {
		return Doc{}, err
	}
	if title == "" {
		title = readTitle
	}
	if title == "" {
		title = firstHeading(md)
	}
	if t := oneLine(title, 200); t != "" && !startsWithH1(md) {
		md = "# " + escapeHeading(t) + "\n\n" + md
	}
	if strings.TrimSpace(md) == "" {
		return Doc{}, errors.New("the page has no text")
	}
	return Doc{Title: title, Markdown: md, Kind: KindHTML}, nil
}

// pageURL gives the address that relative links of a page are resolved
// against, nil for a file.
func pageURL(name string) *url.URL {
	u, err := url.Parse(name)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	return u
}

// mainContent finds the article in a page, nil if there is none.
func mainContent(root *html.Node, at *url.URL) (*html.Node, string) {
	p := readability.NewParser()
	p.KeepClasses = true // code blocks keep their language
	p.MaxElemsToParse = maxElements
	art, err := p.ParseDocument(root, at)
	if err != nil || art.Node == nil {
		return nil, ""
	}
	return art.Node, art.Title()
}

// pageTitle takes the title from the only h1, else from the title element
// without the site's name, else from what the page tells other sites.
func pageTitle(root *html.Node) string {
	var h1 []string
	var title, og string
	walk(root, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.H1:
			h1 = append(h1, innerText(n))
		case atom.Title:
			if title == "" && n.Namespace == "" {
				title = innerText(n)
			}
		case atom.Meta:
			if attr(n, "property") == "og:title" {
				og = attr(n, "content")
			}
		}
		return true
	})
	if len(h1) == 1 {
		if t := strings.TrimRight(oneLine(h1[0], 200), "¶# "); t != "" {
			return t
		}
	}
	if t := oneLine(og, 200); t != "" {
		return t
	}
	title = oneLine(title, 200)
	for _, sep := range []string{" | ", " — ", " – ", " · ", " :: "} {
		if t, _, ok := strings.Cut(title, sep); ok && len(strings.Fields(t)) >= 1 {
			return t
		}
	}
	return title
}

// reveal shows hidden parts of a page that has next to no visible text: pages
// that are sent whole and shown by a script.
func reveal(root *html.Node) {
	visible, hidden := 0, 0
	var count func(n *html.Node, h bool)
	count = func(n *html.Node, h bool) {
		if skipped(n) {
			return
		}
		h = h || isHidden(n)
		if n.Type == html.TextNode {
			if l := len(strings.TrimSpace(n.Data)); h {
				hidden += l
			} else {
				visible += l
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			count(c, h)
		}
	}
	count(root, false)
	if visible >= fewChars || hidden <= 2*visible {
		return
	}
	walk(root, func(n *html.Node) bool {
		if isHidden(n) {
			n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
				return a.Key == "hidden" || a.Key == "style" || a.Key == "aria-hidden"
			})
		}
		return true
	})
}

func isHidden(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	for _, a := range n.Attr {
		if a.Key == "hidden" {
			return true
		}
		if a.Key == "style" {
			s := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
			if strings.Contains(s, "display:none") || strings.Contains(s, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}

// clean takes out what is never content: embedded images, marks that link to
// a heading.
func clean(root *html.Node) {
	var drop []*html.Node
	walk(root, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Img:
			if strings.HasPrefix(strings.TrimSpace(strings.ToLower(attr(n, "src"))), "data:") {
				drop = append(drop, n)
			}
		case atom.A:
			t := strings.TrimSpace(innerText(n))
			if strings.HasPrefix(attr(n, "href"), "#") && (t == "¶" || t == "#" || t == "§" || t == "🔗" || t == "") && inHeading(n) {
				drop = append(drop, n)
			}
		}
		return true
	})
	for _, n := range drop {
		if n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
	}
}

func inHeading(n *html.Node) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		switch p.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			return true
		}
	}
	return false
}

// withoutChrome gives the body without navigation, headers and the like: the
// way for pages in which no article is found.
func withoutChrome(root *html.Node) *html.Node {
	body := root
	var drop []*html.Node
	walk(root, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Body:
			body = n
		case atom.Nav, atom.Footer, atom.Aside, atom.Form, atom.Button, atom.Template, atom.Iframe, atom.Svg:
			drop = append(drop, n)
			return false
		}
		return true
	})
	for _, n := range drop {
		if n.Parent != nil && measure(n)*2 < measure(body) {
			n.Parent.RemoveChild(n)
		}
	}
	return body
}

// measure counts the characters of text outside links.
func measure(n *html.Node) int {
	total := 0
	walk(n, func(n *html.Node) bool {
		if skipped(n) || n.DataAtom == atom.A {
			return false
		}
		if n.Type == html.TextNode {
			total += len(strings.TrimSpace(n.Data))
		}
		return true
	})
	return total
}

// skipped says that an element's text is never shown.
func skipped(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Head, atom.Template:
		return n.Type == html.ElementNode
	}
	return false
}

func toMarkdown(ctx context.Context, n *html.Node) (string, error) {
	conv := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(commonmark.WithHeadingStyle("atx")),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(table.WithHeaderPromotion(true), table.WithSpanCellBehavior(table.SpanBehaviorEmpty), table.WithNewlineBehavior(table.NewlineBehaviorPreserve), table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)),
	))
	md, err := conv.ConvertNode(n, converter.WithContext(ctx))
	if err != nil {
		return "", fmt.Errorf("turning the page into Markdown: %w", err)
	}
	return string(md), nil
}

// bareText gives the text of a page that cannot be made a tree, a block a
// line.
func bareText(text string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(text))
	skip := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.StartTagToken:
			name, _ := z.TagName()
			if t := string(name); skip == "" && (t == "script" || t == "style") {
				skip = t
			}
			b.WriteByte(' ')
		case html.EndTagToken:
			name, _ := z.TagName()
			switch t := string(name); t {
			case skip:
				skip = ""
			case "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "br":
				b.WriteByte('\n')
			}
		case html.TextToken:
			if skip == "" {
				if t := strings.Join(strings.Fields(string(z.Text())), " "); t != "" {
					b.WriteString(html.UnescapeString(t))
				}
			}
		}
	}
}

// startsWithH1 says whether Markdown has a level 1 heading among its first
// lines.
func startsWithH1(md string) bool {
	n := 0
	for line := range strings.Lines(md) {
		if strings.HasPrefix(line, "# ") {
			return true
		}
		if strings.TrimSpace(line) != "" {
			if n++; n == 5 {
				return false
			}
		}
	}
	return false
}

func escapeHeading(t string) string {
	return strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "<", "\\<", "[", "\\[").Replace(t)
}

// walk visits n and, where visit says so, what is below it.
func walk(n *html.Node, visit func(*html.Node) bool) {
	if !visit(n) {
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, visit)
	}
}

func innerText(n *html.Node) string {
	var b strings.Builder
	walk(n, func(n *html.Node) bool {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		return true
	})
	return b.String()
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}
