package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// table is what one measurement prints.
type table struct {
	title string
	rows  []row
	notes []string
}

// row is one figure beside its floor.
type row struct {
	what, measured, floor, ratio, target string
}

// String draws the table.
func (t table) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s\n", t.title)
	w := tabwriter.NewWriter(&s, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "  \tmeasured\tfloor\tagainst it\ttarget")
	for _, r := range t.rows {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", r.what, r.measured, r.floor, r.ratio, r.target)
	}
	_ = w.Flush()
	for _, n := range t.notes {
		fmt.Fprintf(&s, "  %s\n", n)
	}
	return s.String()
}

// median is the middle of what was measured, or the mean of the middle two. It
// is 0 for nothing.
func median[N ~int | ~int64 | ~float64](all []N) N {
	if len(all) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(all))
	if len(s)%2 == 1 {
		return s[len(s)/2]
	}
	return (s[len(s)/2-1] + s[len(s)/2]) / 2
}

// side is one thing that is timed.
type side struct {
	ready func() error // before each turn, not timed; may be nil
	run   func() error
	taken []time.Duration
}

// alternate times every side n times by turns, after one turn that does not
// count, so that what else the machine does falls on all alike.
func alternate(n int, sides ...*side) error {
	for i := range n + 1 {
		for _, s := range sides {
			if s.ready != nil {
				if err := s.ready(); err != nil {
					return err
				}
			}
			began := time.Now()
			if err := s.run(); err != nil {
				return err
			}
			if i > 0 {
				s.taken = append(s.taken, time.Since(began))
			}
		}
	}
	return nil
}

func (s *side) median() time.Duration { return median(s.taken) }

// pairwise gives the median of what each turn of a took per turn of b: what
// slows both down in one turn falls out.
func pairwise(a, b *side) float64 {
	var all []float64
	for i := range min(len(a.taken), len(b.taken)) {
		all = append(all, float64(a.taken[i])/float64(b.taken[i]))
	}
	return median(all)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond)) }

func times(r float64) string { return fmt.Sprintf("%.2f times", r) }
