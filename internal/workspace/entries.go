package workspace

import (
	"fmt"
	"strings"
)

// entryKeys are the keys that stand for structure, per section. What else a
// section says is for the agent too, and stays in the process text.
var entryKeys = map[string]wordList{
	KindStop:    words("rounds|time|tokens|tool calls|cost|no progress"),
	KindHandOff: words("changes|calls"),
	KindMemory:  words("key|keep|path|lines|entries|size|scope"),
	KindTrigger: words("webhook|schedule|watch|rows|key|filter|cron|event|on"),
}

var successWords = words("draft pull request|pull request|notify")

// entries reads the sections that are kept as lines.
func (r *reader) entries(p *part) string {
	var taken []span
	lines, _ := r.lines(p)
	for _, l := range lines {
		text := plain(l.text)
		if text == "" {
			continue
		}
		if isNone(text) {
			taken = append(taken, l.span())
			continue
		}
		key, _, hasKey := keyed(text)
		known := hasKey && knownKey(p.Kind, key)
		e := Entry{Text: strings.TrimSpace(strings.Join(strings.Fields(l.text), " ")), Line: l.no}
		switch p.Kind {
		case KindStop:
			if !known {
				if hasKey && l.bullet && len(strings.Fields(text)) <= 5 {
					r.problem(Warning, l.no, "stop-key", fmt.Sprintf("the limit %q is not known", key),
						"write rounds, time, tokens, tool calls, cost or no progress")
				}
				continue
			}
			r.c.Stop = append(r.c.Stop, e)
		case KindHandOff:
			if !known && !l.bullet {
				continue
			}
			r.c.HandOff = append(r.c.HandOff, e)
		case KindOnSuccess:
			known = isWord(successWords, normHeading(text))
			if known {
				r.c.OnSuccess = append(r.c.OnSuccess, e)
			}
		case KindMemory:
			r.c.Memory = append(r.c.Memory, e)
		case KindTrigger:
			r.c.Trigger = append(r.c.Trigger, e)
		}
		if known {
			taken = append(taken, l.span())
		}
	}
	return r.keep(p, taken)
}

func knownKey(kind, key string) bool {
	l, ok := entryKeys[kind]
	return ok && isWord(l, key)
}
