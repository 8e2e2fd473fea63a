package agent

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// fence is a line that opens or closes a code block.
type fence struct {
	char byte
	size int
	info string
}

func fenceOf(line string) (fence, bool) {
	line = strings.TrimRight(line, " \t\r")
	trimmed := strings.TrimLeft(line, " ")
	if trimmed == "" || len(line)-len(trimmed) > 3 || (trimmed[0] != '`' && trimmed[0] != '~') {
		return fence{}, false
	}
	f := fence{char: trimmed[0]}
	for f.size < len(trimmed) && trimmed[f.size] == f.char {
		f.size++
	}
	f.info = strings.TrimSpace(trimmed[f.size:])
	if f.size < 3 || (f.char == '`' && strings.Contains(f.info, "`")) {
		return fence{}, false
	}
	return f, true
}

// Unwrap takes off a code fence that a model put around its whole reply: one
// marked markdown or md, or one without a language whose content begins with a
// heading, or one whose language is among those that are given ("" for none). A
// block of any other language is the result itself and stays. Fences inside are
// left alone. Unwrapping twice changes nothing.
func Unwrap(text string, languages ...string) string {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	for {
		inner, ok := unwrapOnce(text, languages)
		if !ok {
			return text
		}
		text = strings.TrimSpace(inner)
	}
}

func unwrapOnce(text string, languages []string) (string, bool) {
	lines := strings.Split(text, "\n")
	if len(lines) < 2 {
		return "", false
	}
	outer, ok := fenceOf(lines[0])
	last, ok2 := fenceOf(lines[len(lines)-1])
	if !ok || !ok2 || last.info != "" || last.char != outer.char || last.size < outer.size {
		return "", false
	}
	body := lines[1 : len(lines)-1]
	switch language := strings.ToLower(outer.info); {
	case language == "markdown", language == "md", slices.Contains(languages, language):
	case language == "" && headed(body):
	default:
		return "", false
	}
	// Inside, a fence that names a language opens a block of its own even where
	// it is as short as the outer one. One without a language, as long as the
	// outer one, would end the outer one: then it does not span the whole.
	var open *fence
	for _, line := range body {
		f, ok := fenceOf(line)
		switch {
		case !ok:
		case open != nil:
			if f.info == "" && f.char == open.char && f.size >= open.size {
				open = nil
			}
		case f.info == "" && f.char == outer.char && f.size >= outer.size:
			return "", false
		default:
			open = &f
		}
	}
	if open != nil {
		return "", false
	}
	return strings.Join(body, "\n"), true
}

var heading = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^#{1,6}[ \t]+\S`) })

// headed reports that lines begin with a heading of a document, rather than with
// a comment of a script: a blank line or another kind of heading follows.
func headed(lines []string) bool {
	i := 0
	for i < len(lines) && strings.TrimSpace(lines[i]) == "" {
		i++
	}
	if i >= len(lines) || !heading().MatchString(lines[i]) {
		return false
	}
	return i+1 < len(lines) && (strings.TrimSpace(lines[i+1]) == "" || strings.HasPrefix(lines[i+1], "##"))
}
