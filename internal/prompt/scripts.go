package prompt

import (
	"unicode"
	"unicode/utf8"
)

// other takes what begins with a character outside ASCII: a word of another
// script, or a run of symbols.
func (c *counter) other(before lead) lead {
	r, _ := utf8.DecodeRuneInString(c.s[c.i:])
	switch {
	case isCyrillic(r):
		c.cyrillicWord(before)
	case isHan(r) || isKana(r):
		c.cjkRun(before)
	case isHangul(r):
		c.hangulWord(before)
	case isAccented(r):
		c.accentedWord(before)
	case unicode.IsLetter(r) || unicode.IsMark(r):
		c.letterRun(before)
	default:
		return c.symbols(before)
	}
	return leadNone
}

func isCyrillic(r rune) bool { return r >= 0x400 && r < 0x530 }
func isKana(r rune) bool     { return r >= 0x3041 && r <= 0x30FF && r != 0x30FB }
func isHangul(r rune) bool   { return r >= 0xAC00 && r <= 0xD7A3 || r >= 0x1100 && r < 0x1200 }
func isHan(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x323AF || r == 0x3005
}

// Costs of a Cyrillic word after a space, by its number of letters: in
// Russian, and what it costs more in Ukrainian and then in Belarusian.
var (
	russian = [...]int{0, 100, 100, 102, 116, 129, 140, 168, 181, 193, 206, 237, 240, 250, 284, 320, 330}
	moreUk  = [...]int{0, 0, 0, 3, 30, 50, 58, 66, 80, 95, 95, 90, 110, 115, 100, 90, 95}
	moreBe  = [...]int{0, 0, 0, 0, 0, 0, 40, 44, 45, 60, 70, 70, 70, 90, 90, 90, 90}
)

func (c *counter) cyrillicWord(before lead) {
	n, upper := 0, 0
	for c.i < len(c.s) {
		r, size := utf8.DecodeRuneInString(c.s[c.i:])
		if !isCyrillic(r) {
			break
		}
		if capital := r >= 0x400 && r < 0x430; capital {
			if n > upper {
				break // camel case
			}
			upper++
		}
		switch r {
		case 'і', 'ї', 'є', 'ґ', 'І', 'Ї', 'Є', 'Ґ', 'ј', 'љ', 'њ', 'ћ', 'ђ', 'џ':
			c.western++
		case 'ў', 'Ў':
			c.western++
			c.shortU++
		}
		c.i += size
		n++
	}
	c.cyrillic += n
	k := min(n, len(russian)-1)
	c.cost += russian[k] + (n-k)*22
	c.ukraine += moreUk[k]
	c.belarus += moreBe[k]
	if n > 2 && before != leadSpace {
		c.cost += 85
	} else if n > 3 && upper > 0 {
		c.cost += 65
	}
	if upper > 1 && n > 1 {
		c.cost += upper * 30
	}
}

// cjkRun takes Han characters and kana; what each costs is summed at the end.
func (c *counter) cjkRun(before lead) {
	for c.i < len(c.s) {
		r, size := utf8.DecodeRuneInString(c.s[c.i:])
		if isHan(r) {
			c.han++
			if isTraditional(r) {
				c.traditional++
			}
		} else if isKana(r) {
			c.kana++
		} else {
			break
		}
		c.i += size
	}
	c.cost += 18
	switch before {
	case leadSpace:
		c.cost += 45
	case leadMark:
		c.cost += 65
	}
}

// isTraditional reports a few of the most frequent characters that only
// traditional Chinese text has. Most of its characters are rarer in what the
// tokenizer was made from, so more of them stand alone.
func isTraditional(r rune) bool {
	switch r {
	case '這', '個', '們', '說', '時', '會', '為', '來', '對', '與', '後', '過', '開', '關', '點', '經', '現', '學', '實', '檔',
		'資', '體', '種', '數', '將', '應', '從', '機', '動', '長', '問', '題', '無', '還', '進', '樣', '電', '發', '變', '執':
		return true
	}
	return false
}

func (c *counter) hangulWord(before lead) {
	n := 0
	for c.i < len(c.s) {
		r, size := utf8.DecodeRuneInString(c.s[c.i:])
		if !isHangul(r) {
			break
		}
		c.i += size
		n++
	}
	c.cost += 45 + n*55
	if before != leadSpace && n > 1 {
		c.cost += 45
	}
}

// accentedWord takes a Latin word whose first letter is outside ASCII.
func (c *counter) accentedWord(before lead) {
	letters, accents, upper := 0, 0, 0
	for c.i < len(c.s) {
		b := c.s[c.i]
		size := 1
		if b >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(c.s[c.i:])
			if !isAccented(r) {
				break
			}
			if letters == 0 && unicode.IsUpper(r) {
				upper = 1
			}
			accents++
			size = n
		} else if b < 'a' || b > 'z' {
			break
		}
		letters++
		c.i += size
	}
	c.countLatin(before, letters, upper, accents)
}

// letterRun takes a word of any other script.
func (c *counter) letterRun(before lead) {
	n, greek := 0, false
	for c.i < len(c.s) {
		r, size := utf8.DecodeRuneInString(c.s[c.i:])
		if r < utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsMark(r) || isHan(r) || isKana(r) || isHangul(r) || isCyrillic(r) {
			break
		}
		greek = greek || r < 0x400
		c.i += size
		n++
	}
	if greek {
		c.cost += 35 + n*34
	} else {
		c.cost += 50 + n*43
	}
	if before != leadSpace && n > 1 {
		c.cost += 40
	}
}

// symbols takes a run of characters that are no letters: typographic marks,
// arrows, emoji, bytes that are not UTF-8.
func (c *counter) symbols(before lead) lead {
	n := 0
	for c.i < len(c.s) && c.s[c.i] >= utf8.RuneSelf {
		r, size := utf8.DecodeRuneInString(c.s[c.i:])
		if unicode.IsLetter(r) {
			break
		}
		c.i += size
		n++
		if r == utf8.RuneError || r >= 0x10000 {
			c.cost += 60
		}
	}
	if n == 1 && before == leadNone && c.i < len(c.s) && isLetterStart(c.s[c.i:]) {
		return leadMark
	}
	c.cost += 20 + n*80
	if before == leadSpace {
		c.cost += 50
	}
	for c.i < len(c.s) && (c.s[c.i] == '\n' || c.s[c.i] == '\r') {
		c.i++
	}
	return leadNone
}
