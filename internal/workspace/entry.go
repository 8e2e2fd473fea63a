package workspace

import (
	"path"
	"strings"

	"towpath/internal/markdown"
)

// line is one entry of a section: an item of a list, a line of a paragraph, a
// cell.
type line struct {
	text       string // lines joined by LF
	no         int
	start, end int // of its own bytes, lists below it left out
	sub        []line
	bullet     bool
}

// lines gives a section's entries: the items of its lists and the lines of its
// paragraphs. Other blocks come back as rest.
func (r *reader) lines(p *part) (out []line, rest []markdown.Block) {
	for _, b := range p.blocks {
		switch b.Kind {
		case markdown.List:
			out = append(out, r.items(b.Items, b.End)...)
		case markdown.Paragraph:
			out = append(out, r.paragraph(p, b)...)
		default:
			rest = append(rest, b)
		}
	}
	return out, rest
}

func (r *reader) items(items []markdown.Item, end int) []line {
	var out []line
	for _, it := range items {
		l := line{text: it.Text, no: it.Line, start: it.Start, end: it.End, bullet: true}
		if len(it.Sub) > 0 {
			l.end = max(it.Sub[0].Start, it.Start)
			l.sub = r.items(it.Sub, it.End)
		}
		out = append(out, l)
	}
	return out
}

func (r *reader) paragraph(p *part, b markdown.Block) []line {
	var out []line
	at := b.Start
	for s := range strings.SplitAfterSeq(r.doc.Slice(b.Start, b.End), "\n") {
		start, end := at, at+len(s)
		at = end
		if end <= p.body || start >= p.end {
			continue
		}
		start = max(start, p.body)
		if t := strings.TrimSpace(r.doc.Slice(start, end)); t != "" {
			out = append(out, line{text: t, no: r.doc.LineOf(start), start: start, end: end})
		}
	}
	return out
}

// keep gives the bytes of a section without the entries that were taken as
// structure. taken holds the starts and ends of those.
func (r *reader) keep(p *part, taken []span) string {
	var b strings.Builder
	at := p.body
	for _, t := range taken {
		if t.start < at || t.end > p.end {
			if t.end <= at || t.start >= p.end {
				continue
			}
			t.start, t.end = max(t.start, at), min(t.end, p.end)
		}
		b.WriteString(r.doc.Slice(at, t.start))
		at = t.end
	}
	b.WriteString(r.doc.Slice(at, p.end))
	return b.String()
}

type span struct{ start, end int }

func (l line) span() span { return span{l.start, l.end} }

// plain is an entry's text for reading: one line, no comments, no emphasis, no
// checkbox; code spans and links stay.
func plain(s string) string {
	s = markdown.StripComments(s)
	s = strings.Join(strings.Fields(s), " ")
	s = unmark(s)
	for _, box := range []string{"[ ] ", "[x] ", "[X] "} {
		s = strings.TrimPrefix(s, box)
	}
	return strings.TrimSpace(s)
}

// unmark drops ** and __ and lone * around words, outside code and links.
func unmark(s string) string {
	if !strings.ContainsAny(s, "*_") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if _, n := markdown.CodeSpan(s[i:]); n > 0 {
			b.WriteString(s[i : i+n])
			i += n
			continue
		}
		if _, _, n := markdown.Link(s[i:]); n > 0 {
			b.WriteString(s[i : i+n])
			i += n
			continue
		}
		c := s[i]
		if c != '*' && c != '_' {
			b.WriteByte(c)
			i++
			continue
		}
		n := 0
		for i+n < len(s) && s[i+n] == c {
			n++
		}
		if !emphasis(s, i, n) {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// emphasis tells marks from parts of a path: a star next to a slash, a dot or
// another sign of a glob, an underscore at the start of a name.
func emphasis(s string, i, n int) bool {
	before, after := byte(' '), byte(' ')
	if i > 0 {
		before = s[i-1]
	}
	if i+n < len(s) {
		after = s[i+n]
	}
	if before == ' ' && after == ' ' {
		return false
	}
	if s[i] == '_' {
		if n != 2 || after == '_' {
			return false
		}
		return !(isWordByte(before) && isWordByte(after)) && strings.Contains(s[i+n:], "__") || strings.Contains(s[:i], "__")
	}
	if before == '/' || after == '/' || after == '.' && (before == ' ' || isWordByte(before)) {
		return false
	}
	if n == 1 && (isWordByte(before) || before == '-' || before == '_' || before == '.') && (isWordByte(after) || after == '-' || after == '_' || after == '.') {
		return false
	}
	if n == 1 && strings.Count(s, "*") == 1 {
		return false
	}
	return true
}

func isWordByte(c byte) bool {
	return c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// isNone reports whether a text says that there is nothing: "none", "- жодних."
func isNone(s string) bool {
	s = plain(s)
	if s == "" {
		return false
	}
	if strings.Trim(s, "-–—∅ ") == "" {
		return true
	}
	return isWord(noneWords, normHeading(s)) || isWord(noneWords, strings.Trim(s, " ._()[]`"))
}

// keyed splits "key: value". The key is a few plain words.
func keyed(s string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(s, ":")
	key = strings.TrimSpace(strings.Trim(key, "`* "))
	if !ok || key == "" || len(key) > 60 || strings.ContainsAny(key, "/\\.") || len(strings.Fields(key)) > 5 {
		return "", "", false
	}
	return key, strings.TrimSpace(value), true
}

var extension = pattern(`\.[A-Za-z][A-Za-z0-9]{0,7}$|\.(?:mp3|mp4|7z)$`)

// documents are the endings by which a bare word is taken for a file even if
// nothing is there yet.
const documents = " md markdown mdx txt text rst adoc org json jsonl json5 yaml yml toml ini cfg conf csv tsv xml html htm pdf docx doc xlsx xls pptx rtf odt ipynb " +
	"mmd puml svg png jpg jpeg gif webp mp3 mp4 wav srt vtt tex bib log patch diff sql py go rs rb java kt swift c h cpp hpp cs php sh bash ps1 ts tsx jsx css scss vue svelte lock env "

func documentName(name string) bool {
	ext := extension().FindString(name)
	if ext == "" || len(ext) == len(name) {
		return false
	}
	return strings.Contains(documents, " "+strings.ToLower(ext[1:])+" ")
}

// looks says how much a text looks like a path.
type looks int

const (
	no     looks = iota
	maybe        // only if something is there
	likely       // in backticks, or after a label
	surely       // wherever it stands
)

// pathLook judges a text by itself.
func pathLook(s string) looks {
	if s == "" || len(s) > 400 || strings.ContainsAny(s, "\n`|\"=;") || strings.Contains(s, "://") {
		return no
	}
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "mailto:") || strings.HasPrefix(s, "$") {
		return no
	}
	s = strings.ReplaceAll(s, `\`, "/")
	name, _, _ := strings.Cut(s, "#")
	if name == "" {
		return no
	}
	base := path.Base(strings.TrimSuffix(name, "/"))
	spaced := strings.Contains(placeholder().ReplaceAllString(name, "x"), " ")
	doc := documentName(base)
	glob := strings.ContainsAny(base, "*") && (strings.ContainsAny(base, ".") || strings.Contains(name, "/")) || strings.Contains(name, "**")
	switch {
	case strings.HasPrefix(name, "/") && strings.Count(name, "/") == 1 && !doc:
		return maybe // a /command
	case spaced && !doc && !strings.HasSuffix(name, "/") && !glob:
		return maybe
	case spaced && (strings.Contains(name, ". ") || strings.Contains(name, ", ")):
		return maybe
	case spaced && doc && !strings.Contains(name, "/"):
		return likely
	case spaced && commandLike(name):
		return no
	case strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || name == ".." || strings.HasPrefix(name, "~/"):
		return surely
	case strings.HasSuffix(name, "/") && len(name) > 1 && !strings.Contains(name, "("):
		return surely
	case glob:
		return surely
	case strings.Contains(name, "("):
		return maybe
	case doc:
		return surely
	case strings.Contains(name, "/"):
		if strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") || numbered(name) {
			return surely
		}
		if shortWords(name) {
			return maybe
		}
		return likely
	case strings.HasPrefix(name, ".") && len(name) > 1:
		return likely
	}
	return maybe
}

func commandLike(s string) bool {
	first, _, _ := strings.Cut(s, " ")
	switch first {
	case "python", "python3", "node", "npm", "npx", "go", "make", "bash", "sh", "cd", "git", "cat", "cp", "mv", "rm", "ls", "pip", "uv", "cargo", "docker", "curl":
		return true
	}
	return strings.Contains(s, " --") || strings.Contains(s, " > ") || strings.Contains(s, " && ")
}

func numbered(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	_, _, ok := stageOf(first)
	return ok && strings.ContainsAny(first, "-_")
}

// shortWords: "n/a", "I/O", "and/or", "w/o".
func shortWords(p string) bool {
	for s := range strings.SplitSeq(p, "/") {
		if len(s) > 3 {
			return false
		}
	}
	return true
}
