package engine

import (
	"bytes"
	"strconv"
)

// governor chooses how many threads compute. The threads of one computation
// wait for each other hundreds of times a token by spinning: where other
// programs want the same cores, each wait lasts until the scheduler comes
// round, and two threads are many times slower than one. So only cores that
// nobody else is using count.
type governor struct {
	cores  int     // of the machine
	most   int     // threads at most
	others float64 // threads of others that want to run, smoothed
	begun  bool
	load   func() (running int, ok bool) // threads that want to run, this one included
}

// threads gives the number for the next computation.
func (g *governor) threads() int {
	running, ok := g.load()
	if !ok {
		return g.most
	}
	now := float64(max(running-1, 0))
	if !g.begun {
		g.begun, g.others = true, now
	}
	g.others += (now - g.others) / 4
	return min(max(int(float64(g.cores)-g.others+0.5), 1), g.most)
}

// runningIn reads how many threads want to run from the system's text about
// its load: "0.20 0.18 0.12 1/80 11206".
func runningIn(loadavg []byte) (int, bool) {
	fields := bytes.Fields(loadavg)
	if len(fields) < 4 {
		return 0, false
	}
	running, _, found := bytes.Cut(fields[3], []byte("/"))
	n, err := strconv.Atoi(string(running))
	return n, found && err == nil
}
