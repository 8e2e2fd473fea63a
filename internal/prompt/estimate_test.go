package prompt

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"
)

// TestEstimateIsWithin15Percent compares with the tokenizer itself, on texts
// that the figures were not made from.
func TestEstimateIsWithin15Percent(t *testing.T) {
	t.Parallel()
	enc, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/estimate/*.txt")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d texts, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		ids, _, err := enc.Encode(string(data))
		if err != nil {
			t.Fatal(err)
		}
		got, want := Estimate(string(data)), len(ids)
		if off := math.Abs(float64(got-want)) / float64(want); off > 0.15 {
			t.Errorf("%s: estimate %d, tokenizer %d: off by %.1f %%", filepath.Base(file), got, want, off*100)
		}
	}
}

func TestEstimateOfLittle(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "a": 1, "\n": 1, "the": 1, "Hello": 1, "12345": 2, "Hello, world!": 4} {
		if got := Estimate(text); got != want {
			t.Errorf("Estimate(%q) = %d, want %d", text, got, want)
		}
	}
}

// TestEstimateOfWholeIsSumOfPieces: parts of a prompt are counted apart and
// added, which must not lead far from the count of the whole.
func TestEstimateOfWholeIsSumOfPieces(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/estimate/manual.txt")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat(string(data), 8)
	sum := 0
	for _, p := range strings.Split(text, "\n\n") {
		sum += Estimate(p) + 1
	}
	if whole := Estimate(text); math.Abs(float64(sum-whole)) > float64(whole)/20 {
		t.Errorf("pieces %d, whole %d", sum, whole)
	}
}

func TestEstimateTools(t *testing.T) {
	t.Parallel()
	if n := EstimateTools(nil); n != 0 {
		t.Errorf("no tools cost %d", n)
	}
	data, err := os.ReadFile("testdata/estimate/data.json.txt")
	if err != nil {
		t.Fatal(err)
	}
	one := EstimateTools([]Tool{{Name: "search", Description: "Searches.", Schema: data}})
	two := EstimateTools([]Tool{{Name: "search", Description: "Searches.", Schema: data}, {Name: "find", Description: "Finds.", Schema: data}})
	if schema := Estimate(string(data)); one < schema || two-one < schema {
		t.Errorf("one tool %d, two %d, the schema alone %d", one, two, schema)
	}
}

func FuzzEstimate(f *testing.F) {
	for _, s := range []string{"", "a b", "\xff\xfe", "日本語 text", "  \t\n\r\n", "Привіт, світе", "é́", strings.Repeat("|-", 50), "🙂🙂 x", "\u00a0a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := Estimate(s)
		if n < 0 || (n == 0) != (s == "") || n > 4*len(s)+1 {
			t.Errorf("Estimate(%q) = %d", s, n)
		}
	})
}

func BenchmarkEstimate(b *testing.B) {
	data, err := os.ReadFile("testdata/estimate/manual.txt")
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat(string(data), 10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Estimate(text)
	}
}
