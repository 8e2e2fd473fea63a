package engine

// slots keeps track of which tokens the native memory holds, one list per
// sequence. It decides; the caller does the same to the memory.
type slots struct {
	cut  bool      // a sequence can be cut; if not, it can only go on as a whole
	held [][]Token // per sequence, in order of position
	used []int64   // per sequence, when it was used last
	now  int64
}

func newSlots(n int) *slots {
	return &slots{cut: true, held: make([][]Token, n), used: make([]int64, n)}
}

// plan says how to make a sequence begin with as much of a prompt as is held.
type plan struct {
	seq  int // the sequence to use
	keep int // tokens of the prompt that it holds, after copying
	copy int // the sequence to copy them from, seq itself if none is
}

// forkWorth is how many tokens a sequence must lose beyond the common
// beginning before that is copied to another sequence instead. Less is cheaper
// to compute again than to keep.
const forkWorth = 192

// take plans for a prompt. The last token of a prompt is always computed
// again, since its scores are needed.
func (s *slots) take(prompt []Token) plan {
	best, common := 0, -1
	for i, held := range s.held {
		n := commonPrefix(held, prompt)
		if !s.cut && (n < len(held) || n >= len(prompt)) {
			n = 0
		}
		if n > common || n == common && s.used[i] < s.used[best] {
			best, common = i, n
		}
	}
	keep := min(common, len(prompt)-1)
	p := plan{seq: best, keep: keep, copy: best}
	if len(s.held[best])-keep > forkWorth {
		if oldest := s.oldest(best); oldest >= 0 {
			p.seq = oldest
		}
	}
	s.now++
	s.used[best] = s.now
	s.now++
	s.used[p.seq] = s.now
	s.held[p.seq] = append([]Token(nil), prompt[:keep]...)
	return p
}

// oldest gives the sequence that was not used for longest, other than the
// given one; -1 if there is none.
func (s *slots) oldest(but int) int {
	old := -1
	for i := range s.held {
		if i != but && (old < 0 || s.used[i] < s.used[old]) {
			old = i
		}
	}
	return old
}

// evict gives the sequence to drop when room is needed: the oldest that holds
// anything, other than the given one; -1 if there is none.
func (s *slots) evict(but int) int {
	old := -1
	for i := range s.held {
		if i != but && len(s.held[i]) > 0 && (old < 0 || s.used[i] < s.used[old]) {
			old = i
		}
	}
	if old >= 0 {
		s.held[old] = nil
	}
	return old
}

func commonPrefix(a, b []Token) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
