package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"towpath/internal/tool"
	"towpath/internal/toolbox/library"
)

const (
	defaultResults = 5
	maxResults     = 20
	maxTitle       = 120 // bytes
	maxSnippet     = 320 // bytes
)

const inputSchema = `{
	"type": "object",
	"properties": {
		"query": {"type": "string", "description": "two to six words that the documents are likely to use"},
		"max_results": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5, "description": "how many results at most"}
	},
	"required": ["query"],
	"additionalProperties": false
}`

const outputSchema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"properties": {
		"query": {"type": "string"},
		"backend": {"type": "string"},
		"results": {"type": "array", "items": {
			"type": "object",
			"properties": {
				"title": {"type": "string"}, "url": {"type": "string"}, "snippet": {"type": "string"}, "engine": {"type": "string"}
			},
			"required": ["title", "url", "snippet", "engine"],
			"additionalProperties": false
		}}
	},
	"required": ["query", "backend", "results"],
	"additionalProperties": false
}`

type searchTool struct{ backends []Backend }

// Spec describes the tool.
func (t *searchTool) Spec() tool.Spec {
	return tool.Spec{
		Server: ServerName, Name: "search", Title: "Search",
		Description: "Finds documents about a topic. Gives a numbered list of title, address and excerpt. Read a result with a browser-server tool and its address.",
		Input:       json.RawMessage(inputSchema), Output: json.RawMessage(outputSchema),
		ReadOnly: true, Idempotent: true,
	}
}

// structured is the result for programs.
type structured struct {
	Query   string   `json:"query"`
	Backend string   `json:"backend"`
	Results []Result `json:"results"`
}

// Call searches with the first backend that answers.
func (t *searchTool) Call(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	var in struct {
		Query      string `json:"query"`
		MaxResults int    `json:"max_results"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return failure("the arguments cannot be read: %v", err), nil
	}
	if in.MaxResults <= 0 {
		in.MaxResults = defaultResults
	}
	in.MaxResults = min(in.MaxResults, maxResults)
	if len(t.backends) == 0 {
		return failure("there is nothing to search in: no library is set; name a folder of documents in towpath.toml"), nil
	}
	var faults []error
	for _, b := range t.backends {
		found, err := b.Search(ctx, in.Query, in.MaxResults)
		switch {
		case ctx.Err() != nil:
			return tool.Result{}, ctx.Err()
		case errors.Is(err, library.ErrEmptyQuery):
			return failure("%v", err), nil
		case err != nil:
			faults = append(faults, fmt.Errorf("%s: %w", b.Name(), err))
			continue
		}
		return answer(in.Query, b.Name(), found[:min(len(found), in.MaxResults)])
	}
	return failure("the search failed: %v", errors.Join(faults...)), nil
}

func failure(format string, a ...any) tool.Result {
	return tool.Result{Text: fmt.Sprintf(format, a...), IsError: true}
}

// answer writes results as a short numbered list.
func answer(query, backend string, found []Result) (tool.Result, error) {
	for i := range found {
		found[i].Title = line(found[i].Title, maxTitle)
		found[i].Snippet = line(found[i].Snippet, maxSnippet)
	}
	if found == nil {
		found = []Result{}
	}
	data, err := json.Marshal(structured{Query: query, Backend: backend, Results: found})
	if err != nil {
		return tool.Result{}, fmt.Errorf("writing the search's results: %w", err)
	}
	res := tool.Result{Structured: data}
	if len(found) == 0 {
		res.Text = fmt.Sprintf("Nothing found for %q in the %s. Try fewer or other words: the plain name of the thing, without a question around it.", line(query, 200), backend)
		return res, nil
	}
	res.Untrusted = true
	var b strings.Builder
	noted := false
	for i, r := range found {
		if r.Partial && !noted {
			noted = true
			if i == 0 {
				b.WriteString("No document has all of these words. These have some:\n")
			} else {
				b.WriteString("With some of the words:\n")
			}
		}
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, r.Title, r.URL)
		if r.Snippet != "" {
			fmt.Fprintf(&b, "   %s\n", r.Snippet)
		}
	}
	res.Text = strings.TrimRight(b.String(), "\n")
	return res, nil
}

// line puts s on one line of at most max bytes, without control characters.
func line(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > max {
		s = strings.ToValidUTF8(s[:max], "") + "…"
	}
	return s
}
