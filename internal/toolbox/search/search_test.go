package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"towpath/internal/document"
	"towpath/internal/schema"
	"towpath/internal/tool"
	"towpath/internal/toolbox/library"
)

func searchIn(t *testing.T, files map[string]string) tool.Tool {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := document.NewReader(document.Options{})
	l, err := library.Open(library.Options{Folder: dir, Cache: t.TempDir(), Reader: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(l.Close(), r.Close()) })
	return only(t, OfLibrary(l))
}

func only(t *testing.T, backends ...Backend) tool.Tool {
	t.Helper()
	tools, err := NewServer(backends...).Tools(t.Context())
	if err != nil || len(tools) != 1 {
		t.Fatal(tools, err)
	}
	return tools[0]
}

func call(t *testing.T, tl tool.Tool, args string) tool.Result {
	t.Helper()
	valid, err := tool.Validate(tl.Spec(), args)
	if err != nil {
		t.Fatal(err)
	}
	res, err := tl.Call(t.Context(), valid)
	if err != nil {
		t.Fatal(err)
	}
	if res.Structured != nil {
		s, err := schema.Compile(tl.Spec().Output)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(res.Structured); err != nil {
			t.Errorf("the structured result does not satisfy the output schema: %v\n%s", err, res.Structured)
		}
	}
	return res
}

func TestSearchGivesShortNumberedResults(t *testing.T) {
	t.Parallel()
	tl := searchIn(t, map[string]string{
		"install.md": "# Installing\n\nIntro.\n\n## Ports\n\nThe server listens on port 8090.\n", "other.md": "# Ports of call\n\nShips.\n",
	})
	res := call(t, tl, `{"query": "which port does the server listen on?"}`)
	want := "1. Installing > Ports\n   library:install.md#ports\n   The server listens on port 8090.\nWith some of the words:\n2. Ports of call\n   library:other.md\n   Ships."
	if res.IsError || !res.Untrusted || res.Text != want {
		t.Errorf("got %+v\n%s", res, res.Text)
	}
	var out struct{ Results []Result }
	if err := json.Unmarshal(res.Structured, &out); err != nil || len(out.Results) != 2 || out.Results[0].Engine != "library" {
		t.Errorf("%s %v", res.Structured, err)
	}
	if res = call(t, tl, `{"query": "port", "max_results": 1}`); strings.Contains(res.Text, "2.") {
		t.Errorf("more than one: %s", res.Text)
	}
}

func TestNothingFoundAndEmptyQueryAreToldApart(t *testing.T) {
	t.Parallel()
	tl := searchIn(t, map[string]string{"a.md": "text"})
	if res := call(t, tl, `{"query": "zebra"}`); res.IsError || !strings.HasPrefix(res.Text, `Nothing found for "zebra" in the library.`) {
		t.Errorf("%+v", res)
	}
	for _, q := range []string{"", "  ", "?!"} {
		args, _ := json.Marshal(map[string]string{"query": q})
		if res := call(t, tl, string(args)); !res.IsError || !strings.Contains(res.Text, "no words") {
			t.Errorf("%q: %+v", q, res)
		}
	}
	if res := call(t, only(t), `{"query": "x"}`); !res.IsError || !strings.Contains(res.Text, "no library") {
		t.Errorf("%+v", res)
	}
}

type scripted struct {
	name  string
	found []Result
	err   error
}

func (s scripted) Name() string { return s.name }

func (s scripted) Search(context.Context, string, int) ([]Result, error) { return s.found, s.err }

func TestBackendThatFailsIsFollowedByTheNext(t *testing.T) {
	t.Parallel()
	bad := scripted{name: "first", err: fmt.Errorf("it does not answer")}
	good := scripted{name: "second", found: []Result{{Title: "two\nlines", URL: "library:x", Engine: "second"}}}
	if res := call(t, only(t, bad, good), `{"query": "x"}`); res.IsError || res.Text != "1. two lines\n   library:x" {
		t.Errorf("%+v", res)
	}
	if res := call(t, only(t, bad), `{"query": "x"}`); !res.IsError || !strings.Contains(res.Text, "first: it does not answer") {
		t.Errorf("%+v", res)
	}
}

func TestSchemasCanBeOfferedToEveryProvider(t *testing.T) {
	t.Parallel()
	spec := only(t).Spec()
	if _, err := tool.NormaliseSchema(spec.Input); err != nil {
		t.Error(err)
	}
	if !spec.ReadOnly || spec.Destructive || spec.Server != ServerName {
		t.Errorf("%+v", spec)
	}
}
