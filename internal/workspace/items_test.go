package workspace

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func titles(l ItemList) string {
	var out []string
	for _, it := range l.Items {
		out = append(out, it.Title)
	}
	return strings.Join(out, " | ")
}

func TestItemsOfASource(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, word, src, titles, passed string }{
		"headings with the word": {"o.md", "module", "# Course\n\nIntro.\n\n## Module 1: Start\n- a\n\n## Module 2: Go\n- b\n\n## Summary\nEnd.\n", "Module 1: Start | Module 2: Go", "line 1: # Course | line 11: ## Summary"},
		"at whatever level":      {"o.md", "module", "# A\n### Module 1\nx\n# B\n#### Module 2\ny\n", "Module 1 | Module 2", "line 1: # A | line 4: # B"},
		"numbered, bold, emoji":  {"o.md", "module", "## 1. **Module**: One\n\n## 🚀 Module two\n\n## Modules overview\n", "1. Module: One | 🚀 Module two", "line 5: ## Modules overview"},
		"the title holds them":   {"o.md", "module", "# Module outline\n\n## Module 1\n\n## Module 2\n", "Module 1 | Module 2", "line 1: # Module outline"},
		"one below another":      {"o.md", "module", "## Module 1\n### Module summary\n## Module 2\n", "Module 1 | Module 2", ""},
		"plural in the contract": {"o.md", "modules", "## Module 1\n## Module 2\n", "Module 1 | Module 2", ""},
		"another language":       {"o.md", "модуль", "## Модуль 1\n## Модуль 2\n## Підсумок\n", "Модуль 1 | Модуль 2", "line 3: ## Підсумок"},
		"shallowest level twice": {"o.md", "module", "# Course\n\n## Setup\na\n### x\n### y\n\n## Run\nb\n", "Setup | Run", "line 1: # Course"},
		"no word":                {"o.md", "", "## A\n## B\n", "A | B", ""},
		"list items":             {"o.md", "objective", "# Objectives\n\n1. Install **Ollama**\n   on Linux\n2. Call it\n   - nested\n", "Install Ollama | Call it", "line 1: # Objectives"},
		"task list":              {"o.md", "task", "- [ ] one\n- [x] two\n", "one | two", ""},
		"headings in fences":     {"o.md", "module", "```\n## Module 0\n```\n\n## Module 1\n", "Module 1", "line 1: text before the first item"},
		"front matter":           {"o.md", "module", "---\ntitle: x\n---\n## Module 1\n", "Module 1", ""},
		"windows line ends":      {"o.md", "module", "\ufeff## Module 1\r\na\r\n## Module 2\r\n", "Module 1 | Module 2", ""},
		"JSON strings":           {"o.json", "x", `["a", "b c"]`, "a | b c", ""},
		"JSON objects":           {"o.json", "x", `[{"title": "A", "n": 1}, {"name": "B"}, {"n": 3}]`, "A | B | 3", ""},
		"JSON in an object":      {"o.json", "row", `{"rows": [1, 2]}`, "1 | 2", ""},
	} {
		l, err := ItemsOf([]byte(c.src), c.file, c.word)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if titles(l) != c.titles || strings.Join(l.Passed, " | ") != c.passed {
			t.Errorf("%s: %q, passed %q; want %q, %q", name, titles(l), l.Passed, c.titles, c.passed)
		}
		for i, it := range l.Items {
			if it.N != i+1 || it.File != c.file {
				t.Errorf("%s: %+v", name, it)
			}
		}
	}
	for name, src := range map[string]string{"empty": "", "prose": "Nothing here.\n", "one heading": "# Only\ntext\n"} {
		if _, err := ItemsOf([]byte(src), "o.md", "module"); err == nil || !strings.Contains(err.Error(), `"module"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ItemsOf([]byte(`{"a": `), "o.json", "x"); err == nil {
		t.Error("broken JSON is taken")
	}
}

func TestAnItemIsItsBlockAsWritten(t *testing.T) {
	t.Parallel()
	l, err := ItemsOf([]byte("# C\n\n## Module 1: *A*\n- x\n\n### Deep\ny\n\n## Module 2\nz\n\n# End\nno\n"), "o.md", "module")
	if err != nil {
		t.Fatal(err)
	}
	want := []Item{
		{N: 1, Title: "Module 1: A", Text: "## Module 1: *A*\n- x\n\n### Deep\ny\n", Line: 3, File: "o.md"},
		{N: 2, Title: "Module 2", Text: "## Module 2\nz\n", Line: 9, File: "o.md"},
	}
	if d := cmp.Diff(want, l.Items); d != "" {
		t.Error(d)
	}
}

func TestItemsOfAStage(t *testing.T) {
	t.Parallel()
	contract := func(line string) string { return "## For each\n" + line + "\n\n## Process\nGo.\n" }
	w, st, m := oneStage(t, contract("page in notes/*.md"), "notes/b.md=B", "notes/a.md=A", "notes/a.md~=old")
	l, err := w.Items(m, st)
	if err != nil || titles(l) != "a | b" || l.Items[0].Text != "A" || l.Items[1].File != "notes/b.md" || l.How != "files of notes/*.md" {
		t.Errorf("%+v %v", l, err)
	}
	w, st, m = oneStage(t, contract("page in notes/"), "notes/b.md=B", "notes/img.png=\x89PNG\x00")
	if l, err = w.Items(m, st); err != nil || titles(l) != "b | img" || l.Items[1].Text != "" {
		t.Errorf("%+v %v", l, err)
	}
	w, st, m = oneStage(t, contract("part in guide.md#Parts"), "guide.md=# G\n\n## Parts\n- one\n- two\n\n## Other\n- three\n")
	if l, err = w.Items(m, st); err != nil || titles(l) != "one | two" || l.Items[0].Line != 4 {
		t.Errorf("%+v %v", l, err)
	}
	w, st, m = oneStage(t, contract("part in guide.md#Nope"), "guide.md=# G\n")
	if _, err = w.Items(m, st); err == nil || !strings.Contains(err.Error(), `no section "Nope"`) {
		t.Error(err)
	}
	w, st, m = oneStage(t, contract("module in ../01-scope/output/o.md"))
	var missing *MissingSourceError
	if _, err = w.Items(m, st); !errors.As(err, &missing) || missing.Resolved.Maker.Name != "01-scope" || !strings.Contains(err.Error(), "run 01-scope first") {
		t.Error(err)
	}
	w, st, m = oneStage(t, "## Process\nGo.\n")
	if _, err = w.Items(m, st); err == nil {
		t.Error("a stage without For each has items")
	}
}

func TestSectionOfAFile(t *testing.T) {
	t.Parallel()
	src := []byte("\ufeff# Guide\r\n\r\n## 1. Voice & Tone (draft)\r\nPlain.\r\n### Deep\r\nyes\r\n\r\n```\n## Words\n```\n## Words\nFew.\n## Ünïcode café\nx\n")
	for name, want := range map[string]struct {
		text string
		line int
	}{
		"Words":               {"## Words\nFew.\n", 11},
		"words":               {"## Words\nFew.\n", 11},
		"Voice & Tone":        {"## 1. Voice & Tone (draft)\nPlain.\n### Deep\nyes\n\n```\n## Words\n```\n", 3},
		"1-voice--tone-draft": {"## 1. Voice & Tone (draft)\nPlain.\n### Deep\nyes\n\n```\n## Words\n```\n", 3},
		"Deep":                {"### Deep\nyes\n\n```\n## Words\n```\n", 5},
		"ünïcode-café":        {"## Ünïcode café\nx\n", 13},
		`"Deep" + "Words"`:    {"### Deep\nyes\n\n```\n## Words\n```\n\n## Words\nFew.\n", 5},
		`"Words" section`:     {"## Words\nFew.\n", 11},
		"1 (the voice)":       {"## 1. Voice & Tone (draft)\nPlain.\n### Deep\nyes\n\n```\n## Words\n```\n", 3},
		"# Words":             {"## Words\nFew.\n", 11},
	} {
		text, line, ok := SectionOf(src, name)
		if !ok || text != want.text || line != want.line {
			t.Errorf("%s: %q line %d %v", name, text, line, ok)
		}
	}
	for _, name := range []string{"", "Nope", `"Words" + "Nope"`, "#"} {
		if text, _, ok := SectionOf(src, name); ok {
			t.Errorf("%q gives %q", name, text)
		}
	}
}

func TestSlugsAreNamesOnEverySystem(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"CON: a/b?":             "con-a-b",
		"CON":                   "item-con",
		"com1":                  "item-com1",
		"Module 3: **Run** it!": "module-3-run-it",
		"Trailing dots...":      "trailing-dots",
		"cafe\u0301 au lait":    "caf\u00e9-au-lait",
		"Caf\u00e9 au lait":     "caf\u00e9-au-lait",
		"Модуль 1 — Початок":    "модуль-1-початок",
		"../../etc/passwd":      "etc-passwd",
		"What's new":            "whats-new",
		"???":                   "item",
		"":                      "item",
		"日本語 ガイド":               "日本語-ガイド",
	} {
		if got := Slug(title); got != want {
			t.Errorf("Slug(%q) is %q, want %q", title, got, want)
		}
	}
	long := Slug(strings.Repeat("слово ", 40))
	if len(long) > 60 || strings.HasSuffix(long, "-") || !strings.HasPrefix(long, "слово-слово") {
		t.Errorf("%q has %d bytes", long, len(long))
	}
}

func FuzzItems(f *testing.F) {
	f.Add("## Module 1\n## Module 2\n", "module")
	f.Add("- a\n- b\n", "x")
	f.Add("[1, {\"a\": []}]", "")
	f.Add("---\na: b\n---\n# x\n- - - a\n", "é")
	f.Fuzz(func(t *testing.T, src, word string) {
		if len(src) > 1<<16 {
			return
		}
		for _, file := range []string{"o.md", "o.json"} {
			l, err := ItemsOf([]byte(src), file, word)
			if err == nil && len(l.Items) == 0 {
				t.Error("no items and no error")
			}
			for _, it := range l.Items {
				if s := Slug(it.Title); s == "" || len(s) > 60 || strings.ContainsAny(s, "/\\\x00:*?\"<>|") {
					t.Errorf("%q makes the name %q", it.Title, s)
				}
			}
		}
		_, _, _ = SectionOf([]byte(src), word)
	})
}
