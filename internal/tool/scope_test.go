package tool

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"towpath/internal/workspace"
)

type named struct{ spec Spec }

func (n named) Spec() Spec { return n.spec }

func (n named) Call(context.Context, json.RawMessage) (Result, error) {
	return Result{Text: n.spec.Name}, nil
}

type list struct {
	name  string
	tools []Tool
	asked int
}

func (l *list) Name() string { return l.name }
func (l *list) Close() error { return nil }
func (l *list) Tools(context.Context) ([]Tool, error) {
	l.asked++
	return l.tools, nil
}

func serve(name string, tools ...string) *list {
	l := &list{name: name}
	for _, t := range tools {
		l.tools = append(l.tools, named{Spec{Server: name, Name: t}})
	}
	return l
}

func offered(s Scope) []string {
	var out []string
	for _, o := range s.Offers {
		out = append(out, o.Name)
	}
	return out
}

func TestOnlyGrantedToolsAreOffered(t *testing.T) {
	t.Parallel()
	search, browser, other := serve("search-server", "search"), serve("browser-server", "summarize", "extract", "click"), serve("other", "x")
	s, err := Open(t.Context(), []workspace.ToolGrant{
		{Server: "search-server", Tools: []string{"search"}, Required: true, Line: 8},
		{Server: "Browser Server", Tools: []string{"summarize", "extract"}, Line: 9},
	}, []Server{search, browser, other})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"search-server_search", "browser-server_summarize", "browser-server_extract"}
	if got := offered(s); !slices.Equal(got, want) {
		t.Errorf("offered %v", got)
	}
	if len(s.Required) != 1 || !slices.Equal(s.Required[0], want[:1]) {
		t.Errorf("required %v", s.Required)
	}
	if other.asked != 0 {
		t.Error("a server that no line names was asked for its tools")
	}
	s, err = Open(t.Context(), []workspace.ToolGrant{{Server: "browser-server", All: true}}, []Server{browser})
	if err != nil || len(s.Offers) != 3 {
		t.Errorf("offered %v, error %v", offered(s), err)
	}
	if s, err := Open(t.Context(), nil, []Server{browser}); err != nil || len(s.Offers) != 0 {
		t.Errorf("without a line %v are offered, error %v", offered(s), err)
	}
}

func TestUnknownGrantsNameTheNearest(t *testing.T) {
	t.Parallel()
	servers := []Server{serve("search-server", "search", "suggest")}
	for _, c := range []struct {
		grant workspace.ToolGrant
		want  string
	}{
		{workspace.ToolGrant{Server: "serach-server", All: true, Line: 4}, `line 4: there is no tool server "serach-server"; did you mean "search-server"? There is: search-server`},
		{workspace.ToolGrant{Server: "search-server", Tools: []string{"serch"}, Line: 5}, `line 5: there is no tool "serch" on "search-server"; did you mean "search"? There is: search, suggest`},
		{workspace.ToolGrant{Server: "zzz", Line: 6}, `line 6: there is no tool server "zzz"; there is: search-server`},
	} {
		_, err := Open(t.Context(), []workspace.ToolGrant{c.grant}, servers)
		var unknown *UnknownError
		if !errors.As(err, &unknown) || err.Error() != c.want {
			t.Errorf("error %v\nwant  %s", err, c.want)
		}
	}
}

func TestBadSchemaLeavesOutOneToolOnly(t *testing.T) {
	t.Parallel()
	l := serve("s", "good", "bad")
	l.tools[1] = named{Spec{Server: "s", Name: "bad", Input: json.RawMessage(`{"type":"string"}`)}}
	s, err := Open(t.Context(), []workspace.ToolGrant{{Server: "s", All: true}}, []Server{l})
	if err != nil || !slices.Equal(offered(s), []string{"s_good"}) || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "bad is left out") {
		t.Errorf("scope %+v, error %v", s, err)
	}
	if _, err := Open(t.Context(), []workspace.ToolGrant{{Server: "s", Tools: []string{"bad"}, Required: true}}, []Server{l}); err == nil {
		t.Error("a required tool is missing without an error")
	}
}

func TestNamesThatProvidersRefuseAreMapped(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 128)
	var tools []Tool
	for _, p := range [][2]string{{"Google Sheets", "read.cells"}, {"a_b", "c"}, {"a", "b_c"}, {"s", long}, {"s", long + "y"}, {"серв", "ім'я"}, {"s", "a b"}, {"s", "a.b"}} {
		tools = append(tools, named{Spec{Server: p[0], Name: p[1]}})
	}
	names := Names(tools)
	ok := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	for i, n := range names {
		if !ok.MatchString(n) || slices.Contains(names[:i], n) {
			t.Errorf("name %d is %q", i, n)
		}
	}
	if names[0] != "Google_Sheets_read_cells" {
		t.Errorf("names %v", names)
	}
	reversed := slices.Clone(tools)
	slices.Reverse(reversed)
	back := Names(reversed)
	slices.Reverse(back)
	if !slices.Equal(names, back) {
		t.Errorf("in another order: %v, then %v", names, back)
	}
}
