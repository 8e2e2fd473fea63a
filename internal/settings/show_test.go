package settings

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the reference page")

func TestValuesSayWhereEachCameFrom(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.project("model = \"ollama/a\"\n[vars]\nname = \"Ann\"\n[servers.s]\ncommand = \"sh\"\n")
	s := p.load()
	got := map[string]Shown{}
	var order []string
	for _, v := range s.Values() {
		got[v.Key] = v
		order = append(order, v.Key)
	}
	for key, want := range map[string]Shown{
		"model":             {Key: "model", Value: `"ollama/a"`, Origin: file + ":1"},
		"vars.name":         {Key: "vars.name", Value: `"Ann"`, Origin: file + ":3"},
		"limits.time":       {Key: "limits.time", Value: `"30m"`, Origin: "default"},
		"servers.s.command": {Key: "servers.s.command", Value: `"sh"`, Origin: file + ":5", Note: "not in force: not trusted", Inert: true},
	} {
		if diff := cmp.Diff(want, got[key]); diff != "" {
			t.Error(diff)
		}
	}
	if order[0] != "model" || slices.Index(order, "vars.name") > slices.Index(order, "limits.time") {
		t.Errorf("order %v", order)
	}
}

func TestTableIsSound(t *testing.T) {
	t.Parallel()
	names, envs := map[string]bool{}, map[string]bool{}
	for _, k := range Keys() {
		if names[k.Name] || k.Env() != "" && envs[k.Env()] {
			t.Errorf("%s stands twice", k.Name)
		}
		names[k.Name], envs[k.Env()] = true, true
		if k.Meaning == "" || !strings.HasSuffix(k.Meaning, ".") && !strings.HasSuffix(k.Meaning, "...") {
			t.Errorf("%s has no meaning", k.Name)
		}
		if (k.Rule == NeedsTrust || k.Rule == Outside) != (k.Danger != "") {
			t.Errorf("%s: rule %q, danger %q", k.Name, k.Rule, k.Danger)
		}
		if k.Default == "" {
			continue
		}
		if _, err := k.fromText(k.Default); err != nil {
			t.Errorf("the default of %s: %v", k.Name, err)
		}
	}
}

// Every fixed key must reach the field that everybody reads.
func TestEveryKeyHasAnEffect(t *testing.T) {
	t.Parallel()
	base := newPlace(t).load()
	for _, k := range Keys() {
		sample := map[Type]string{Text: "ollama/x", Whole: "77", Number: "0.7", Bool: "true", Duration: "77s", List: "10.7.7.7/32"}[k.Type]
		if k.URL {
			sample = "http://x.example/77"
		}
		if len(k.Choices) > 0 {
			sample = k.Choices[0]
		}
		if k.Name == "search.max_results" {
			sample = "7"
		}
		if k.Name == "limits.result_bytes" {
			sample = "777"
		}
		p := newPlace(t)
		p.flags = map[string]string{strings.ReplaceAll(k.Name, "*", "zz"): sample}
		if strings.HasPrefix(k.Name, "servers.") && k.Name != "servers.*.builtin" && k.Name != "servers.*.command" && k.Name != "servers.*.url" {
			p.user("[servers.zz]\nbuiltin = \"b\"\n")
		}
		s, err := p.try()
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		// Only what everybody reads counts.
		strip := func(s *Settings) string {
			c := *s
			c.values, c.beaten, c.env, c.trusts, c.User, c.Subject = nil, nil, nil, nil, "", Subject{}
			out := fmt.Sprint(c.Model, *c.Temperature, c.Window, c.Reply, *c.Think, c.Vars, c.Headings, c.Use, c.Timeouts, c.Limits, c.Search, c.Write, c.Fetch, c.Suggest)
			for _, m := range []any{c.Models["zz"], c.Servers["zz"]} {
				j, err := json.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				out += string(j)
			}
			pr := c.Providers["zz"]
			return out + fmt.Sprint(pr.Kind, pr.URL, pr.KeyEnv, pr.KeyFile, pr.Headers, pr.Parallel)
		}
		if strip(s) == strip(base) {
			t.Errorf("%s sets nothing", k.Name)
		}
	}
}

func TestReferenceIsTheTable(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "..", "docs", "reference", "settings.md")
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(page), 0o755), os.WriteFile(page, []byte(Reference()), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Reference(), string(data)); diff != "" {
		t.Errorf("run: go test ./internal/settings -run TestReferenceIsTheTable -update\n%s", diff)
	}
}
