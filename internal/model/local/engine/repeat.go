package engine

// Limits of what counts as repeating without end: the same run of tokens, at
// least so often and over at least so many tokens in all. A table's ruler or a
// row of equal lines stays below them.
const (
	repeatTokens  = 384
	repeatTimes   = 8
	repeatLongest = 96 // tokens of the run that repeats
)

// repeats reports whether the end of the output is one run of tokens over and
// over.
func repeats(output []Token) bool {
	n := len(output)
	if n < repeatTokens {
		return false
	}
	for period := 1; period <= repeatLongest; period++ {
		span := max(repeatTokens, period*repeatTimes)
		if span > n {
			return false
		}
		same := period
		for same < span && output[n-1-same] == output[n-1-same+period] {
			same++
		}
		if same >= span {
			return true
		}
	}
	return false
}
