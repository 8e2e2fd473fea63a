package cli

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the reference pages of the commands anew")

// byPath gives every command by its place on the command line.
func byPath(t *testing.T) map[string]*cobra.Command {
	t.Helper()
	all := map[string]*cobra.Command{}
	for _, cmd := range commands(newCLI(t.TempDir()).root()) {
		if cmd.Name() != "help" {
			all[cmd.CommandPath()] = cmd
		}
	}
	return all
}

// own lists a command's own flags in the order of their names.
func own(cmd *cobra.Command) []*pflag.Flag {
	var out []*pflag.Flag
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden {
			out = append(out, f)
		}
	})
	return out
}

// usage is a command with its arguments.
func usage(cmd *cobra.Command) string {
	parent := ""
	if cmd.HasParent() {
		parent = cmd.Parent().CommandPath() + " "
	}
	return parent + cmd.Use
}

// option gives a flag as it is typed, and its meaning.
func option(f *pflag.Flag) (typed, meaning string) {
	name, meaning := pflag.UnquoteUsage(f)
	typed = "--" + f.Name
	if f.Value.Type() != "bool" {
		typed += " " + strings.ToUpper(name)
	}
	switch f.DefValue {
	case "", "false", "[]", "0":
	default:
		meaning += " (default " + f.DefValue + ")"
	}
	return typed, meaning
}

func commandsPage(all map[string]*cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Commands\n\nThis page is made from the program's own commands; `towpath COMMAND --help` says the same.\n\n" +
		"STAGE is a stage's number, name or folder. WORKSPACE is a folder; the one at or above the current folder where it is left out. " +
		"Results go to standard output, everything else to standard error. [Exit codes](exit-codes.md) and " +
		"[events](events.md) have pages of their own.\n\n| command | |\n|---|---|\n")
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names[1:] {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", strings.TrimPrefix(name, "towpath "), strings.ReplaceAll(name, " ", "-"), all[name].Short)
	}
	for _, name := range names {
		cmd := all[name]
		text := cmd.Long
		if text == "" {
			text = cmd.Short + "."
		}
		fmt.Fprintf(&b, "\n## %s\n\n```text\n%s\n```\n\n%s\n", name, usage(cmd), prose(text))
		if flags := own(cmd); len(flags) > 0 {
			b.WriteString("\n| flag | |\n|---|---|\n")
			for _, f := range flags {
				typed, meaning := option(f)
				fmt.Fprintf(&b, "| `%s` | %s |\n", typed, strings.ReplaceAll(meaning, "|", `\|`))
			}
		}
		if cmd.Example != "" {
			fmt.Fprintf(&b, "\n```sh\n%s\n```\n", outdent(cmd.Example))
		}
	}
	return b.String()
}

// prose makes Markdown of a help text: indented parts become code.
func prose(s string) string {
	var out []string
	for part := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n\n") {
		lead, rest, ok := strings.Cut(part, "\n  ")
		switch {
		case strings.HasPrefix(part, "  "):
			out = append(out, "```text\n"+outdent(part)+"\n```")
		case ok:
			out = append(out, lead, "```text\n"+outdent("  "+rest)+"\n```")
		default:
			out = append(out, part)
		}
	}
	return strings.Join(out, "\n\n")
}

func outdent(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "  ")
	}
	return strings.Join(lines, "\n")
}

// manual is a command's page for man, in roff.
func manual(cmd *cobra.Command) string {
	esc := func(s string) string {
		s = strings.ReplaceAll(s, `\`, `\e`)
		s = strings.ReplaceAll(s, "-", `\-`)
		lines := strings.Split(s, "\n")
		for i, l := range lines {
			if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
				lines[i] = `\&` + l
			}
		}
		return strings.Join(lines, "\n")
	}
	var b strings.Builder
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"towpath\" \"towpath manual\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n.SH DESCRIPTION\n",
		strings.ToUpper(name), esc(name), esc(cmd.Short), esc(usage(cmd)))
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	code := func(s string) { fmt.Fprintf(&b, ".nf\n%s\n.fi\n", esc(s)) }
	for part := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n\n") {
		b.WriteString(".PP\n")
		if lead, rest, ok := strings.Cut(part, "\n  "); strings.HasPrefix(part, "  ") {
			code(part)
		} else if ok {
			b.WriteString(esc(lead) + "\n")
			code("  " + rest)
		} else {
			b.WriteString(esc(part) + "\n")
		}
	}
	if flags := own(cmd); len(flags) > 0 {
		b.WriteString(".SH OPTIONS\n")
		for _, f := range flags {
			typed, meaning := option(f)
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", esc(typed), esc(meaning))
		}
	}
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		code(cmd.Example)
	}
	var others []string
	if cmd.HasParent() {
		others = append(others, cmd.Parent().CommandPath())
	}
	for _, sub := range cmd.Commands() {
		if sub.Name() != "help" && !sub.Hidden {
			others = append(others, sub.CommandPath())
		}
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, o := range others {
		fmt.Fprintf(&b, ".BR %s (1)%s\n", esc(strings.ReplaceAll(o, " ", "-")), map[bool]string{true: ",", false: ""}[i < len(others)-1])
	}
	return b.String()
}

// TestReferenceOfCommandsIsTheProgram holds docs/reference/commands.md and the
// pages for man to the commands.
func TestReferenceOfCommandsIsTheProgram(t *testing.T) {
	t.Parallel()
	all := byPath(t)
	want := map[string]string{filepath.Join("reference", "commands.md"): commandsPage(all)}
	for name, cmd := range all {
		want[filepath.Join("man", strings.ReplaceAll(name, " ", "-")+".1")] = manual(cmd)
	}
	docs := filepath.Join("..", "..", "docs")
	old, err := filepath.Glob(filepath.Join(docs, "man", "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range old {
		if _, ok := want[filepath.Join("man", filepath.Base(file))]; ok {
			continue
		}
		if !*update {
			t.Errorf("%s is the page of no command", file)
		} else if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range want {
		file := filepath.Join(docs, name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(text, string(data)); diff != "" {
			t.Errorf("%s: go test ./internal/cli -run Reference -update writes it anew\n%s", name, diff)
		}
	}
}

var (
	fence  = regexp.MustCompile("(?ms)^```[^\n]*\n(.*?)^```")
	inline = regexp.MustCompile("`(towpath [^`\n]*)`")
	typed  = regexp.MustCompile(`(?:^|[\s;&|(])towpath ([^;&|)#\n]*)`)
)

// TestPagesNameCommandsThatThereAre finds commands and flags in the pages that
// the program does not have.
func TestPagesNameCommandsThatThereAre(t *testing.T) {
	t.Parallel()
	all := byPath(t)
	docs := filepath.Join("..", "..", "docs")
	pages, err := filepath.Glob(filepath.Join(docs, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, filepath.Join("..", "..", "README.md")) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		for _, m := range fence.FindAllSubmatch(data, -1) {
			text.Write(m[1])
		}
		for _, m := range inline.FindAllSubmatch(data, -1) {
			text.WriteByte('\n')
			text.Write(m[1])
		}
		for _, m := range typed.FindAllStringSubmatch(text.String(), -1) {
			found++
			if why := unknown(all, strings.Fields(m[1])); why != "" {
				t.Errorf("%s: towpath %s: %s", page, m[1], why)
			}
		}
	}
	if found < 50 {
		t.Errorf("%d commands were found in the pages", found)
	}
}

// unknown says what of a command line the program does not have.
func unknown(all map[string]*cobra.Command, words []string) string {
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		return ""
	}
	at := "towpath " + words[0]
	if words[0] != strings.ToUpper(words[0]) && all[at] == nil && words[0] != "help" {
		return "there is no such command"
	}
	if len(words) > 1 && all[at+" "+words[1]] != nil {
		at += " " + words[1]
	}
	cmd := all[at]
	for _, w := range words {
		name, ok := strings.CutPrefix(strings.TrimRight(w, ",.:`'\""), "--")
		if name, _, _ = strings.Cut(name, "="); !ok || name == "" || cmd == nil || name == "help" {
			continue
		}
		if cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
			return "there is no flag --" + name
		}
	}
	return ""
}
