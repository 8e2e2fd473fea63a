package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestMedianIsTheMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		all  []int
		want int
	}{{nil, 0}, {[]int{7}, 7}, {[]int{9, 1, 5}, 5}, {[]int{8, 2, 4, 100}, 6}} {
		if got := median(c.all); got != c.want {
			t.Errorf("median(%v) = %d, want %d", c.all, got, c.want)
		}
	}
}

func TestSidesTakeTurns(t *testing.T) {
	t.Parallel()
	var order strings.Builder
	a := &side{run: func() error { order.WriteByte('A'); return nil }}
	b := &side{run: func() error { order.WriteByte('B'); return nil }}
	if err := alternate(3, a, b); err != nil {
		t.Fatal(err)
	}
	if order.String() != "ABABABAB" || len(a.taken) != 3 || len(b.taken) != 3 {
		t.Errorf("order %s, %d and %d taken; want ABABABAB, the first turn not taken", order.String(), len(a.taken), len(b.taken))
	}
	fault := errors.New("fault")
	if err := alternate(3, &side{run: func() error { return fault }}); !errors.Is(err, fault) {
		t.Errorf("error %v, want the side's own", err)
	}
}

func TestRatioIsOfEachTurn(t *testing.T) {
	t.Parallel()
	a := &side{taken: []time.Duration{2, 40, 6}}
	b := &side{taken: []time.Duration{1, 10, 3}}
	if got := pairwise(a, b); got != 2 {
		t.Errorf("ratio %v, want 2", got)
	}
}

func TestTableHasTargetBesideTheFigure(t *testing.T) {
	t.Parallel()
	got := table{title: "Title", rows: []row{{"thing", "2 ms", "1 ms", "2.00 times", "at most 2 times"}}, notes: []string{"note"}}.String()
	want := "Title\n" +
		"          measured   floor   against it   target\n" +
		"  thing   2 ms       1 ms    2.00 times   at most 2 times\n" +
		"  note\n"
	if got != want {
		t.Errorf("table\n%s\nwant\n%s", got, want)
	}
}
