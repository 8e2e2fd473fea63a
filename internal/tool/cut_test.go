package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"towpath/internal/prompt"
)

func TestLongResultKeepsHeadAndTailAndLeadsWithTheNote(t *testing.T) {
	t.Parallel()
	text := "HEAD " + strings.Repeat("слово ", 5000) + " TAIL"
	var k Kept
	if note, shown := k.Cut(text, 1<<20, false, "read_result"); note != "" || shown != text || !k.Empty() {
		t.Error("a text within the limit was cut")
	}
	note, shown := k.Cut(text, 500, false, "read_result")
	if !strings.HasPrefix(note, fmt.Sprintf("[This result is cut: of %d bytes", len(text))) || !strings.Contains(note, `call read_result with {"handle": "`) {
		t.Errorf("note %q", note)
	}
	if !strings.HasPrefix(shown, "HEAD ") || !strings.HasSuffix(shown, " TAIL") || !utf8.ValidString(shown) {
		t.Errorf("shown %q", shown)
	}
	if n := prompt.Estimate(shown); n > 600 {
		t.Errorf("%d tokens are shown", n)
	}
	if note, _ := k.Cut(text, 500, false, ""); strings.Contains(note, "call") {
		t.Errorf("without a reader the note says %q", note)
	}
}

func TestKeptResultCanBePagedToItsEnd(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("рядок тексту\n", 3000)
	var k Kept
	note, _ := k.Cut(text, 100, true, "read_result")
	_, rest, _ := strings.Cut(note, `"handle": "`)
	handle, _, _ := strings.Cut(rest, `"`)
	reader := k.Reader(1000)
	var all strings.Builder
	for offset, pages := 0, 0; offset < len(text); pages++ {
		if pages > 200 {
			t.Fatal("it does not come to an end")
		}
		r, err := reader.Call(t.Context(), json.RawMessage(fmt.Sprintf(`{"handle":%q,"offset":%d}`, handle, offset)))
		if err != nil || r.IsError || !r.Untrusted {
			t.Fatalf("result %+v, error %v", r, err)
		}
		_, page, _ := strings.Cut(r.Text, "\n")
		all.WriteString(page)
		offset += len(page)
	}
	if all.String() != text {
		t.Error("the pages do not make the text")
	}
	for _, args := range []string{`{"handle":"nope"}`, fmt.Sprintf(`{"handle":%q,"offset":%d}`, handle, len(text))} {
		if r, err := reader.Call(t.Context(), json.RawMessage(args)); err != nil || !r.IsError {
			t.Errorf("%s: %+v, error %v", args, r, err)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a\xffb", 1)
	f.Add(strings.Repeat("word ", 100), 3)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		var k Kept
		note, shown := k.Cut(text, limit, false, "read_result")
		if note == "" && shown != text {
			t.Errorf("%q became %q without a word", text, shown)
		}
	})
}
