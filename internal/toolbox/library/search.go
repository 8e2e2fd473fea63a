package library

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"towpath/internal/markdown"
)

const (
	maxHits     = 50
	perDoc      = 2   // places of one document in an answer, while others match too
	snippetSize = 300 // bytes
)

// Search brings the index up to date and finds the places that answer query
// best, at most max (5 if max is 0). Any text is a good query; one without a
// single word is ErrEmptyQuery. Places that have all words come first, then
// those that have some. No hit is no error.
func (l *Library) Search(ctx context.Context, query string, max int) ([]Hit, error) {
	q, err := parseQuery(query)
	if err != nil {
		return nil, err
	}
	if max <= 0 {
		max = 5
	}
	max = min(max, maxHits)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.refresh(ctx); err != nil {
		return nil, err
	}
	var a answer
	for _, step := range []struct {
		expression string
		all        bool
	}{{q.all, true}, {q.any, false}, {q.begins, false}} {
		if step.expression == "" || len(a.hits) >= max || step.expression == q.begins && len(a.hits) > 0 {
			continue
		}
		rows, err := l.ix.match(ctx, step.expression, max*4+20)
		if err != nil {
			return nil, fmt.Errorf("searching the library: %w", err)
		}
		a.take(rows, step.all, max)
	}
	return a.hits, nil
}

// answer gathers hits: each document's best place first, then further ones.
type answer struct {
	hits []Hit
	rows map[int64]bool
	docs map[string]int
}

func (a *answer) take(rows []found, all bool, max int) {
	if a.rows == nil {
		a.rows, a.docs = map[int64]bool{}, map[string]int{}
	}
	for round := 1; round <= perDoc; round++ {
		for _, r := range rows {
			if len(a.hits) >= max {
				return
			}
			if a.rows[r.row] || a.docs[r.path] >= round || a.has(r) {
				continue
			}
			a.rows[r.row] = true
			a.docs[r.path]++
			a.hits = append(a.hits, r.hit(all))
		}
	}
}

// has says that the same section of the document is there already, by another
// of its pieces.
func (a *answer) has(r found) bool {
	address := Address{Path: r.path, Anchor: r.anchor}.String()
	for _, h := range a.hits {
		if h.Address == address {
			return true
		}
	}
	return false
}

func (f found) hit(all bool) Hit {
	title := gather(f.title)
	if f.heading != "" && f.heading != f.title {
		title += " > " + gather(f.heading)
	}
	return Hit{Address: Address{Path: f.path, Anchor: f.anchor}.String(), Title: title, Snippet: plainSnippet(f.snippet), Score: f.score, All: all}
}

// plainSnippet takes Markdown's marks off an excerpt and puts it on one line.
func plainSnippet(s string) string {
	var parts []string
	for line := range strings.Lines(s) {
		line = strings.TrimLeft(strings.TrimSpace(line), "#>|-*+ ")
		if line = markdown.Plain(line); strings.Trim(line, "|-: `~") != "" {
			parts = append(parts, strings.TrimSpace(line))
		}
	}
	s = gather(strings.Join(parts, " "))
	if len(s) > snippetSize {
		s = strings.ToValidUTF8(s[:snippetSize], "")
		if i := strings.LastIndexByte(s, ' '); i > snippetSize/2 {
			s = s[:i]
		}
		s += " …"
	}
	return s
}

// gather undoes spread and puts s on one line.
func gather(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	r := []rune(strings.Join(strings.Fields(s), " "))
	out := make([]rune, 0, len(r))
	for i, c := range r {
		if c == ' ' && i > 0 && i+1 < len(r) && (spaceless(r[i-1]) || spaceless(r[i+1])) {
			continue
		}
		out = append(out, c)
	}
	return string(out)
}
