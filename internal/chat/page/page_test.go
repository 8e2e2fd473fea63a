package page

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"towpath/internal/chat/line"
)

var marked = &Style{
	Bold: func(s string) string { return "<" + s + ">" },
	Code: func(s string) string { return "{" + s + "}" },
	Dim:  func(s string) string { return "(" + s + ")" },
}

// show writes text in pieces of so many bytes.
func show(text string, step int, opt Options) string {
	var b strings.Builder
	w := New(&b, opt)
	for i := 0; i < len(text); i += step {
		w.Write(text[i:min(i+step, len(text))])
	}
	if err := w.End(); err != nil {
		panic(err)
	}
	return b.String()
}

func thirty() int { return 30 }

func TestMarkdownIsShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"heading", "## A head\ntext\n", "<A> <head>\ntext\n"},
		{"no heading", "#tag and #1\n", "#tag and #1\n"},
		{"emphasis", "some **bold words** and `code` here\n", "some <bold> <words> and {code} here\n"},
		{"stars that mean nothing", "2 ** 3 and 2 * 3 and **open\n", "2 ** 3 and 2 * 3 and **open\n"},
		{"tick that means nothing", "a ` b\n", "a ` b\n"},
		{"code with ticks", "``a ` b``\n", "{a} {`} {b}\n"},
		{"code block", "```go\nfunc x() {   return   } // longer than thirty\n```\nafter\n",
			"(```go)\n{func x() {   return   } // longer than thirty}\n(```)\nafter\n"},
		{"block in a longer fence", "````\n```\n**x**\n````\n**y**\n", "(````)\n(```)\n{**x**}\n(````)\n<y>\n"},
		{"table", "| **a** | a wide column of words | b |\n|---|---|---|\n", "| **a** | a wide column of words | b |\n|---|---|---|\n"},
		{"list", "- an item that is longer than the line\n  1. one more\n", "- an item that is longer than \n  the line\n  1. one more\n"},
		{"quotation", "> words of another that are long\n", "> words of another that are \n  long\n"},
		{"rule", "---\n", "---\n"},
		{"wide characters", "日本語のテキストはスペースなしで続きます。\n", "日本語のテキストはスペースなし\nで続きます。\n"},
		{"address", "https://example.com/a/path/that/is/long\n", "https://example.com/a/path/tha\nt/is/long\n"},
		{"no end of line", "the end", "the end\n"},
		{"blank lines first", "\n\nx\n\ny\n", "x\n\ny\n"},
		{"windows", "a\r\nb\r\n", "a\nb\n"},
		{"number that is no item", "2026 was a year\n", "2026 was a year\n"},
	} {
		for _, step := range []int{1, 2, 3, 7, 1000} {
			if got := show(c.text, step, Options{Width: thirty, Style: marked}); got != c.want {
				t.Errorf("%s, %d bytes at a time:\n%q\nwant\n%q", c.name, step, got, c.want)
			}
		}
	}
}

func TestWithoutStyleTheMarksStay(t *testing.T) {
	t.Parallel()
	const text = "# Head\n\n**bold** and `code`\n"
	if got := show(text, 3, Options{Width: thirty}); got != text {
		t.Errorf("%q", got)
	}
	if got := show(text, 3, Options{Lines: true}); got != text {
		t.Errorf("%q", got)
	}
}

func TestWordsAreShownAsTheyCome(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	w := New(&b, Options{Width: thirty, Style: marked})
	w.Write("Once upon a ti")
	if b.String() != "Once upon a " {
		t.Errorf("shown so far: %q", b.String())
	}
	w.Write("me **there was")
	if b.String() != "Once upon a time " {
		t.Errorf("shown so far: %q", b.String())
	}
	w.Write("** a")
	if b.String() != "Once upon a time <there> <was> " {
		t.Errorf("shown so far: %q", b.String())
	}
}

func TestNothingSteersTheTerminal(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[2J\x1b]0;x\x07\u009b1A\u202eA\r\b\x00\u2066\xff\x9b"
	for _, step := range []int{1, 2, 5, 100} {
		got := show("a "+evil+"\n```\n"+evil+"\n```\n| "+evil+" |\n# "+evil+"\n`"+evil+"`\n", step, Options{Width: thirty})
		if r := steering(got); r != 0 {
			t.Errorf("%U is in %q", r, got)
		}
	}
}

func steering(s string) rune {
	for _, r := range s {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return r
		}
	}
	return 0
}

// TestLongLinesAreShownInTime: a line without an end, and without a blank, takes
// no longer than its length.
func TestLongLinesAreShownInTime(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"x", "`", "*", "#", " ", "```a", "**a", "- ", "日"} {
		text := strings.Repeat(piece, 1<<18/len(piece))
		began := time.Now()
		got := show(text, 4, Options{Width: thirty, Style: marked})
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%q took %s", piece, took)
		}
		if piece == "x" && strings.Count(got, "x") != len(text) {
			t.Errorf("%d letters are left of %d", strings.Count(got, "x"), len(text))
		}
	}
}

// FuzzPage: what is shown does not depend on how the text was cut into pieces,
// loses no letter, steers nothing, and outside of code and tables no row is
// wider than the terminal.
func FuzzPage(f *testing.F) {
	for _, s := range []string{"# a\n**b** `c`\n", "```\nx\n", "- a\n  - b\n1) c\n> d\n", "**a ** b`c``d`", "日本 語\u0301\u200d", "| a |\n", "~~~~\n```\n", "\x1b[1m\xff"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, step int) {
		if len(text) > 1<<12 {
			return
		}
		step = 1 + (step&0x7fffffff)%64
		whole := show(text, len(text)+1, Options{Width: thirty})
		if got := show(text, step, Options{Width: thirty}); got != whole {
			t.Errorf("in pieces of %d: %q; whole: %q", step, got, whole)
		}
		if r := steering(whole); r != 0 {
			t.Errorf("%U is in %q", r, whole)
		}
		if a, b := letters(Clean(text)), letters(whole); a != b {
			t.Errorf("%q became %q", a, b)
		}
		if strings.ContainsAny(text, "|`~\t") {
			return
		}
		for _, l := range strings.Split(whole, "\n") {
			if n := line.Columns(strings.TrimRight(l, " ")); n > 41 { // a lead of up to 40 columns keeps one of its words
				t.Errorf("%d columns: %q", n, l)
			}
		}
	})
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}
