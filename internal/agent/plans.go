package agent

import (
	"regexp"
	"strings"
	"sync"
)

// intentions are the beginnings of sentences that speak of the work in place of
// doing it. They are few and plain on purpose: a text is only turned down when
// it is short and every sentence of it begins so.
var intentions = sync.OnceValue(func() *regexp.Regexp {
	const (
		opening = `(?:(?:okay|ok|sure|certainly|of course|great|alright|understood|first|first of all|now|next|then|so)[,.!:]*\s+)*`
		act     = `(?:now |first |then |next |also |start|begin|read|search|look|check|gather|collect|call|review|analy[sz]e|examine|fetch|find|open|try|proceed|go |write|create|draft|provide|summari[sz]e|prepare|use the|help|do )`
		done    = `(?:gathered|collected|read|reviewed|found|finished|completed|enough|got)`
		others  = `я (?:почну|зараз|спочатку|буду|зберу|прочитаю|начну|сейчас|сначала|соберу|пачну)|спочатку я|сначала я|спачатку я|давайте` +
			`|je vais|j'ai rassemblé|commençons|voy a|vamos a|he reunido|vou |ich werde|ich habe alle|zuerst werde ich|inizierò|procederò|andrò a`
	)
	return regexp.MustCompile(`(?i)^` + opening + `(?:i(?:'ll| will| am going to|'m going to| need to) ` + act +
		`|(?:let me|let's|let us) ` + act + `|i(?: have|'ve)(?: now)?(?: all| already)? ` + done +
		`|starting (?:with|by)|proceeding|` + others + `)` +
		`|^(?:okay|ok|sure|certainly|of course|great|alright|understood|done)[,.! ]*$`)
})

var transcript = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*(?:\*\*)?(Thought|Action|Action Input|Observation)(?:\*\*)?\s*:`)
})

const longestPlan = 600 // bytes

// onlyPlans says what a text is that announces its result in place of giving it,
// or "" for any other text. A list, a heading, a table or a code block makes it
// a result.
func onlyPlans(text string) string {
	text = strings.TrimSpace(text)
	if found := transcript().FindAllStringSubmatch(text, 8); len(found) >= 2 {
		kinds := map[string]bool{}
		for _, f := range found {
			kinds[f[1]] = true
		}
		if kinds["Thought"] && kinds["Action"] && (strings.HasPrefix(strings.TrimLeft(text, "* "), "Thought") || strings.HasPrefix(strings.TrimLeft(text, "* "), "Action")) {
			return "is a log of thoughts and actions"
		}
	}
	if len(text) > longestPlan || text == "" {
		return ""
	}
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && strings.ContainsAny(line[:1], "#-*+>|`~0123456789") {
			return ""
		}
	}
	for _, s := range sentences(text) {
		if !intentions().MatchString(s) {
			return ""
		}
	}
	return "only says what is to be done or was done"
}

// sentences splits at full stops that are followed by a space, and at lines.
func sentences(text string) []string {
	var out []string
	text = strings.ReplaceAll(text, "’", "'")
	for _, line := range strings.Split(text, "\n") {
		for line != "" {
			i := strings.IndexAny(line, ".!?…:")
			for i >= 0 && i+1 < len(line) && line[i+1] != ' ' && !strings.ContainsRune(".!?", rune(line[i+1])) {
				next := strings.IndexAny(line[i+1:], ".!?…:")
				if next < 0 {
					i = -1
					break
				}
				i += 1 + next
			}
			s := line
			if i >= 0 {
				for i+1 < len(line) && strings.ContainsRune(".!?", rune(line[i+1])) {
					i++
				}
				s, line = line[:i+1], line[i+1:]
			} else {
				line = ""
			}
			if s = strings.TrimSpace(s); strings.Trim(s, ".!?: ") != "" {
				out = append(out, s)
			}
		}
	}
	return out
}
