package gbnf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// expr gives every place where it can stop, from a start. It follows what
// llama.cpp documents of its grammars, as far as this package uses it.
type expr func(in string, at int) []int

// allows reports whether a grammar allows exactly this text.
func allows(grammar, in string) (ok bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	rules := map[string]expr{}
	for line := range strings.Lines(grammar) {
		name, body, found := strings.Cut(strings.TrimSuffix(line, "\n"), " ::= ")
		if !found {
			return false, fmt.Errorf("no rule in %q", line)
		}
		p := &parser{in: body, rules: rules}
		rules[name] = p.alternatives()
		if p.at != len(p.in) {
			return false, fmt.Errorf("rule %s: %q is left", name, p.in[p.at:])
		}
	}
	return slices.Contains(rules["root"](in, 0), len(in)), nil
}

type parser struct {
	in    string
	at    int
	rules map[string]expr
}

// peek gives the next byte after spaces, 0 at the end.
func (p *parser) peek() byte {
	for p.at < len(p.in) && p.in[p.at] == ' ' {
		p.at++
	}
	if p.at == len(p.in) {
		return 0
	}
	return p.in[p.at]
}

func (p *parser) alternatives() expr {
	alts := []expr{p.sequence()}
	for p.peek() == '|' {
		p.at++
		alts = append(alts, p.sequence())
	}
	return func(in string, at int) (out []int) {
		for _, a := range alts {
			out = append(out, a(in, at)...)
		}
		return unique(out)
	}
}

func (p *parser) sequence() expr {
	var parts []expr
	for c := p.peek(); c != 0 && c != '|' && c != ')'; c = p.peek() {
		parts = append(parts, p.repeated())
	}
	return func(in string, at int) []int {
		ends := []int{at}
		for _, part := range parts {
			ends = each(part, in, ends)
		}
		return ends
	}
}

func (p *parser) repeated() expr {
	e := p.atom()
	least, most := 1, 1
	if p.at < len(p.in) {
		switch p.in[p.at] {
		case '?':
			p.at++
			least = 0
		case '*':
			p.at++
			least, most = 0, 1<<30
		case '{':
			text, _, _ := strings.Cut(p.in[p.at+1:], "}")
			p.at += len(text) + 2
			low, high, found := strings.Cut(text, ",")
			least, _ = strconv.Atoi(low)
			most = least
			if found {
				most = 1 << 30
			}
			if high != "" {
				most, _ = strconv.Atoi(high)
			}
		}
	}
	return func(in string, at int) (out []int) {
		ends := []int{at}
		for n := 0; len(ends) > 0; n++ {
			if n >= least {
				out = append(out, ends...)
			}
			if n == most {
				break
			}
			ends = each(e, in, ends)
		}
		return unique(out)
	}
}

func (p *parser) atom() expr {
	switch c := p.peek(); {
	case c == '(':
		p.at++
		e := p.alternatives()
		if p.peek() != ')' {
			panic("an open bracket at " + p.in[p.at:])
		}
		p.at++
		return e
	case c == '"':
		p.at++
		var text strings.Builder
		for p.in[p.at] != '"' {
			text.WriteRune(p.char())
		}
		p.at++
		return func(in string, at int) []int {
			if strings.HasPrefix(in[at:], text.String()) {
				return []int{at + text.Len()}
			}
			return nil
		}
	case c == '[':
		return p.class()
	default:
		from := p.at
		for p.at < len(p.in) && (p.in[p.at] == '-' || p.in[p.at] >= '0' && p.in[p.at] <= '9' || p.in[p.at] >= 'a' && p.in[p.at] <= 'z') {
			p.at++
		}
		name := p.in[from:p.at]
		if name == "" {
			panic("nothing known at " + p.in[from:])
		}
		return func(in string, at int) []int {
			rule, ok := p.rules[name]
			if !ok {
				panic("there is no rule " + name)
			}
			return rule(in, at)
		}
	}
}

func (p *parser) class() expr {
	p.at++
	not := p.in[p.at] == '^'
	if not {
		p.at++
	}
	var from, to []rune
	for p.in[p.at] != ']' {
		a := p.char()
		b := a
		if p.in[p.at] == '-' && p.in[p.at+1] != ']' {
			p.at++
			b = p.char()
		}
		from, to = append(from, a), append(to, b)
	}
	p.at++
	return func(in string, at int) []int {
		r, size := utf8.DecodeRuneInString(in[at:])
		if size == 0 {
			return nil
		}
		hit := false
		for i := range from {
			hit = hit || r >= from[i] && r <= to[i]
		}
		if hit == not {
			return nil
		}
		return []int{at + size}
	}
}

func (p *parser) char() rune {
	r, size := utf8.DecodeRuneInString(p.in[p.at:])
	p.at += size
	if r != '\\' {
		return r
	}
	c := p.in[p.at]
	p.at++
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'x':
		n, err := strconv.ParseUint(p.in[p.at:p.at+2], 16, 8)
		if err != nil {
			panic(err)
		}
		p.at += 2
		return rune(n)
	case '"', '\\', '[', ']', '-', '^':
		return rune(c)
	}
	panic("an unknown escape at " + p.in[p.at:])
}

func each(e expr, in string, ends []int) (out []int) {
	for _, at := range ends {
		out = append(out, e(in, at)...)
	}
	return unique(out)
}

func unique(in []int) []int {
	slices.Sort(in)
	return slices.Compact(in)
}
