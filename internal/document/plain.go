package document

import (
	"path"
	"strings"
	"unicode"
)

// readMarkdown gives Markdown without its front matter, from which the title
// is taken.
func readMarkdown(text string) Doc {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	front, body := frontMatter(text)
	title := frontTitle(front)
	if title == "" {
		title = firstHeading(body)
	}
	return Doc{Title: title, Markdown: body, Kind: KindMarkdown}
}

// readText gives plain text as it is.
func readText(text string) Doc {
	title := ""
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			if len(line) <= 120 {
				title = strings.Trim(line, "#=*- \t")
			}
			break
		}
	}
	return Doc{Title: title, Markdown: text, Kind: KindText}
}

// readSource gives source in one code block.
func readSource(name, text string) Doc {
	return Doc{Title: path.Base(name), Markdown: fence(language(name), text), Kind: KindSource}
}

// fence wraps text in a code block whose fence is longer than any run of
// backticks in it, so that the text cannot end the block.
func fence(lang, text string) string {
	longest, run := 0, 0
	for i := 0; i < len(text); i++ {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	f := strings.Repeat("`", max(3, longest+1))
	return f + lang + "\n" + strings.TrimRight(text, "\n") + "\n" + f + "\n"
}

// frontMatter parts the settings block at a file's beginning, between lines of
// --- or +++, from the text.
func frontMatter(text string) (front, body string) {
	for _, mark := range []string{"---", "+++"} {
		first, rest, ok := strings.Cut(text, "\n")
		if !ok || strings.TrimRight(first, " \t\r") != mark {
			continue
		}
		at := 0
		for line := range strings.Lines(rest) {
			if strings.TrimRight(line, " \t\r\n") == mark {
				if !strings.ContainsAny(rest[:at], ":=") && strings.TrimSpace(rest[:at]) != "" {
					return "", text // two rules around a paragraph
				}
				return rest[:at], rest[at+len(line):]
			}
			at += len(line)
		}
	}
	return "", text
}

// frontTitle finds the title in front matter.
func frontTitle(front string) string {
	for line := range strings.Lines(front) {
		key, value, ok := strings.Cut(line, ":")
		if eq := strings.IndexByte(line, '='); !ok || eq >= 0 && eq < len(key) {
			key, value, ok = strings.Cut(line, "=")
		}
		if ok && strings.EqualFold(strings.TrimSpace(key), "title") {
			value = strings.TrimSpace(value)
			if len(value) >= 2 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
				value = value[1 : len(value)-1]
			}
			return value
		}
	}
	return ""
}

// firstHeading gives the text of the first level 1 heading, else of the first
// heading of any level; headings inside code fences do not count.
func firstHeading(md string) string {
	first, code := "", ""
	prev := ""
	for line := range strings.Lines(md) {
		line = strings.TrimRight(line, " \t\r\n")
		trimmed := strings.TrimLeft(line, " ")
		if len(line)-len(trimmed) <= 3 {
			if f := fenceOf(trimmed); f != "" {
				switch {
				case code == "":
					code = f
				case f[0] == code[0] && len(f) >= len(code) && strings.Trim(trimmed, f[:1]) == "":
					code = ""
				}
				prev = ""
				continue
			}
		}
		if code != "" {
			continue
		}
		level := len(trimmed) - len(strings.TrimLeft(trimmed, "#"))
		switch {
		case level >= 1 && level <= 6 && (len(trimmed) == level || trimmed[level] == ' ' || trimmed[level] == '\t'):
			h := plainHeading(trimmed[level:])
			if level == 1 && h != "" {
				return h
			}
			if first == "" {
				first = h
			}
		case prev != "" && len(trimmed) >= 2 && strings.Trim(trimmed, "=") == "":
			return plainHeading(prev)
		}
		prev = trimmed
	}
	return first
}

// fenceOf gives the run of characters that opens or closes a code block.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// plainHeading takes Markdown's marks off a heading.
func plainHeading(h string) string {
	h = strings.TrimSpace(h)
	if t := strings.TrimRight(h, "#"); t == "" || strings.HasSuffix(t, " ") {
		h = strings.TrimSpace(t)
	}
	if i := strings.LastIndex(h, "{#"); i > 0 && strings.HasSuffix(h, "}") {
		h = strings.TrimSpace(h[:i])
	}
	h = strings.NewReplacer("**", "", "__", "", "`", "", "\\", "").Replace(h)
	if strings.HasPrefix(h, "[") {
		if i := strings.Index(h, "]("); i > 0 && strings.HasSuffix(h, ")") {
			h = h[1:i]
		}
	}
	return h
}

// titleFromName makes a title from a file name: "01-first_steps.md" gives
// "first steps".
func titleFromName(name string) string {
	base := path.Base(strings.ReplaceAll(name, "\\", "/"))
	if e := path.Ext(base); e != base {
		base = strings.TrimSuffix(base, e)
	}
	words := strings.FieldsFunc(base, func(r rune) bool { return r == '-' || r == '_' || unicode.IsSpace(r) })
	if len(words) > 1 && strings.Trim(words[0], "0123456789.") == "" {
		words = words[1:]
	}
	if t := oneLine(strings.Join(words, " "), 200); t != "" {
		return t
	}
	return "untitled"
}

// oneLine gives s on one line without control characters, at most max bytes.
func oneLine(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if len(s) > max {
		s = strings.TrimSpace(cutAt(s, max-len("…"))) + "…"
	}
	return s
}
