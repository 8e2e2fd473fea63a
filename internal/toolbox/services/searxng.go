package services

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Probe is the query that SearXNG is asked: every engine of the web knows it.
const Probe = "wikipedia"

var searxng = service{name: "SearXNG", key: "search.searxng", unit: "searxng"}

// found is what is read of SearXNG's JSON.
type found struct {
	Results      *[]json.RawMessage `json:"results"`
	Unresponsive []json.RawMessage  `json:"unresponsive_engines"`
	Error        string             `json:"error"`
}

// SearXNG asks the SearXNG at the address for one word, in JSON. An error is a
// *NotReadyError.
func (a Asker) SearXNG(ctx context.Context, address string) (Health, error) {
	got, err := a.get(ctx, searxng, address, "search", url.Values{"q": {Probe}, "format": {"json"}})
	if err != nil {
		return Health{}, err
	}
	switch got.status {
	case http.StatusOK:
	case http.StatusForbidden:
		return Health{}, notReady("write json below search: formats: in its settings.yml and start it again; "+
			"public instances hardly ever allow it, so use one of your own",
			"it refuses to answer in JSON (status 403)")
	case http.StatusTooManyRequests:
		return Health{}, notReady("write limiter: false below server: in its settings.yml and start it again; "+
			"if it is not your own, use one that is",
			"its limiter holds requests back (status 429)")
	default:
		return Health{}, searxng.failed(got)
	}
	return readFound(got)
}

func readFound(got answer) (Health, error) {
	if !json.Valid(got.body) {
		return Health{}, searxng.notJSON(got)
	}
	var f found
	if err := json.Unmarshal(got.body, &f); err != nil {
		return Health{}, searxng.other(got)
	}
	if f.Error != "" {
		return Health{}, notReady(searxng.logs(), "it answers with the error %q", clean(f.Error))
	}
	if f.Results == nil {
		return Health{}, searxng.other(got)
	}
	silent := engines(f.Unresponsive)
	switch n := len(*f.Results); {
	case n == 0 && silent != "":
		return Health{}, notReady("suspended engines come back by themselves after an hour or a day; until then enable others in its settings.yml",
			"no engine gave a result: %s", silent)
	case n == 0:
		return Health{}, notReady("enable engines in its settings.yml, or see whether its container reaches the internet",
			"it finds nothing, not even for %q, and names no engine that failed", Probe)
	case silent != "":
		return Health{Text: results(n), Doubt: "engines that gave nothing: " + silent}, nil
	default:
		return Health{Text: results(n)}, nil
	}
}

func results(n int) string {
	if n == 1 {
		return "answers in JSON, 1 result"
	}
	return fmt.Sprintf("answers in JSON, %d results", n)
}

// engines lists the engines that did not answer, each with its reason: SearXNG
// gives pairs, some builds names alone.
func engines(all []json.RawMessage) string {
	const most = 8
	var out []string
	for _, raw := range all[:min(len(all), most)] {
		var pair []string
		var name string
		switch {
		case json.Unmarshal(raw, &pair) == nil && len(pair) >= 2:
			out = append(out, fmt.Sprintf("%s (%s)", clean(pair[0]), clean(pair[1])))
		case len(pair) == 1:
			out = append(out, clean(pair[0]))
		case json.Unmarshal(raw, &name) == nil && name != "":
			out = append(out, clean(name))
		}
	}
	if more := len(all) - most; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}
