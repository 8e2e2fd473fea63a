package prompt

import (
	"unicode"
	"unicode/utf8"
)

// Estimate gives the number of tokens of text, within 15 % of what the
// o200k_base tokenizer counts on English, code, Cyrillic, Chinese, Japanese,
// Korean and Markdown tables. It is an estimate and must be called one.
//
// The text is cut as that tokenizer cuts it before it looks anything up:
// words with the one character before them, digits by three, marks, white
// space. What a word costs depends on its script, its length and its case;
// the figures below are means over READMEs, manuals and source files.
// Languages that share a script cost differently and are told apart at the
// end, by the letters that only some of them have.
func Estimate(text string) int {
	if text == "" {
		return 0
	}
	c := counter{s: text}
	c.run()
	return max(1, (c.sum()+50)/100)
}

// counter walks a text once. Costs are in hundredths of a token.
type counter struct {
	s string
	i int

	cost int // what is the same in every language

	latin   int // letters in Latin words
	accents int // of these, outside ASCII
	foreign int // what Latin words cost more outside English

	cyrillic int // letters in Cyrillic words
	western  int // of these, not in Russian
	shortU   int // of these, in Belarusian alone
	ukraine  int // what the words cost more in Ukrainian
	belarus  int // and once more in Belarusian

	han, kana   int
	traditional int // of han, in traditional Chinese alone
}

// lead is what stands before a word and belongs to its first token.
type lead int

const (
	leadNone lead = iota
	leadSpace
	leadMark
)

// The classes of bytes.
const (
	mark = iota
	lower
	upper
	digit
	white
	wide // the first byte of a character outside ASCII, or a stray one
)

var class = classes()

func classes() (t [256]uint8) {
	for b := range t {
		switch {
		case 'a' <= b && b <= 'z':
			t[b] = lower
		case 'A' <= b && b <= 'Z':
			t[b] = upper
		case '0' <= b && b <= '9':
			t[b] = digit
		case b == ' ' || b == '\n' || b == '\t' || b == '\r':
			t[b] = white
		case b >= utf8.RuneSelf:
			t[b] = wide
		}
	}
	return t
}

func (c *counter) run() {
	before := leadNone
	for c.i < len(c.s) {
		switch class[c.s[c.i]] {
		case lower, upper:
			c.latinWord(before)
			before = leadNone
		case white:
			before = c.space()
		case digit:
			c.digits()
			before = leadNone
		case mark:
			before = c.marks(before)
		default:
			before = c.other(before)
		}
	}
}

func (c *counter) sum() int {
	n := c.cost
	if c.latin > 0 {
		// One letter in sixty has an accent in German, more in most others.
		n += share(c.foreign, c.accents*60, c.latin)
	}
	if c.cyrillic > 0 {
		n += share(c.ukraine, c.western*25, c.cyrillic)
		n += share(c.belarus, c.shortU*100, c.cyrillic)
	}
	if cjk := c.han + c.kana; cjk > 0 {
		// In Japanese and in traditional Chinese more characters stand alone.
		n += c.han*76 + c.kana*62 + share(c.han*24, c.kana*5+c.traditional*20, cjk)
	}
	return n + n/50
}

// share is extra times part/whole, at most extra.
func share(extra, part, whole int) int {
	if part >= whole {
		return extra
	}
	return extra * part / whole
}

// space takes white space. It gives leadSpace or leadMark when its last
// character belongs to what comes next.
func (c *counter) space() lead {
	if b := c.s[c.i]; b == ' ' && c.i+1 < len(c.s) && class[c.s[c.i+1]] <= upper {
		c.i++ // one space in front of a word or a mark, the most frequent case
		return leadSpace
	}
	start, line := c.i, -1
	for c.i < len(c.s) && class[c.s[c.i]] == white {
		if b := c.s[c.i]; b == '\n' || b == '\r' {
			line = c.i
		}
		c.i++
	}
	if line >= 0 {
		c.cost += 100 + (line-start)/16*60
		start = line + 1
	}
	n := c.i - start
	if n == 0 {
		return leadNone
	}
	if c.i == len(c.s) {
		c.cost += 100
		return leadNone
	}
	if class[c.s[c.i]] == digit {
		c.cost += 100 + min(n-1, 1)*100
		return leadNone
	}
	if n > 1 {
		c.cost += 100 + n/80*100
	}
	if c.s[c.i-1] == '\t' {
		return leadMark
	}
	return leadSpace
}

func (c *counter) digits() {
	start := c.i
	for c.i < len(c.s) && class[c.s[c.i]] == digit {
		c.i++
	}
	c.cost += (c.i - start + 2) / 3 * 100
}

// marks takes a run of ASCII punctuation with the line ends that follow. A
// single mark in front of a word belongs to the word.
func (c *counter) marks(before lead) lead {
	start, same, turns := c.i, 1, 0
	for c.i++; c.i < len(c.s) && isMark(c.s[c.i]); c.i++ {
		if c.s[c.i] != c.s[c.i-1] {
			turns++
			same = 1
		} else if same++; same > 2 && same%16 != 0 {
			continue
		} else {
			turns++
		}
	}
	n := c.i - start
	if n == 1 && before == leadNone && c.i < len(c.s) && isLetterStart(c.s[c.i:]) {
		return leadMark
	}
	c.cost += 100
	if n > 2 && turns >= 2 {
		c.cost += (turns - 1) * 33
	}
	for c.i < len(c.s) && (c.s[c.i] == '\n' || c.s[c.i] == '\r') {
		c.i++
	}
	return leadNone
}

func isMark(b byte) bool { return class[b] == mark }

func isLetterStart(s string) bool {
	if b := s[0]; b < utf8.RuneSelf {
		return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

// maxWord is the number of letters up to which words have costs of their own.
const maxWord = 15

type byLength [maxWord + 1]uint16

// Costs of a Latin word in English and in code, by its number of letters.
var (
	lowerWord = [...]byLength{
		leadNone:  {0, 100, 100, 104, 104, 106, 109, 128, 133, 146, 150, 196, 203, 226, 270, 320},
		leadSpace: {0, 100, 100, 100, 100, 101, 102, 103, 107, 108, 114, 125, 124, 127, 135, 150},
		leadMark:  {0, 101, 108, 111, 113, 130, 125, 146, 175, 178, 222, 250, 245, 320, 340, 370},
	}
	titleWord = [...]byLength{
		leadNone:  {0, 100, 101, 102, 102, 104, 105, 116, 116, 112, 148, 145, 170, 190, 230, 280},
		leadSpace: {0, 100, 100, 102, 102, 104, 109, 122, 124, 133, 134, 148, 180, 190, 200, 220},
		leadMark:  {0, 101, 115, 115, 127, 148, 150, 180, 192, 190, 231, 285, 300, 320, 340, 370},
	}
	upperWord = byLength{0, 100, 101, 112, 118, 165, 175, 205, 215, 270, 305, 340, 375, 410, 445, 480}

	// What a word costs more in the other languages of the script, and what a
	// word with an accent costs more wherever it stands.
	moreForeign = byLength{0, 0, 0, 2, 5, 20, 32, 46, 48, 64, 82, 84, 105, 110, 130, 140}
	moreAccent  = byLength{0, 0, 0, 5, 28, 45, 55, 68, 80, 80, 70, 65, 75, 75, 80, 80}
)

// latinWord takes capitals and then small letters, as one word.
func (c *counter) latinWord(before lead) {
	s, i := c.s, c.i
	start := i
	for i < len(s) && class[s[i]] == upper {
		i++
	}
	capitals := i - start
	for i < len(s) && class[s[i]] == lower {
		i++
	}
	letters, accents := i-start, 0
	for i < len(s) && s[i] >= utf8.RuneSelf { // and on after an accent
		r, size := utf8.DecodeRuneInString(s[i:])
		if !isAccented(r) {
			break
		}
		accents++
		letters++
		for i += size; i < len(s) && class[s[i]] == lower; i++ {
			letters++
		}
	}
	c.i = i
	c.countLatin(before, letters, capitals, accents)
}

func isAccented(r rune) bool {
	return r >= 0xC0 && r < 0x250 && r != 0xD7 && r != 0xF7 || r >= 0x300 && r < 0x370 || r >= 0x1E00 && r < 0x1F00
}

func (c *counter) countLatin(before lead, letters, capitals, accents int) {
	c.latin += letters
	c.accents += accents
	k := min(letters, maxWord)
	c.foreign += int(moreForeign[k])
	if capitals == 0 {
		c.cost += int(lowerWord[before][k]) + (letters-k)*30
		if accents > 0 {
			c.cost += int(moreAccent[k])
		}
		return
	}
	c.cost += (letters - k) * 30
	if capitals == letters && letters > 1 {
		c.cost += int(upperWord[k])
		if before == leadMark && letters > 2 {
			c.cost += 30
		}
	} else {
		c.cost += int(titleWord[before][k])
		if capitals > 1 {
			c.cost += 60
		}
	}
	if accents > 0 {
		c.cost += int(moreAccent[k])
	}
}
