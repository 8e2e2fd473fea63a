package engine

import (
	"math"
	"math/rand/v2"
	"slices"
)

// candidate is a token with its raw score.
type candidate struct {
	token Token
	logit float32
}

// The usual cut of unlikely tokens.
const (
	topK = 40
	topP = 0.95
	minP = 0.05
)

// top gives the k best tokens, best first. Equal scores go by token, so that
// greedy decoding repeats.
func top(logits []float32, k int) []candidate {
	best := make([]candidate, 0, k+1)
	for i, l := range logits {
		if len(best) == k && !(l > best[k-1].logit) {
			continue
		}
		if math.IsNaN(float64(l)) {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, l, func(c candidate, l float32) int {
			if c.logit >= l {
				return -1
			}
			return 1
		})
		best = slices.Insert(best, at, candidate{Token(i), l})
		if len(best) > k {
			best = best[:k]
		}
	}
	return best
}

// Small models fall into saying the same thing again and again. What was written
// a short while ago is made a little less likely. The figure is the one that
// Qwen's authors give for these models, and Ollama's default; the prompt does not
// count, so that facts and commands can be taken over from it.
const (
	repeatPenalty = 1.1
	repeatWindow  = 128 // tokens
)

// discourage lowers the scores of the tokens that stand at the end of output.
func discourage(logits []float32, output []Token) {
	recent := output[max(0, len(output)-repeatWindow):]
	for i, t := range recent {
		if int(t) >= len(logits) || t < 0 || slices.Contains(recent[:i], t) {
			continue
		}
		if logits[t] > 0 {
			logits[t] /= repeatPenalty
		} else {
			logits[t] *= repeatPenalty
		}
	}
}

// choose takes one of the candidates, which are sorted best first.
func choose(cs []candidate, temperature float64, rnd *rand.Rand) Token {
	if temperature <= 0 || len(cs) == 1 {
		return cs[0].token
	}
	weights := make([]float64, len(cs))
	var sum float64
	for i, c := range cs {
		weights[i] = math.Exp(float64(c.logit-cs[0].logit) / temperature)
		sum += weights[i]
	}
	kept, mass := 0, 0.0
	for kept < len(cs) && (kept == 0 || mass < topP*sum && weights[kept] >= minP*weights[0]) {
		mass += weights[kept]
		kept++
	}
	r := rnd.Float64() * mass
	for i := range kept {
		if r -= weights[i]; r < 0 {
			return cs[i].token
		}
	}
	return cs[kept-1].token
}

// all gives every token, in order of the vocabulary.
func all(logits []float32) []candidate {
	out := make([]candidate, 0, len(logits))
	for i, l := range logits {
		if !math.IsNaN(float64(l)) {
			out = append(out, candidate{Token(i), l})
		}
	}
	return out
}
