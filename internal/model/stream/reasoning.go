package stream

import "strings"

// bracket is a pair of marks that models put around their reasoning.
type bracket struct{ open, close string }

// brackets count as marks only by their place: an opening one at the very start
// of what is said, a closing one where none is open (its opening stood in the
// prompt) or where the reasoning has begun.
var brackets = []bracket{
	{"<think>", "</think>"},
	{"<thinking>", "</thinking>"},
	{"[THINK]", "[/THINK]"},
	{"<seed:think>", "</seed:think>"},
	{"◁think▷", "◁/think▷"},
	{"<|channel|>analysis<|message|>", "<|end|>"},
}

// leads introduce the answer itself in one family of templates.
var leads = []string{"<|start|>assistant", "<|channel|>final<|message|>"}

// trails end the answer in the same family.
var trails = []string{"<|return|>", "<|end|>"}

const blanks = " \t\r\n"

// Split separates the reasoning at the start of content from the answer, by
// position: marks that the answer quotes, in backticks, quotes or a code block,
// stay where they are.
func Split(content string) (reasoning, text string) {
	var thoughts []string
	rest := content
	for {
		at := strings.TrimLeft(rest, blanks)
		b, ok := opening(at)
		if !ok {
			break
		}
		inner := at[len(b.open):]
		end := closing(inner, b.close)
		if end < 0 {
			return join(append(thoughts, inner)), ""
		}
		thoughts = append(thoughts, inner[:end])
		rest = strings.TrimLeft(inner[end+len(b.close):], blanks)
	}
	if end, size := orphan(rest, len(thoughts) > 0); end >= 0 {
		thoughts = append(thoughts, rest[:end])
		rest = strings.TrimLeft(rest[end+size:], blanks)
	}
	return join(thoughts), answer(rest)
}

func join(thoughts []string) string {
	for i := range thoughts {
		thoughts[i] = strings.Trim(thoughts[i], blanks)
	}
	return strings.Join(thoughts, "\n")
}

// answer takes the marks off that introduce an answer.
func answer(s string) string {
	led := false
	for _, lead := range leads {
		if rest, ok := strings.CutPrefix(s, lead); ok {
			s, led = rest, true
		}
	}
	if led {
		for _, trail := range trails {
			s = strings.TrimSuffix(s, trail)
		}
	}
	return s
}

func opening(s string) (bracket, bool) {
	for _, b := range brackets {
		if strings.HasPrefix(s, b.open) {
			return b, true
		}
	}
	return bracket{}, false
}

// closing finds the first mark that is not a quotation.
func closing(s, mark string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], mark)
		if i < 0 {
			return -1
		}
		i += from
		if !quoted(s, i, len(mark)) {
			return i
		}
		from = i + len(mark)
	}
}

// quoted says whether the mark at i stands between two equal quotation marks.
func quoted(s string, i, size int) bool {
	if i == 0 || i+size >= len(s) {
		return false
	}
	before, after := s[i-1], s[i+size]
	return before == after && strings.IndexByte("`'\"", before) >= 0
}

// orphan finds the last closing mark that ends reasoning which began before the
// content did. strict is set where the reasoning was closed once already: then
// only a mark at the end of a line counts.
func orphan(s string, strict bool) (at, size int) {
	at = -1
	for _, b := range brackets[:len(brackets)-1] {
		for from := 0; ; {
			i := strings.Index(s[from:], b.close)
			if i < 0 {
				break
			}
			i += from
			from = i + len(b.close)
			if i > at && endsReasoning(s, i, b, strict) {
				at, size = i, len(b.close)
			}
		}
	}
	return at, size
}

func endsReasoning(s string, i int, b bracket, strict bool) bool {
	before, after := s[:i], s[i+len(b.close):]
	if quoted(s, i, len(b.close)) || inFence(before) || strings.Contains(before, b.open) {
		return false
	}
	if strict {
		return strings.HasPrefix(strings.TrimLeft(after, " \t\r"), "\n") && strings.Trim(after, blanks) != ""
	}
	midSentence := strings.HasSuffix(before, " ") && after != "" && after[0] != '\n' && after[0] != '\r'
	return !midSentence
}

// inFence says whether a code fence is open at the end of s.
func inFence(s string) bool {
	open := false
	for line := range strings.Lines(s) {
		if t := strings.TrimLeft(line, " "); strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
			open = !open
		}
	}
	return open
}

// splitter separates reasoning while a reply streams, for people who watch it.
// It holds back only what may be the beginning of a mark. Split has the last word.
type splitter struct {
	held    string
	state   splitState
	bracket bracket
	thought bool // there was reasoning: blanks after it belong to nothing
}

type splitState int

const (
	atStart splitState = iota // only blanks so far: an opening mark may come
	inThought
	inText
)

// add takes the next piece and gives what can be shown of it.
func (s *splitter) add(piece string) (reasoning, text string) {
	s.held += piece
	for {
		held, state := len(s.held), s.state
		r, t := s.step(false)
		reasoning += r
		text += t
		if len(s.held) == held && s.state == state {
			return reasoning, text
		}
	}
}

// flush gives what is still held back at the end.
func (s *splitter) flush() (reasoning, text string) {
	if s.state == atStart {
		s.step(true)
	}
	reasoning, text = s.step(true)
	rest := s.held
	s.held = ""
	if s.state == inThought {
		return reasoning + rest, text
	}
	return reasoning, text + rest
}

func (s *splitter) step(end bool) (reasoning, text string) {
	switch s.state {
	case atStart:
		at := strings.TrimLeft(s.held, blanks)
		if b, ok := opening(at); ok {
			s.held, s.state, s.bracket, s.thought = at[len(b.open):], inThought, b, true
			return "", ""
		}
		if !end && mayOpen(at) {
			return "", ""
		}
		s.state = inText
		if s.thought {
			s.held = at
		}
		return "", ""
	case inThought:
		return s.inner(end), ""
	}
	text = s.held
	s.held = ""
	return "", text
}

func (s *splitter) inner(end bool) string {
	mark := s.bracket.close
	if i := closing(s.held, mark); i >= 0 {
		if s.undecided(i, len(mark)) && !end {
			return s.release(max(0, i-1))
		}
		r := s.held[:i]
		s.held = strings.TrimLeft(s.held[i+len(mark):], blanks)
		s.state = atStart
		return r
	}
	return s.release(len(s.held) - partial(s.held, mark))
}

// undecided says whether a mark may still turn out to be quoted.
func (s *splitter) undecided(i, size int) bool {
	return i > 0 && i+size == len(s.held) && strings.IndexByte("`'\"", s.held[i-1]) >= 0
}

func (s *splitter) release(n int) string {
	r := s.held[:n]
	s.held = s.held[n:]
	return r
}

// mayOpen says whether s is blank or the beginning of an opening mark.
func mayOpen(s string) bool {
	if s == "" {
		return true
	}
	for _, b := range brackets {
		if strings.HasPrefix(b.open, s) {
			return true
		}
	}
	return false
}

// partial is the length of the end of s that is a true beginning of mark, with
// the byte before it, which decides whether the mark is quoted.
func partial(s, mark string) int {
	for n := min(len(mark)-1, len(s)); n > 0; n-- {
		if strings.HasSuffix(s, mark[:n]) {
			return min(n+1, len(s))
		}
	}
	if s != "" && strings.IndexByte("`'\"", s[len(s)-1]) >= 0 {
		return 1
	}
	return 0
}
