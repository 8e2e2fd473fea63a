package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hold compares a page with what it is made from, or writes it.
func hold(t *testing.T, page, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, read(t, page)); diff != "" {
		t.Errorf("go test ./docs -run %s -update writes %s anew\n%s", t.Name(), page, diff)
	}
}

func source(t *testing.T, path ...string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(append([]string{"..", "internal"}, path...)...), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func remark(groups ...*ast.CommentGroup) string {
	var out []string
	for _, g := range groups {
		if g != nil {
			out = append(out, strings.Join(strings.Fields(g.Text()), " "))
		}
	}
	return strings.ReplaceAll(strings.Join(out, "; "), "|", `\|`)
}

// constants gives name, value and remark of the constants of a type, "" for
// those without one, that begin with a prefix.
func constants(f *ast.File, kind, prefix string) [][3]string {
	var out [][3]string
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v, ok := s.(*ast.ValueSpec)
			if !ok || len(v.Names) != 1 || len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, prefix) {
				continue
			}
			if id, ok := v.Type.(*ast.Ident); kind != "" && (!ok || id.Name != kind) {
				continue
			}
			lit, ok := v.Values[0].(*ast.BasicLit)
			if !ok {
				continue
			}
			value := lit.Value
			if s, err := strconv.Unquote(value); err == nil {
				value = s
			}
			out = append(out, [3]string{v.Names[0].Name, value, remark(v.Comment)})
		}
	}
	return out
}

// kindOf says what a Go type is in JSON.
func kindOf(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return kindOf(x.X)
	case *ast.ArrayType:
		return "list of " + kindOf(x.Elt)
	case *ast.MapType:
		return "object: " + kindOf(x.Key) + " to " + kindOf(x.Value)
	case *ast.SelectorExpr:
		switch x.Sel.Name {
		case "Time":
			return "time"
		case "Duration":
			return "number"
		default:
			return "any JSON"
		}
	case *ast.Ident:
		switch x.Name {
		case "string", "Type":
			return "text"
		case "int", "float64":
			return "number"
		case "bool":
			return "true or false"
		}
		return fmt.Sprintf("[%s](#%s)", x.Name, strings.ToLower(x.Name))
	}
	return "any JSON"
}

func eventsPage(t *testing.T) string {
	f := source(t, "journal", "event.go")
	var b strings.Builder
	b.WriteString(`# Events

This page is made from the program's own types.

` + "`towpath run --json`" + ` prints one event a line, as things happen. ` + "`history/<run>/journal.jsonl`" + ` holds the same events, without those
that only show progress. Every event has ` + "`v`, `run`, `seq`, `time` and `type`" + `, and the one payload that belongs to its type. The last
event of a run is ` + "`exit`" + `: it says how it ended. Most empty fields are left out. Readers must pass over fields and types
that they do not know.

Long texts are kept once, in ` + "`history/blobs`" + `, and named by their hash ([Body](#body)). Secrets are removed before anything is written.

## Types

| type | |
|---|---|
`)
	payload := map[string]string{"run_started": "started", "context_built": "context", "item_ended": "ended", "model_call": "request", "model_reply": "reply",
		"tool_call": "call", "tool_result": "result", "output_written": "output", "gate": "gate", "decision": "decision", "exit": "exit",
		"nudge": "note", "round": "data", "check": "data", "verdict": "data", "item_started": "note", "text_delta": "note", "reasoning_delta": "note",
		"waiting": "note", "notice": "note", "warning": "note"}
	transient := false
	for _, c := range constants(f, "Type", "") {
		transient = transient || c[0] == "TextDelta"
		var notes []string
		if p := payload[c[1]]; p != "" {
			notes = append(notes, "`"+p+"`")
		}
		if c[2] != "" {
			notes = append(notes, c[2])
		}
		if transient {
			notes = append(notes, "shown while a run goes on, never written")
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", c[1], strings.Join(notes, ": "))
	}
	b.WriteString("\n`how` of an exit is one of:\n\n| how | |\n|---|---|\n")
	for _, c := range constants(source(t, "engine", "engine.go"), "", "How") {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c[1], c[2])
	}
	b.WriteString("\nThe numbers in `code` are the [exit codes](exit-codes.md).\n")
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			ts := s.(*ast.TypeSpec)
			st, ok := ts.Type.(*ast.StructType)
			if !ok {
				continue
			}
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| field | is | |\n|---|---|---|\n", ts.Name.Name, about(g.Doc))
			for _, field := range st.Fields.List {
				tag, err := strconv.Unquote(field.Tag.Value)
				if err != nil {
					t.Fatal(err)
				}
				name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, kindOf(field.Type), remark(field.Doc, field.Comment))
			}
		}
	}
	return b.String()
}

var payloadOf = regexp.MustCompile(`payload of ([A-Z][A-Za-z]+)`)

// about is a type's own comment as prose on a page, with the names of events as
// they are written.
func about(g *ast.CommentGroup) string {
	return payloadOf.ReplaceAllStringFunc(remark(g), func(m string) string {
		var b strings.Builder
		for i, r := range strings.TrimPrefix(m, "payload of ") {
			if i > 0 && r >= 'A' && r <= 'Z' {
				b.WriteByte('_')
			}
			b.WriteRune(r)
		}
		return "payload of `" + strings.ToLower(b.String()) + "`"
	})
}

// TestEventsPageIsTheJournal holds the page to the types of the journal.
func TestEventsPageIsTheJournal(t *testing.T) {
	t.Parallel()
	hold(t, filepath.Join("reference", "events.md"), eventsPage(t))
}

// TestExitCodesPageIsTheEngine holds the page to the engine's constants.
func TestExitCodesPageIsTheEngine(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Exit codes\n\nScripts can rely on them: they do not change their meaning.\n\n| code | meaning |\n|---|---|\n")
	codes := constants(source(t, "engine", "errors.go"), "", "Code")
	for _, c := range codes {
		fmt.Fprintf(&b, "| %s | %s |\n", c[1], c[2])
	}
	b.WriteString(`
A gate that the same command passes is exit 0: the run did what it was to do. A gate that needs approval is exit 4.
` + "`towpath lint`" + ` gives 2 when there is an error and 0 when there are only warnings. ` + "`towpath doctor`" + ` gives 1 when something that a
run needs is missing. No command of this version ends with 3 or 5 by itself: they belong to verified loops.

An example for a script that runs a workspace to its end and tells apart what stopped it:

` + "```sh" + `
towpath run my-course --all --json > events.jsonl
case $? in
  0) echo "done" ;;
  4) echo "somebody has to look" ;;
  7) echo "try again later" ;;
  *) tail -n 1 events.jsonl ;;
esac
` + "```" + `
`)
	if len(codes) < 8 {
		t.Fatalf("%d codes", len(codes))
	}
	hold(t, filepath.Join("reference", "exit-codes.md"), b.String())
}
