package stream

// Repetition is found when the end of a text is one unit over and over: at
// least minRepeats times and over at least minRepeated bytes. Rulers, tables and
// refrains that people mean are shorter.
const (
	minRepeats  = 12
	minRepeated = 1400
	cycleTail   = 8 << 10 // bytes looked at
	cycleEvery  = 512     // bytes between two looks
)

// cycle watches a text for repetition without end.
type cycle struct {
	tail []byte
	due  int
	fail []int
}

// add takes the next piece and gives the repeated unit, "" where there is none.
// It looks at fixed places of the text, however that is cut into pieces.
func (c *cycle) add(s string) string {
	for len(s) > 0 {
		n := min(len(s), cycleEvery-c.due)
		c.tail = append(c.tail, s[:n]...)
		s = s[n:]
		if c.due += n; c.due < cycleEvery {
			return ""
		}
		c.due = 0
		if len(c.tail) > cycleTail {
			c.tail = append(c.tail[:0], c.tail[len(c.tail)-cycleTail:]...)
		}
		if unit := c.look(minRepeats, minRepeated); unit != "" {
			return unit
		}
	}
	return ""
}

// look finds the shortest unit that the tail ends with over and over. It is the
// failure function of the tail read backwards: a suffix of length n whose border
// is b long has the period n-b.
func (c *cycle) look(repeats, least int) string {
	n := len(c.tail)
	if n < least {
		return ""
	}
	at := func(i int) byte { return c.tail[n-1-i] }
	if cap(c.fail) < n {
		c.fail = make([]int, cycleTail*2)
	}
	fail := c.fail[:n]
	fail[0] = 0
	k := 0
	for i := 1; i < n; i++ {
		for k > 0 && at(i) != at(k) {
			k = fail[k-1]
		}
		if at(i) == at(k) {
			k++
		}
		fail[i] = k
		size, unit := i+1, i+1-k
		if size >= least && size >= repeats*unit {
			return string(c.tail[n-unit:])
		}
	}
	return ""
}

// ending says whether the text so far ends in repetition, by a looser measure:
// it serves to explain a stream that a server broke off.
func (c *cycle) ending() string { return c.look(minRepeats, 60) }
