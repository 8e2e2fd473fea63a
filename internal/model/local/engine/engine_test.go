package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTopGivesTheBestFirst(t *testing.T) {
	t.Parallel()
	nan := float32(math.NaN())
	got := top([]float32{1, 5, nan, 5, 3, 4}, 3)
	want := []candidate{{1, 5}, {3, 5}, {5, 4}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: best first, equal ones in order of the vocabulary", got, want)
	}
}

func TestTemperatureZeroTakesTheLikeliest(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	cs := []candidate{{7, 2.0}, {8, 1.99}, {9, 1.98}}
	for range 100 {
		if got := choose(cs, 0, rnd); got != 7 {
			t.Fatalf("got %d, want 7", got)
		}
	}
	seen := map[Token]bool{}
	for range 500 {
		seen[choose(cs, 1, rnd)] = true
	}
	if len(seen) != 3 {
		t.Errorf("with temperature 1 only %v were taken", seen)
	}
	far := []candidate{{1, 10}, {2, 0}}
	for range 500 {
		if got := choose(far, 1, rnd); got != 1 {
			t.Fatal("a token far below the best was taken")
		}
	}
}

func TestEndlessRepetitionIsSeen(t *testing.T) {
	t.Parallel()
	line := []Token{4, 8, 15, 16, 23, 42}
	var out []Token
	at := 0
	for len(out) < 2000 && !repeats(out) {
		out = append(out, line[at%len(line)])
		at++
	}
	if len(out) != repeatTokens {
		t.Errorf("seen after %d tokens, want %d", len(out), repeatTokens)
	}
	var table []Token // rows that differ in one token
	for i := range 2000 {
		if i%12 == 5 {
			table = append(table, Token(1000+i))
		} else {
			table = append(table, Token(i%12))
		}
		if repeats(table) {
			t.Fatalf("a table was taken for a repetition after %d tokens", i)
		}
	}
	if next, ok := loops(append([]Token{1, 2}, slices.Repeat([]Token{5, 6}, 16)...)); !ok || next != 5 {
		t.Errorf("loop: next %d, %v; want 5, true", next, ok)
	}
}

func tokens(n int, from Token) []Token {
	out := make([]Token, n)
	for i := range out {
		out[i] = from + Token(i)
	}
	return out
}

func TestItemsShareTheirBeginning(t *testing.T) {
	t.Parallel()
	common := tokens(800, 0)
	s := newSlots(4)
	item := func(n Token) []Token { return append(slices.Clone(common), tokens(300, 10_000*(n+1))...) }
	for n := range Token(6) {
		prompt := item(n)
		p := s.take(prompt)
		want := 0
		if n > 0 {
			want = 800
		}
		if p.keep != want {
			t.Errorf("item %d: %d tokens are kept, want %d", n, p.keep, want)
		}
		if n > 0 && p.seq == p.copy {
			t.Errorf("item %d: what an earlier item held was thrown away although there is room", n)
		}
		s.held[p.seq] = prompt
	}
}

func TestATurnGoesOnInItsOwnSequence(t *testing.T) {
	t.Parallel()
	s := newSlots(4)
	first := tokens(500, 0)
	p := s.take(first)
	s.held[p.seq] = append(slices.Clone(first), 90_001) // the reply
	next := append(slices.Clone(first), tokens(50, 90_001)...)
	q := s.take(next)
	if q.seq != p.seq || q.copy != p.seq || q.keep != 501 {
		t.Errorf("got %+v, want sequence %d with 501 tokens kept", q, p.seq)
	}
	s.held[q.seq] = next
	same := s.take(next)
	if same.keep != len(next)-1 {
		t.Errorf("an equal prompt keeps %d tokens, want all but the last of %d", same.keep, len(next))
	}
}

func TestOtherPromptsDoNotPushOutTheCommonBeginning(t *testing.T) {
	t.Parallel()
	common, judge := tokens(800, 0), tokens(600, 500_000)
	s := newSlots(8)
	for n := range Token(5) {
		prompt := append(slices.Clone(common), tokens(300, 10_000*(n+1))...)
		p := s.take(prompt)
		if n > 0 && p.keep != 800 {
			t.Errorf("item %d keeps %d tokens, want 800", n, p.keep)
		}
		s.held[p.seq] = prompt
		check := append(slices.Clone(judge), tokens(300, 20_000*(n+1))...)
		q := s.take(check)
		if n > 0 && q.keep != 600 {
			t.Errorf("check %d keeps %d tokens, want 600", n, q.keep)
		}
		s.held[q.seq] = check
	}
}

func TestMemoryThatCannotBeCutIsUsedOnlyAsAWhole(t *testing.T) {
	t.Parallel()
	s := newSlots(4)
	s.cut = false
	first := tokens(500, 0)
	p := s.take(first)
	s.held[p.seq] = append(slices.Clone(first), 90_001)
	if q := s.take(append(slices.Clone(first), 5)); q.keep != 0 {
		t.Errorf("%d tokens are kept of a sequence that goes on otherwise", q.keep)
	}
	if q := s.take(append(slices.Clone(first), 90_001, 7)); q.keep != 501 || q.seq != q.copy {
		t.Errorf("got %+v, want the sequence to go on as it is", q)
	}
}

func TestCharactersAreNotCutApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want int
	}{{"", 0}, {"abc", 3}, {"a\xd0", 1}, {"\xd0\xb6", 2}, {"\xf0\x9f\x98", 0}, {"x\xf0\x9f\x98\x80", 5}, {"\xff", 1}, {"a\x80", 2}} {
		if got := wholeRunes([]byte(c.in)); got != c.want {
			t.Errorf("%q: %d whole bytes, want %d", c.in, got, c.want)
		}
	}
}

func TestThreadsLeaveBusyCoresToOthers(t *testing.T) {
	t.Parallel()
	running := 1
	g := &governor{cores: 4, most: 4, load: func() (int, bool) { return running, true }}
	if n := g.threads(); n != 4 {
		t.Errorf("on an idle machine %d threads, want 4", n)
	}
	settle := func(r int) (n int) {
		running = r
		for range 40 {
			n = g.threads()
		}
		return n
	}
	for r, want := range map[int]int{1: 4, 2: 3, 4: 1, 30: 1} {
		if n := settle(r); n != want {
			t.Errorf("with %d threads of others: %d, want %d", r-1, n, want)
		}
	}
	g.load = func() (int, bool) { return 0, false }
	if n := g.threads(); n != 4 {
		t.Errorf("on a system that says nothing: %d, want 4", n)
	}
	if n, ok := runningIn([]byte("0.20 0.18 0.12 3/80 11206\n")); n != 3 || !ok {
		t.Errorf("3 running threads are read as %d, %v", n, ok)
	}
	if _, ok := runningIn([]byte("nonsense")); ok {
		t.Error("nonsense is read")
	}
}
