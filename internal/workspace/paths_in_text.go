package workspace

import (
	"net/url"
	"path"
	"regexp"
	"strings"

	"towpath/internal/markdown"
)

type tokKind int

const (
	tokText tokKind = iota
	tokCode
	tokLink
)

// tok is a piece of an entry.
type tok struct {
	kind   tokKind
	text   string // of a link, its label
	target string // of a link
	end    int    // offset behind it
}

// tokens divides a text into code spans, links and the text between them.
func tokens(s string) []tok {
	var out []tok
	at := 0
	flush := func(i int) {
		if i > at {
			out = append(out, tok{kind: tokText, text: s[at:i], end: i})
		}
	}
	for i := 0; i < len(s); {
		switch s[i] {
		case '`':
			if body, n := markdown.CodeSpan(s[i:]); n > 0 {
				flush(i)
				out = append(out, tok{kind: tokCode, text: body, end: i + n})
				i += n
				at = i
				continue
			}
		case '[':
			if label, target, n := markdown.Link(s[i:]); n > 0 {
				flush(i)
				out = append(out, tok{kind: tokLink, text: markdown.Plain(label), target: target, end: i + n})
				i += n
				at = i
				continue
			}
			if strings.HasPrefix(s[i:], "[[") {
				if j := strings.Index(s[i:], "]]"); j > 2 {
					name, _, _ := strings.Cut(s[i+2:i+j], "|")
					flush(i)
					out = append(out, tok{kind: tokCode, text: strings.TrimSpace(name), end: i + j + 2})
					i += j + 2
					at = i
					continue
				}
			}
		}
		i++
	}
	flush(len(s))
	return out
}

// sequence reads paths at the start of a text: one, or several between commas
// and "and". rest is what follows the last of them.
func (r *reader) sequence(s string, labelled bool) (refs []ref, rest string) {
	for {
		s = strings.TrimLeft(s, " ")
		one, after, ok := r.onePath(s, labelled)
		if !ok {
			return refs, s
		}
		one.section, after = sectionAfter(one, after)
		if len(refs) > 0 {
			one.path = r.beside(refs[len(refs)-1].path, one.path)
		}
		refs = append(refs, one)
		s = after
		next, more := separator(s)
		if !more {
			return refs, s
		}
		if _, _, ok := r.onePath(strings.TrimLeft(next, " "), labelled); !ok {
			return refs, s
		}
		s = next
	}
}

// beside completes "../01/output/a.md and b.md": a bare name that is not
// there lies in the folder of the path before it.
func (r *reader) beside(before, name string) string {
	dir, _ := path.Split(before)
	if !strings.HasSuffix(dir, "output/") || strings.Contains(name, "/") || r.exists(name) {
		return name
	}
	return dir + name
}

// separator drops ", ", "; ", " and ", " + " and a parenthesis before them.
func separator(s string) (string, bool) {
	t := strings.TrimLeft(s, " ")
	if strings.HasPrefix(t, "(") {
		if i := strings.IndexByte(t, ')'); i > 0 {
			u := strings.TrimLeft(t[i+1:], " ")
			if strings.HasPrefix(u, ",") || strings.HasPrefix(u, ";") || strings.HasPrefix(u, "+") || andWord(u) > 0 {
				t = u
			}
		}
	}
	if strings.HasPrefix(t, ",") || strings.HasPrefix(t, ";") || strings.HasPrefix(t, "+") || strings.HasPrefix(t, "&") {
		t = strings.TrimLeft(t[1:], " ")
		return t[andWord(t):], true
	}
	if n := andWord(t); n > 0 {
		return t[n:], true
	}
	return s, false
}

func andWord(s string) int {
	for _, w := range []string{"and ", "or ", "та ", "і ", "и ", "й ", "et ", "y ", "e ", "und "} {
		if strings.HasPrefix(s, w) {
			return len(w)
		}
	}
	return 0
}

// onePath reads a path at the start of a text.
func (r *reader) onePath(s string, labelled bool) (ref, string, bool) {
	if s == "" {
		return ref{}, s, false
	}
	if s[0] == '`' || s[0] == '[' {
		t := tokens(s)[0]
		switch {
		case t.kind == tokLink:
			if p, ok := linkPath(t.target); ok {
				return r.split(p), s[t.end:], true
			}
			return ref{}, s, false
		case t.kind == tokCode:
			look := pathLook(t.text)
			sole := labelled && strings.Trim(s[t.end:], " .") == "" && !strings.ContainsAny(t.text, " ()$")
			if look >= likely || look == maybe && (sole || r.exists(t.text)) {
				return r.split(t.text), s[t.end:], true
			}
			return ref{}, s, false
		}
	}
	return r.barePath(s, labelled)
}

var bareEnd = pattern("\\s[—–→]\\s|\\s-{1,2}>?\\s|\\s=>\\s|\\s\\(|,\\s|;\\s|:\\s|\\s{2,}#|\\s#\\s|\\s`|\\s\\[|\\s\\+\\s|\\s&\\s|\\s§")

// barePath reads a path without marks: the whole text up to a sign that ends
// it, or else its first word.
func (r *reader) barePath(s string, labelled bool) (ref, string, bool) {
	if strings.HasPrefix(s, "/") && !strings.Contains(s, " ") {
		labelled = true // /etc/passwd alone is meant as a file, and refused as one
	}
	end := len(s)
	if m := bareEnd().FindStringIndex(s); m != nil {
		end = m[0]
	}
	whole := s[:end]
	for _, sep := range []string{" and ", " та ", " et ", " und "} {
		if before, _, ok := strings.Cut(whole, sep); ok && pathLook(before) >= likely {
			whole = before
		}
	}
	if p, n, ok := r.bare(whole, labelled); ok {
		return r.split(p), s[n:], true
	}
	word, _, _ := strings.Cut(whole, " ")
	if word == whole || pathLook(strings.TrimRight(word, ".,;:")) < surely {
		return ref{}, s, false
	}
	if p, n, ok := r.bare(word, labelled); ok {
		return r.split(p), s[n:], true
	}
	return ref{}, s, false
}

func (r *reader) bare(text string, labelled bool) (p string, n int, ok bool) {
	trimmed := strings.TrimRight(text, " ,;:")
	p = strings.Trim(trimmed, `"'“”«»`)
	p = unescape(p)
	if q := strings.TrimSuffix(p, "."); q != p && !strings.HasSuffix(q, "/") && !strings.HasSuffix(q, ".") {
		p = q
	}
	switch look := pathLook(p); {
	case look >= surely,
		look == likely && labelled,
		look >= maybe && len(p) < 200 && r.exists(p) && (labelled || strings.ContainsAny(p, "/.")):
		return p, len(trimmed), true
	}
	return "", 0, false
}

var inParens = pattern(`\([^()]*\)`)

// prose finds paths within a sentence: links, backticks with a folder or
// something there, words with a slash or a dot that are there.
func (r *reader) prose(s string) []ref {
	var refs []ref
	seen := map[string]bool{}
	add := func(p string) {
		if !seen[p] {
			seen[p] = true
			refs = append(refs, r.split(p))
		}
	}
	// What stands in parentheses or after a dash explains; it is not a list of
	// what to read, unless nothing else names a path.
	main := s
	if i := strings.Index(s, " — "); i > 0 {
		main = s[:i]
	}
	for _, t := range tokens(main) {
		switch t.kind {
		case tokLink:
			if p, ok := linkPath(t.target); ok {
				add(p)
			}
		case tokCode:
			look := pathLook(t.text)
			if look >= likely && strings.Contains(t.text, "/") || look >= maybe && r.exists(t.text) {
				add(t.text)
			}
		case tokText:
			for _, w := range strings.Fields(inParens().ReplaceAllString(t.text, " ")) {
				w = strings.Trim(w, `"'“”«»(),;:.!?`)
				if strings.ContainsAny(w, "/.") && pathLook(w) >= maybe && r.exists(w) {
					add(w)
				}
			}
		}
	}
	return refs
}

// linkPath gives the path of a link's target; ok is false for an address of
// the web and for a place in the same page.
func linkPath(target string) (string, bool) {
	if target == "" || target[0] == '#' || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return "", false
	}
	if strings.Contains(target, "%") {
		if u, err := url.PathUnescape(target); err == nil {
			target = u
		}
	}
	return unescape(target), true
}

// split divides guide.md#Voice, and makes a path of the tree's form: forward
// slashes, no leading "@".
func (r *reader) split(p string) ref {
	p = strings.TrimSpace(p)
	if strings.Contains(p, `\`) {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	if strings.HasPrefix(p, "@") && len(p) > 1 {
		p = p[1:]
	}
	if before, after, ok := strings.Cut(p, "§"); ok && strings.TrimSpace(before) != "" {
		return ref{strings.TrimSpace(before), strings.TrimSpace(after)}
	}
	i := strings.LastIndexByte(p, '#')
	if i <= 0 || r.exists(p) {
		return ref{path: p}
	}
	name, section := p[:i], p[i+1:]
	if strings.TrimSpace(section) == "" || !extension().MatchString(strings.TrimSpace(name)) && !r.exists(name) {
		return ref{path: p}
	}
	if s, err := url.PathUnescape(section); err == nil {
		section = s
	}
	return ref{strings.TrimSpace(name), strings.TrimSpace(section)}
}

var (
	sectionSign  = pattern(`^\s*§+\s*"?([^",;()—]+)"?`)
	sectionParen = pattern(`(?i)^\s*\(\s*(?:§+\s*|sections?:?\s+)"?([^")]+)"?\s*\)`)
	paren2       = pattern(`(?i)^\s*\(\s*(?:the\s+)?"([^")]+)"\s+section\s*\)`)
)

// sectionAfter reads a section named behind a path: § Voice, (section Voice).
func sectionAfter(one ref, rest string) (string, string) {
	if one.section != "" {
		return one.section, rest
	}
	for _, re := range []func() *regexp.Regexp{sectionSign, sectionParen, paren2} {
		if m := re().FindStringSubmatchIndex(rest); m != nil {
			return strings.TrimSpace(rest[m[2]:m[3]]), rest[m[1]:]
		}
	}
	return "", rest
}

// unescape drops the backslashes that Markdown wants before signs, and keeps
// those that divide a Windows path.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("_*[]()#`~", s[i+1]) >= 0 && strings.Contains(s, "/") {
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// vary puts the settings' own values for their placeholders.
func (r *reader) vary(s string) string {
	if !strings.Contains(s, "{{") {
		return s
	}
	return placeholder().ReplaceAllStringFunc(s, func(m string) string {
		name := strings.TrimSpace(m[2 : len(m)-2])
		if name == "stage" {
			return r.stage.Name
		}
		if v, ok := r.vars[name]; ok {
			return v
		}
		return m
	})
}
