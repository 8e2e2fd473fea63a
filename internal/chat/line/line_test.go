package line

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
)

func keys(s string) []Key {
	var d decoder
	return d.feed([]byte(s), time.Time{})
}

// typed is what a text and its cursor are after some keys; | is the cursor.
func typed(h *History, s string) string {
	e := newEditor(h)
	for _, k := range keys(s) {
		e.do(k)
	}
	return string(e.text[:e.pos]) + "|" + string(e.text[e.pos:])
}

func TestKeysEditTheText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ keys, want string }{
		{"abc", "abc|"},
		{"abc\x7f\x7fx", "ax|"},
		{"abc\x1b[D\x1b[Dx", "ax|bc"},
		{"abc\x01x\x05y", "xabcy|"},
		{"one two three\x17", "one two |"},
		{"one two three\x1b[1;5D\x1b[1;5D\x0b", "one |"},
		{"one two\x15", "|"},
		{"one two\x15\x19!", "one two!|"},
		{"ab\x14", "ba|"},
		{"one\x1b\rtwo\x1b[Ax", "onex|\ntwo"},
		{"one\x1b\rtwo\x01\x15x", "one\nx|two"},
		{"e\u0301x\x1b[D\x1b[D\x1b[3~", "|x"},                     // a letter goes with its accent
		{"👩\u200d👩\u200d👧x\x1b[D\x7f", "|x"},                      // and a family as one
		{"日本\x1b[Dx", "日x|本"},                                     //
		{"\x1b[200~a\r\nb\tc\x1b[31m\x1b[201~!", "a\nb\tc[31m!|"}, // a paste keeps lines and steers nothing
		{"a\x1b[999;99Rb\x1bOQc", "abc|"},                         // keys that mean nothing
		{"a\x00\x1cb", "ab|"},
	} {
		if got := typed(nil, c.keys); got != c.want {
			t.Errorf("%q gives %q, want %q", c.keys, got, c.want)
		}
	}
}

func TestHistoryIsLookedThrough(t *testing.T) {
	t.Parallel()
	h := &History{entries: []string{"first", "second thing", "third"}}
	for _, c := range []struct{ keys, want string }{
		{"\x1b[A", "third|"},
		{"\x1b[A\x1b[A\x1b[A\x1b[A", "first|"},
		{"new\x1b[A\x1b[B", "new|"},
		{"\x12thi", "|third"},
		{"\x12thi\x12", "second |thing"},
		{"\x12irs\x01x", "x|first"},
		{"keep\x12zzz\x03", "keep|"},
	} {
		if got := typed(h, c.keys); got != c.want {
			t.Errorf("%q gives %q, want %q", c.keys, got, c.want)
		}
	}
}

func TestCandidatesComplete(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text       string
		start      int
		candidates []string
		want       string
	}{
		{"/co", 0, []string{"/context"}, "/context"},
		{"/s", 0, []string{"/show ", "/save "}, "/s"},
		{"/model ol", 7, []string{"ollama/a", "ollama/b"}, "/model ollama/"},
		{"/x", 0, nil, "/x"},
		{"日 a", 2, []string{"abc"}, "日 abc"},
	} {
		e := newEditor(nil)
		e.insert(c.text)
		e.complete(c.start, c.candidates)
		if string(e.text) != c.want {
			t.Errorf("%q became %q, want %q", c.text, string(e.text), c.want)
		}
	}
}

func TestRowsFitTheTerminal(t *testing.T) {
	t.Parallel()
	l := lay("> ", "  ", []rune("abc日本語def\nx\ty"), 9, 8)
	want := []string{"> abc日", "本語def", "  x    y"}
	if !slices.Equal(l.rows, want) || l.row != 1 || l.col != 7 {
		t.Errorf("%q, the cursor at %d, %d", l.rows, l.row, l.col)
	}
	l = lay("> ", "  ", []rune("abcdef"), 6, 8) // a full row: the cursor goes to the next
	if len(l.rows) != 2 || l.row != 1 || l.col != 0 {
		t.Errorf("%q, the cursor at %d, %d", l.rows, l.row, l.col)
	}
	rows, row := lay("> ", "  ", []rune(strings.Repeat("x\n", 50)), 60, 8).seen(10)
	if len(rows) != 10 || row < 0 || row > 9 {
		t.Errorf("%d rows, the cursor at %d", len(rows), row)
	}
}

func TestHistoryIsBoundedAndKeepsNoSecrets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "typed")
	h, err := OpenHistory(path, func(s string) bool { return strings.Contains(s, "secret") })
	if err != nil {
		t.Fatal(err)
	}
	add := func(s string) {
		t.Helper()
		if err := h.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2*mostEntries + 5 {
		add(fmt.Sprintf("line %d\nof two", i))
	}
	add("my secret")
	add(" not kept")
	add("")
	add("last")
	add("last")
	add(strings.Repeat("x", longest+1))
	if h.Len() != mostEntries || h.entries[h.Len()-1] != "last" {
		t.Errorf("%d entries, the last is %q", h.Len(), h.entries[h.Len()-1])
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("\"half of a li"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	again, err := OpenHistory(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(again.entries, h.entries) {
		t.Errorf("read again there are %d entries, the last is %q", again.Len(), again.entries[again.Len()-1])
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "\n"); n != mostEntries {
		t.Errorf("the file has %d lines", n)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
}

// FuzzKeys: any bytes, in any pieces, give keys whose text can be shown, the
// same ones however they were cut, and an editor that stays whole.
func FuzzKeys(f *testing.F) {
	for _, s := range []string{"abc\r", "\x1b[A\x1b[200~x\ny\x1b[201~", "\x1b\x1b[D", "é日\x1b[1;5C\x17", "\x12a\x12\x7f\x03", "\x1b[200~\x1b[20", "\xff\xc3"} {
		f.Add([]byte(s), 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		if len(data) > 1<<12 {
			return
		}
		step = 1 + (step&0x7fffffff)%16
		var whole, pieces decoder
		a := whole.feed(data, time.Time{})
		var b []Key
		for i := 0; i < len(data); i += step {
			b = append(b, pieces.feed(data[i:min(i+step, len(data))], time.Time{})...)
		}
		if !slices.Equal(a, b) {
			t.Errorf("whole: %v, in pieces of %d: %v", a, step, b)
		}
		e := newEditor(&History{entries: []string{"one", "two\nlines"}})
		for _, k := range a {
			for _, r := range k.Text {
				if r != '\n' && r != '\t' && unicode.IsControl(r) {
					t.Fatalf("a key has the text %q", k.Text)
				}
			}
			e.do(k)
			if e.pos < 0 || e.pos > len(e.text) {
				t.Fatalf("after %v the cursor is at %d of %d", k, e.pos, len(e.text))
			}
			for _, w := range []int{1, 7, 80} {
				l := lay("> ", "  ", e.text, e.pos, w)
				if l.row >= len(l.rows) || l.col >= max(w, 4) {
					t.Fatalf("after %v the cursor is at %d, %d of %q", k, l.row, l.col, l.rows)
				}
			}
		}
	})
}
