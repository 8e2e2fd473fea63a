package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"towpath/internal/document"
	"towpath/internal/model"
	"towpath/internal/tool"
)

const (
	snippetBytes = 3000
	maxLinks     = 50
	maxHeadings  = 120
)

// arguments are those of all tools together.
type arguments struct {
	URL      string          `json:"url"`
	Question string          `json:"question"`
	Schema   json.RawMessage `json:"schema"`
}

// reader is one tool of the server.
type reader struct {
	server *server
	spec   tool.Spec
	do     func(context.Context, arguments, view) (text string, structured any, err error)
}

// Spec describes the tool.
func (r *reader) Spec() tool.Spec { return r.spec }

// Call fetches the document and gives the tool's slice of it.
func (r *reader) Call(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	var in arguments
	if err := json.Unmarshal(args, &in); err != nil {
		return failure(fmt.Errorf("the arguments cannot be read: %w", err)), nil
	}
	page, err := r.server.page(ctx, in.URL)
	if err != nil {
		if ctx.Err() != nil {
			return tool.Result{}, ctx.Err()
		}
		return failure(err), nil
	}
	text, structured, err := r.do(ctx, in, page)
	if err != nil {
		if fatal(ctx, err) {
			return tool.Result{}, err
		}
		return failure(err), nil
	}
	data, err := json.Marshal(structured)
	if err != nil {
		return tool.Result{}, fmt.Errorf("writing the result of %s: %w", r.spec.Name, err)
	}
	res := tool.Result{Text: text, Structured: data, Untrusted: true, Sources: []tool.Source{{URL: page.Address, Title: page.Title}}}
	if page.anchor != "" {
		res.Sources = append(res.Sources, tool.Source{URL: page.Address + "#" + page.anchor, Title: page.Title})
	}
	return res, nil
}

// fatal says that an error is not the model's to work around: the run was
// ended, has to pause, or does not match its recording.
func fatal(ctx context.Context, err error) bool {
	kind := model.KindOf(err)
	return ctx.Err() != nil || errors.Is(err, context.Canceled) || kind == model.KindQuota || kind == model.KindNotRecorded
}

func failure(err error) tool.Result { return tool.Result{Text: err.Error(), IsError: true} }

// snippet gives the head of a document, or of the section that was asked for.
func (s *server) snippet(_ context.Context, _ arguments, p view) (string, any, error) {
	text, from := p.Markdown, 0
	if p.anchor != "" && len(text) > snippetBytes {
		if sec, _, ok := document.Find(document.Outline(text), p.anchor); ok {
			from = sec.Start
		}
	}
	shown := headOf(text[from:], snippetBytes)
	truncated := from+len(shown) < len(text) || p.Cut != ""
	var b strings.Builder
	if from > 0 || from+len(shown) < len(text) {
		fmt.Fprintf(&b, "[Cut: bytes %d to %d of %d. fetch_structure lists the sections, an address with #section reads from there, summarize reads all.]\n", from, from+len(shown), len(text))
	}
	notes(&b, p)
	fmt.Fprintf(&b, "%s (%s)\n\n%s", address(p), p.Title, strings.TrimSpace(closeFence(shown)))
	return b.String(), struct {
		Truncated bool   `json:"truncated"`
		URL       string `json:"url"`
		Title     string `json:"title"`
		From      int    `json:"from"`
		Shown     int    `json:"shown"`
		Total     int    `json:"total"`
		Content   string `json:"content"`
	}{truncated, address(p), p.Title, from, len(shown), len(text), shown}, nil
}

type link struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// urls gives a document's links.
func (s *server) urls(_ context.Context, _ arguments, p view) (string, any, error) {
	text := section(p)
	links := []link{}
	seen := map[string]bool{}
	left := 0
	for _, l := range document.Links(text) {
		to, ok := resolve(p.Address, l.Target)
		if !ok || seen[to] {
			continue
		}
		seen[to] = true
		if len(links) == maxLinks {
			left++
			continue
		}
		links = append(links, link{Text: clip(l.Text, 120), URL: to})
	}
	var b strings.Builder
	if left > 0 {
		fmt.Fprintf(&b, "[Cut: the first %d of %d links.]\n", maxLinks, maxLinks+left)
	}
	notes(&b, p)
	if len(links) == 0 {
		fmt.Fprintf(&b, "%s (%s) has no links.", address(p), p.Title)
	} else {
		fmt.Fprintf(&b, "Links of %s (%s):\n", address(p), p.Title)
		for i, l := range links {
			fmt.Fprintf(&b, "%d. %s: %s\n", i+1, l.Text, l.URL)
		}
	}
	return strings.TrimRight(b.String(), "\n"), struct {
		Truncated bool   `json:"truncated"`
		URL       string `json:"url"`
		Title     string `json:"title"`
		Links     []link `json:"links"`
	}{left > 0 || p.Cut != "", address(p), p.Title, links}, nil
}

type heading struct {
	Level int    `json:"level"`
	Text  string `json:"text"`
	URL   string `json:"url"`
}

// structure gives a document's headings.
func (s *server) structure(_ context.Context, _ arguments, p view) (string, any, error) {
	sections := document.Outline(section(p))
	list := []heading{}
	for _, sec := range sections[:min(len(sections), maxHeadings)] {
		list = append(list, heading{Level: sec.Level, Text: clip(sec.Title, 160), URL: p.Address + "#" + sec.Anchor})
	}
	var b strings.Builder
	if len(sections) > maxHeadings {
		fmt.Fprintf(&b, "[Cut: the first %d of %d headings.]\n", maxHeadings, len(sections))
	}
	notes(&b, p)
	if len(list) == 0 {
		fmt.Fprintf(&b, "%s (%s) has no headings; it has %d bytes of text.", address(p), p.Title, len(p.Markdown))
	} else {
		fmt.Fprintf(&b, "Headings of %s (%s):\n", address(p), p.Title)
		for _, h := range list {
			fmt.Fprintf(&b, "%s- %s (%s)\n", strings.Repeat("  ", h.Level-1), h.Text, h.URL[strings.IndexByte(h.URL, '#'):])
		}
	}
	return strings.TrimRight(b.String(), "\n"), struct {
		Truncated bool      `json:"truncated"`
		URL       string    `json:"url"`
		Title     string    `json:"title"`
		Headings  []heading `json:"headings"`
	}{len(sections) > maxHeadings || p.Cut != "", address(p), p.Title, list}, nil
}

// notes leads a text with what is missing.
func notes(b *strings.Builder, p view) {
	if p.Cut != "" {
		fmt.Fprintf(b, "[The document is not whole: %s.]\n", p.Cut)
	}
	if p.noAnchor != "" {
		fmt.Fprintf(b, "[It has no section #%s.]\n", clip(p.noAnchor, 80))
	}
}

// section gives the text of the section that was asked for, with what is below
// its heading, or the whole.
func section(p view) string {
	if p.anchor != "" {
		if sec, end, ok := document.Find(document.Outline(p.Markdown), p.anchor); ok {
			return p.Markdown[sec.Start:end]
		}
	}
	return p.Markdown
}

func address(p view) string {
	if p.anchor != "" {
		return p.Address + "#" + p.anchor
	}
	return p.Address
}

// headOf gives at most max bytes, ending between paragraphs where it can, else
// between lines, else between characters.
func headOf(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	s = s[:max]
	for _, end := range []string{"\n\n", "\n", " "} {
		if i := strings.LastIndex(s, end); i > len(s)/2 {
			return s[:i]
		}
	}
	return s
}

// closeFence ends a code block that was cut in its midst.
func closeFence(s string) string {
	open := ""
	for line := range strings.Lines(s) {
		t := strings.TrimLeft(line, " ")
		n := len(t) - len(strings.TrimLeft(t, "`"))
		switch {
		case n < 3:
		case open == "":
			open = t[:n]
		case n >= len(open) && strings.TrimSpace(t[n:]) == "":
			open = ""
		}
	}
	if open == "" {
		return s
	}
	return strings.TrimRight(s, "\n") + "\n" + open
}

func clip(s string, max int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max] + "…"
}
