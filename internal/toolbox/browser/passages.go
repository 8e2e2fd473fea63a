package browser

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"towpath/internal/document"
	"towpath/internal/prompt"
)

// passageTokens is the size of the pieces that relevance is judged by.
const passageTokens = 250

// passage is a piece of a document.
type passage struct {
	text   string // with the headings that lead to it where it does not begin with them
	tokens int    // as estimated
	order  int    // in the document
	words  map[string]int
	first  bool // begins a section
}

// passages cuts Markdown at headings and between paragraphs.
func passages(md string) []passage {
	var out []passage
	add := func(text, lead string, first bool) {
		if strings.TrimSpace(text) == "" {
			return
		}
		if lead != "" {
			text = "(" + lead + ")\n" + text
		}
		out = append(out, passage{text: text, tokens: prompt.Estimate(text) + 1, order: len(out), first: first})
	}
	sections := document.Outline(md)
	start := len(md)
	if len(sections) > 0 {
		start = sections[0].Start
	}
	for i, piece := range blocks(md[:start]) {
		add(piece, "", i == 0)
	}
	for _, s := range sections {
		for i, piece := range blocks(md[s.Start:s.End]) {
			lead := ""
			if i > 0 {
				lead = s.Title
			}
			add(piece, lead, i == 0)
		}
	}
	return out
}

// blocks gathers paragraphs to pieces of about passageTokens; a paragraph that
// is longer by itself is cut between lines, then between words.
func blocks(text string) []string {
	const most = passageTokens * 4 // bytes, for a first guess
	var out []string
	cur := ""
	for _, par := range strings.SplitAfter(strings.Trim(text, "\n"), "\n\n") {
		for len(par) > 2*most {
			head := headOf(par, most)
			if cur != "" {
				out, cur = append(out, cur), ""
			}
			out = append(out, head)
			par = par[len(head):]
		}
		if cur != "" && len(cur)+len(par) > most {
			out, cur = append(out, cur), ""
		}
		cur += par
	}
	if cur != "" {
		out = append(out, cur)
	}
	return out
}

// pick chooses passages of at most budget tokens: those nearest to the
// question, or without one the beginnings of sections. They stay in order.
// percent is the share of the whole text that was chosen.
func pick(all []passage, question string, budget int) (chosen []passage, percent int) {
	total := 0
	for _, p := range all {
		total += p.tokens
	}
	if total <= budget {
		return all, 100
	}
	ranked := rank(all, question)
	used := 0
	for _, p := range ranked {
		if used+p.tokens > budget {
			continue
		}
		used += p.tokens
		chosen = append(chosen, p)
	}
	if len(chosen) == 0 && len(ranked) > 0 { // one passage alone is over the budget
		p := ranked[0]
		p.text = headOf(p.text, max(len(p.text)*budget/p.tokens, 1))
		p.tokens = budget
		chosen, used = []passage{p}, budget
	}
	slices.SortFunc(chosen, func(a, b passage) int { return a.order - b.order })
	return chosen, min(max(used*100/total, 1), 99)
}

// rank orders passages by how much they say about the question: rare words of
// it count more, repetition counts less each time.
func rank(all []passage, question string) []passage {
	want := wordsOf(question)
	in := map[string]int{}
	var length float64
	for i := range all {
		all[i].words = wordsOf(all[i].text)
		for w := range all[i].words {
			in[w]++
		}
		length += float64(all[i].tokens)
	}
	length /= float64(max(len(all), 1))
	score := make([]float64, len(all))
	for i, p := range all {
		for w := range want {
			if n := float64(p.words[w]); n > 0 {
				rare := math.Log(1 + (float64(len(all))-float64(in[w])+0.5)/(float64(in[w])+0.5))
				score[i] += rare * n * 2.2 / (n + 1.2*(0.25+0.75*float64(p.tokens)/length))
			}
		}
		if p.order == 0 {
			score[i] += 0.1 // what the document is about
		}
		if p.first {
			score[i] += 0.05
		}
	}
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(a, b passage) int {
		switch sa, sb := score[a.order], score[b.order]; {
		case sa > sb:
			return -1
		case sa < sb:
			return 1
		}
		return a.order - b.order
	})
	return ranked
}

// wordsOf counts the words of a text by their beginnings, so that inflections
// count as one.
func wordsOf(text string) map[string]int {
	out := map[string]int{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		n := utf8.RuneCountInString(w)
		if n < 3 && !strings.ContainsFunc(w, unicode.IsDigit) && w[0] < utf8.RuneSelf {
			continue
		}
		if n > 6 {
			w = string([]rune(w)[:max(n-3, 5)])
		}
		out[w]++
	}
	return out
}

// chunks joins passages to texts of at most budget tokens.
func chunks(chosen []passage, budget int) []string {
	var out []string
	var cur strings.Builder
	used := 0
	last := -1
	for _, p := range chosen {
		if used > 0 && used+p.tokens > budget {
			out = append(out, cur.String())
			cur.Reset()
			used = 0
		}
		if used > 0 {
			cur.WriteString("\n\n")
			if p.order != last+1 {
				cur.WriteString("[…]\n\n")
			}
		}
		cur.WriteString(strings.TrimSpace(p.text))
		used += p.tokens
		last = p.order
	}
	if used > 0 {
		out = append(out, cur.String())
	}
	return out
}
