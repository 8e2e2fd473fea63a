package library

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxQuery = 2000 // bytes of a query that are looked at
	maxTerms = 24
)

// ErrEmptyQuery says that a query has no word to look for.
var ErrEmptyQuery = errors.New("the query has no words; give two to six words that the documents are likely to use")

// query is what a person or a model asked, as expressions of the full-text
// index. Every word stands quoted in them, so that nothing of the index's own
// language can come from outside.
type query struct {
	all    string // every term occurs
	any    string // some term occurs
	begins string // some word begins like a term; "" if no term is long enough
}

// parseQuery takes the words out of any text. The error is ErrEmptyQuery.
func parseQuery(s string) (query, error) {
	terms := termsOf(s)
	if len(terms) == 0 {
		return query{}, ErrEmptyQuery
	}
	var all, single, begins []string
	for _, t := range terms {
		all = append(all, t.expression())
		for _, w := range t.words {
			single = append(single, wordExpression(w))
			if utf8.RuneCountInString(w) >= 4 && !spaceless(firstRune(w)) {
				begins = append(begins, `"`+w+`"*`)
			}
		}
	}
	return query{
		all:    strings.Join(all, " AND "),
		any:    strings.Join(single, " OR "),
		begins: strings.Join(begins, " OR "),
	}, nil
}

// term is a word, or words that have to stand side by side.
type term struct {
	words []string
	exact bool // was quoted
}

func (t term) expression() string {
	if len(t.words) == 1 && !t.exact {
		return wordExpression(t.words[0])
	}
	return `"` + strings.Join(t.words, " ") + `"`
}

// wordExpression matches a word with its inflections: the index itself stems
// English; a Cyrillic word is looked for by its beginning.
func wordExpression(w string) string {
	if spaceless(firstRune(w)) {
		return `"` + spread(w) + `"`
	}
	if stem := cyrillicStem(w); stem != w {
		return `"` + stem + `"*`
	}
	return `"` + w + `"`
}

// termsOf parts a query into terms, without the words that occur everywhere,
// unless it has no others.
func termsOf(s string) []term {
	if len(s) > maxQuery {
		s = s[:maxQuery]
	}
	s = strings.ToLower(strings.ToValidUTF8(s, " "))
	var terms, common []term
	stop := stopWords()
	seen := map[string]bool{}
	add := func(t term) {
		key := strings.Join(t.words, " ")
		if len(t.words) == 0 || seen[key] || len(terms) == maxTerms {
			return
		}
		seen[key] = true
		if len(t.words) == 1 && stop[t.words[0]] {
			common = append(common, t)
			return
		}
		terms = append(terms, t)
	}
	for i, part := range quotedParts(s) {
		if i%2 == 1 { // between quotation marks
			var words []string
			for _, field := range strings.Fields(part) {
				for _, t := range fieldTerms(field) {
					words = append(words, t.words...)
				}
			}
			if len(words) > 1 {
				add(term{words: words[:min(len(words), maxTerms)], exact: true})
				continue
			}
		}
		for _, field := range strings.Fields(part) {
			for _, t := range fieldTerms(field) {
				add(t)
			}
		}
	}
	if len(terms) == 0 {
		return common
	}
	return terms
}

// quotedParts cuts at double quotation marks of all kinds; every second part
// stood between two of them. A mark without its partner counts as none.
func quotedParts(s string) []string {
	parts := strings.Split(strings.Map(func(r rune) rune {
		if strings.ContainsRune("“”„«»", r) {
			return '"'
		}
		return r
	}, s), `"`)
	if n := len(parts); n%2 == 0 {
		parts = append(parts[:n-2], parts[n-2]+" "+parts[n-1])
	}
	return parts
}

// fieldTerms gives the terms of what stands between two spaces. Pieces that
// marks part ("systemd-resolved", "go1.26") have to stand side by side; a run
// of a script that is written without spaces gives its pairs of letters.
func fieldTerms(field string) []term {
	var pieces []string
	var spacelessTerms []term
	for _, run := range strings.FieldsFunc(field, func(r rune) bool { return !wordRune(r) }) {
		for _, piece := range scriptRuns(run) {
			if !spaceless(firstRune(piece)) {
				pieces = append(pieces, piece)
				continue
			}
			r := []rune(piece)
			if len(r) <= 4 {
				spacelessTerms = append(spacelessTerms, term{words: []string{piece}})
				continue
			}
			for i := 0; i+1 < len(r); i++ {
				spacelessTerms = append(spacelessTerms, term{words: []string{string(r[i : i+2])}})
			}
		}
	}
	if len(pieces) == 0 {
		return spacelessTerms
	}
	if len(pieces) > 1 && len(pieces) <= 5 && strings.ContainsAny(field, "'’") {
		// "don't", "l'eau": the short piece means nothing by itself.
		var long []term
		for _, p := range pieces {
			if utf8.RuneCountInString(p) > 1 {
				long = append(long, term{words: []string{p}})
			}
		}
		return append(long, spacelessTerms...)
	}
	if len(pieces) > 5 { // a path or an address: its words, wherever they stand
		var each []term
		for _, p := range pieces {
			each = append(each, term{words: []string{p}})
		}
		return append(each, spacelessTerms...)
	}
	return append([]term{{words: pieces}}, spacelessTerms...)
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// scriptRuns parts a word where it changes between a script that is written
// without spaces and another.
func scriptRuns(word string) []string {
	var out []string
	start, prev := 0, false
	for i, r := range word {
		s := spaceless(r)
		if i > start && s != prev {
			out = append(out, word[start:i])
			start = i
		}
		prev = s
	}
	return append(out, word[start:])
}

// spaceless says that a letter belongs to a script without spaces between
// words. Such letters are indexed one by one.
func spaceless(r rune) bool {
	return r > 0x0E00 && (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// spread puts spaces around the letters of such scripts, for the index.
func spread(s string) string {
	if !strings.ContainsFunc(s, spaceless) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if spaceless(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// cyrillicStem takes the ending off a Cyrillic word, "" never.
func cyrillicStem(w string) string {
	if r := firstRune(w); r < 0x0400 || r > 0x04FF {
		return w
	}
	n := utf8.RuneCountInString(w)
	for _, e := range cyrillicEndings() {
		if strings.HasSuffix(w, e) && n-utf8.RuneCountInString(e) >= 4 {
			return strings.TrimSuffix(w, e)
		}
	}
	return w
}

// cyrillicEndings are endings of Russian, Ukrainian and Belarusian nouns,
// adjectives and verbs, longest first.
func cyrillicEndings() []string {
	return strings.Fields(`ениями аннями ування ениях анням анием ением
		иями ього ення ання ями ами ого его ому ему ыми ими іми ией иям иях ешь ить ать ять еть уть ють ает ует ают уют
		ах ях ов ев ей ой ый ий ая яя ое ее ые ие ом ем ам ям ую юю их ых ів ої ою ею ій ия ию ии ит ат ят ут ют ть ла ло ли
		а я о е ы и у ю ь й і ї є`)
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// stopWords say nothing about what a document is about.
func stopWords() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`a an the and or not of in on at to for from by with without into about as is are was were be been
		do does did can could should would will shall may might must how what which who whom why when where that this these those it its
		i you he she we they my your our their me us them if then than so there here have has had get use using please tell explain
		и в во не на с со к ко по за из от до для о об при как что это или а но у же ли бы то так какой какая какие где когда почему
		та і й у з зі до для про як що це або`) {
		m[w] = true
	}
	return m
}
