package agent

import (
	"fmt"
	"strings"
)

// guard notices a model that goes round in circles. What came back plays no
// part: a call that succeeds again and again is a circle as well.
type guard struct {
	calls    []string // signatures of the last four calls
	repeated bool     // a call was made twice running
}

// add takes the next call. The third of the same running, and the second full
// cycle between two, end the turn.
func (g *guard) add(signature string) *cut {
	g.calls = append(g.calls, signature)
	g.calls = g.calls[max(0, len(g.calls)-4):]
	n := len(g.calls)
	name, _, _ := strings.Cut(signature, "\x00")
	switch {
	case n >= 3 && g.calls[n-1] == g.calls[n-2] && g.calls[n-2] == g.calls[n-3]:
		return &cut{StopRepeat, fmt.Sprintf("%s was called three times running with the same arguments", name)}
	case n == 4 && g.calls[0] == g.calls[2] && g.calls[1] == g.calls[3] && g.calls[0] != g.calls[1]:
		other, _, _ := strings.Cut(g.calls[0], "\x00")
		return &cut{StopRepeat, fmt.Sprintf("the calls of %s and %s went round in a circle", other, name)}
	case n >= 2 && g.calls[n-1] == g.calls[n-2]:
		g.repeated = true
	}
	return nil
}
