package engine

// Limits of what counts as repeating without end: the same run of tokens, at
// least so often and over at least so many tokens in all. A table's ruler or a
// row of equal lines stays below them.
const (
	repeatTokens  = 384
	repeatTimes   = 8
	repeatLongest = 96 // tokens of the run that repeats
)

// Within a grammar a loop is left earlier, since a text that may go on forever
// would use up the whole reply.
const (
	loopTokens  = 32
	loopTimes   = 5
	loopLongest = 16
)

// repeats reports whether the end of the output is one run of tokens over and
// over.
func repeats(output []Token) bool {
	return period(output, repeatTokens, repeatTimes, repeatLongest) > 0
}

// loops reports whether the output is caught in a short loop, and which token
// would continue it.
func loops(output []Token) (next Token, yes bool) {
	p := period(output, loopTokens, loopTimes, loopLongest)
	if p == 0 {
		return 0, false
	}
	return output[len(output)-p], true
}

// period gives the length of the run that the end of the output repeats, at
// least so often and over so many tokens in all; 0 if there is none.
func period(output []Token, tokens, times, longest int) int {
	n := len(output)
	for p := 1; p <= longest; p++ {
		span := max(tokens, p*times)
		if span > n {
			continue
		}
		same := p
		for same < span && output[n-1-same] == output[n-1-same+p] {
			same++
		}
		if same >= span {
			return p
		}
	}
	return 0
}
