package prompt

import (
	"slices"
	"strings"
	"testing"

	"towpath/internal/workspace"
)

func TestSubstituteOnce(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"item": "{{n}} {{item}}", "n": "2", "größe": "L", "a-b": "x"}
	for in, want := range map[string]string{
		"":                          "",
		"no braces":                 "no braces",
		"{{n}}":                     "2",
		"{{ n }}/{{	n	}}":           "2/2",
		"{{item}}!":                 "{{n}} {{item}}!", // a value is not looked at again
		"{{unknown}} {{n}}":         "{{unknown}} 2",
		"{{.Values.n}} {{#if n}}":   "{{.Values.n}} {{#if n}}",
		"{{{n}}}":                   "{2}",
		"{{ {{n}} }}":               "{{ 2 }}",
		"{{n":                       "{{n",
		"{{n}":                      "{{n}",
		"{{}} {{ }}":                "{{}} {{ }}",
		"{{größe}} {{a-b}} {{1st}}": "L x {{1st}}",
		"{{n\n}}":                   "{{n\n}}",
	} {
		if got := Substitute(in, vars); got != want {
			t.Errorf("Substitute(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestUnresolvedNamesLines(t *testing.T) {
	t.Parallel()
	source := "# S\n\n## Process\nUse {{tone}} and {{ item }}.\n{{stage}} {{tone}}\n\n## Outputs\n- {{lang}}.md -> output/\n"
	st := &workspace.Stage{Name: "01-s", Contract: workspace.Contract{
		Source: []byte(source), Process: "Use {{tone}} and {{ item }}.\n{{stage}} {{tone}}\n",
		Outputs: []workspace.Output{{Name: "{{lang}}.md", Line: 8}},
	}}
	got := Unresolved(st, map[string]string{"lang": "en"})
	want := []workspace.Placeholder{{Name: "tone", Line: 4}, {Name: "item", Line: 4}, {Name: "tone", Line: 5}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	st.Contract.ForEach = &workspace.ForEach{Word: "x"}
	if got := Unresolved(st, map[string]string{"lang": "en", "tone": "dry"}); len(got) != 0 {
		t.Errorf("still unresolved: %v", got)
	}
	if got := Unresolved(st, nil); len(got) != 3 || got[2].Name != "lang" || got[2].Line != 8 {
		t.Errorf("an output's name is not looked at: %v", got)
	}
}

func FuzzSubstitute(f *testing.F) {
	for _, s := range []string{"{{n}}", "{{{{n}}}}", "{{ {{", "}}{{", "{{item}}{{", "a {{ n }} b"} {
		f.Add(s)
	}
	vars := map[string]string{"n": "7", "item": "{{n}}"}
	f.Fuzz(func(t *testing.T, s string) {
		got := Substitute(s, vars)
		if !strings.Contains(s, "{{") && got != s {
			t.Errorf("%q became %q", s, got)
		}
		if len(got) > 2*len(s) {
			t.Errorf("%q grew to %q", s, got)
		}
		if Substitute(s, nil) != s {
			t.Errorf("%q changed without values", s)
		}
	})
}

func TestSummarise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"after headings", "## Module 1: Set up\n\nInstall Ollama first. Then pull a model.\n", "Install Ollama first."},
		{"over lines", "First line goes\non here. Next.", "First line goes on here."},
		{"version numbers", "Use version 3.12 of it, e.g. from the archive. More.", "Use version 3.12 of it, e.g. from the archive."},
		{"file names", "Open main.py now! Then run.", "Open main.py now!"},
		{"code is passed over", "```sh\nls. -l\n```\nLists files. Done.", "Lists files."},
		{"tables and comments are passed over", "<!-- note. -->\n| a. | b |\n|--|--|\n\nText here", "Text here"},
		{"a list's first entry", "- One thing\n- Another thing.", "One thing"},
		{"no full stop", "Only this", "Only this"},
		{"chinese", "这是第一句。这是第二句。", "这是第一句。"},
		{"a quote's end", "He said \"stop.\" Then left.", "He said \"stop.\""},
		{"an ordinal", "1. Sow the seeds. Wait.", "1. Sow the seeds."},
		{"nothing", "# Only a heading\n\n---\n", ""},
		{"crlf and mark", "\ufeffOne sentence.\r\nTwo.\r\n", "One sentence."},
	} {
		if got := Summarise(" A  title ", c.text); got.Sentence != c.want || got.Title != "A title" {
			t.Errorf("%s: got %+v, want %q", c.name, got, c.want)
		}
	}
	long := Summarise("t", strings.Repeat("слово ", 100)).Sentence
	if n := len([]rune(long)); n > maxSentence+1 || !strings.HasSuffix(long, "слово…") {
		t.Errorf("%d characters: %q", n, long)
	}
}

func FuzzSummarise(f *testing.F) {
	for _, s := range []string{"a. b", "```\nx", "", "-\n-", "e.g. x", "?!", "。"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := Summarise("t", s); strings.ContainsAny(got.Sentence, "\n\r") || len([]rune(got.Sentence)) > maxSentence+1 {
			t.Errorf("%q gives %q", s, got.Sentence)
		}
	})
}
