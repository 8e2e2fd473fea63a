package engine

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"towpath/internal/agent"
	"towpath/internal/workspace"
)

// MaxOutput is the size in bytes above which a result is refused.
const MaxOutput = 8 << 20

// accept makes the bytes of a file from a model's text, or says why it cannot
// be a result.
func accept(name, text string) ([]byte, error) {
	text = tidy(text)
	if text == "" {
		return nil, failed("run the stage again, or make its process clearer", "the model gave nothing for %s", name)
	}
	if len(text) > MaxOutput {
		return nil, failed("split the stage, or ask for less", "the result for %s has %d bytes, more than the %d that are accepted", name, len(text), MaxOutput)
	}
	return []byte(text), nil
}

// tidy takes blank lines off both ends and ends the last line.
func tidy(text string) string {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !more || strings.TrimSpace(line) != "" {
			break
		}
		text = rest
	}
	if text == "" {
		return ""
	}
	return text + "\n"
}

// unfenced takes off a code fence around a whole result: one without a language,
// or of the language that the file is in by its name. A block of another
// language is a result of its own, such as a program in a Markdown file.
func unfenced(name, text string) string {
	ext := strings.TrimPrefix(strings.ToLower(path.Ext(name)), ".")
	languages := []string{"", ext}
	switch ext {
	case "txt":
		languages = append(languages, "text", "plaintext")
	case "yml":
		languages = append(languages, "yaml")
	case "yaml":
		languages = append(languages, "yml")
	case "py":
		languages = append(languages, "python", "python3")
	case "js":
		languages = append(languages, "javascript")
	case "ts":
		languages = append(languages, "typescript")
	case "sh":
		languages = append(languages, "bash", "shell")
	case "go":
		languages = append(languages, "golang")
	}
	return agent.Unwrap(text, languages...)
}

// join puts the pieces of one output together, in the order of the source,
// with a blank line between them.
func join(pieces []string) string {
	var b strings.Builder
	for _, p := range pieces {
		p = tidy(p)
		if p == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(p)
	}
	return b.String()
}

// oneHeading takes the first of two headings off a piece that begins with its
// item's title twice over. Only the piece's author writes headings: nothing is
// put above a piece here, and a single heading stays.
func oneHeading(text, title string) string {
	first, rest := cutLine(strings.TrimLeft(text, "\r\n"))
	second, _ := cutLine(strings.TrimLeft(rest, " \t\r\n"))
	if isHeading(first, title) && isHeading(second, title) {
		return strings.TrimLeft(rest, " \t\r\n")
	}
	return text
}

func cutLine(s string) (line, rest string) {
	line, rest, _ = strings.Cut(s, "\n")
	return strings.TrimRight(line, "\r"), rest
}

// isHeading reports whether a line is a heading (or a line in bold that stands
// for one) with this title.
func isHeading(line, title string) bool {
	line = strings.TrimSpace(line)
	switch bare := strings.TrimLeft(line, "#"); {
	case bare != line:
		line = strings.TrimRight(strings.TrimSpace(bare), "# ")
	case strings.HasPrefix(line, "**") && strings.HasSuffix(line, "**"):
	default:
		return false
	}
	return plain(line) != "" && plain(line) == plain(title)
}

// plain is a title without marks, case and spacing.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune("*_`#:", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

func (e *Engine) place(st *workspace.Stage, line int) string {
	return fmt.Sprintf("%s:%d", e.show(st.Contract.Path), line)
}
