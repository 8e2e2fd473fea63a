package workspace

import (
	"strings"

	"towpath/internal/markdown"
)

// part is a section while it is being read.
type part struct {
	Section
	start, body, end int              // offsets: heading, body, end
	blocks           []markdown.Block // of the body
}

// reader reads one contract.
type reader struct {
	c      *Contract
	doc    *markdown.Doc
	words  vocabulary
	vars   map[string]string
	stage  *Stage
	dirs   bases
	exists func(string) bool // is there something at this path, from any base
	kept   keeper
}

// parse fills the contract from its source. Nothing that the author wrote gets
// lost: what is not understood as structure stands in Process.
func (r *reader) parse() {
	c := r.c
	if len(c.Source) > maxContract {
		c.Problems = append(c.Problems, tooLarge(c.Path, len(c.Source)))
		return
	}
	if line, what, ok := readable(c.Source); !ok {
		c.Problems = append(c.Problems, encodingProblem(c.Path, line, what))
		return
	}
	r.doc = markdown.Parse(c.Source)
	if line := conflict(r.doc.Text); line > 0 {
		c.Problems = append(c.Problems, conflictProblem(c.Path, line))
	}
	preamble, parts := r.cut()
	c.Title = r.title(parts)
	c.Gate = GateStop
	r.kept.text(preamble)
	for i := range parts {
		p := &parts[i]
		c.Sections = append(c.Sections, p.Section)
		r.section(p)
	}
	c.Process = r.kept.String()
}

func (r *reader) section(p *part) {
	heading := r.doc.Slice(p.start, p.body)
	switch p.Kind {
	case KindProcess:
		if r.c.ProcessLine == 0 {
			r.c.ProcessLine = p.Line
		}
		r.kept.process(heading, p.Body)
	case KindInputs:
		r.kept.rest(heading, r.inputs(p))
	case KindOutputs:
		r.kept.rest(heading, r.outputs(p))
	case KindTools:
		r.kept.rest(heading, r.tools(p))
	case KindForEach:
		r.kept.rest(heading, r.forEach(p))
	case KindVerify:
		r.kept.rest(heading, r.verify(p))
	case KindRun:
		r.kept.rest(heading, r.run(p))
	case KindGate:
		r.kept.rest(heading, r.gate(p))
	case KindOnFail:
		r.kept.rest(heading, r.onFail(p))
	case KindWorktree:
		r.kept.rest(heading, r.worktree(p))
	case KindStop, KindHandOff, KindOnSuccess, KindMemory, KindTrigger:
		r.kept.rest(heading, r.entries(p))
	default:
		r.kept.rest(heading, p.Body)
	}
}

// cut divides the text at its sections.
func (r *reader) cut() (preamble string, parts []part) {
	level := r.level()
	if level == 0 {
		parts = r.boldParts(false)
		if len(parts) == 0 && r.unbullet() {
			parts = r.boldParts(true)
		}
	} else {
		for _, b := range r.doc.Blocks {
			if b.Kind != markdown.Heading || b.Level > level || b.Level == 1 && level > 1 {
				continue
			}
			parts = append(parts, part{start: b.Start, body: r.headingEnd(b),
				Section: Section{Heading: markdown.Plain(b.Title), Kind: r.words.kind(b.Title), Level: b.Level, Line: b.Line}})
		}
	}
	body := len(r.doc.Front)
	if len(parts) == 0 {
		return r.doc.Text[body:], nil
	}
	for i := range parts {
		parts[i].end = len(r.doc.Text)
		if i+1 < len(parts) {
			parts[i].end = parts[i+1].start
		}
		p := &parts[i]
		p.Body = r.doc.Slice(p.body, p.end)
		for _, b := range r.doc.Blocks {
			if b.End > p.body && b.Start < p.end && !(b.Start < p.body && b.Kind == markdown.Heading) {
				p.blocks = append(p.blocks, b)
			}
		}
	}
	return r.doc.Slice(body, parts[0].start), parts
}

// level is the one at which the contract is cut: that of the first heading of
// level 2 or 3 that is known. Level 1 counts only where two or more known
// headings stand there and none below. 0 means that no heading is known.
func (r *reader) level() int {
	ones := 0
	for _, b := range r.doc.Blocks {
		if b.Kind != markdown.Heading || r.words.kind(b.Title) == "" {
			continue
		}
		if b.Level == 2 || b.Level == 3 {
			return b.Level
		}
		if b.Level == 1 {
			ones++
		}
	}
	if ones >= 2 {
		return 1
	}
	return 0
}

// headingEnd is the offset behind a heading's own lines.
func (r *reader) headingEnd(b markdown.Block) int {
	text := r.doc.Slice(b.Start, b.End)
	lines := 1
	if !strings.HasPrefix(strings.TrimLeft(text, " "), "#") {
		lines = 2 + strings.Count(b.Title, "\n")
		for i, line := range strings.Split(text, "\n") {
			if t := strings.TrimSpace(line); i > 0 && t != "" && strings.Trim(t, "=-") == "" {
				lines = i + 1
				break
			}
		}
	}
	at := 0
	for range lines {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return b.End
		}
		at += i + 1
	}
	return b.Start + at
}

// boldParts cuts at lines such as **Inputs:**, for contracts without a known
// heading. A line that is bold as a whole cuts even if it is not known, once a
// known one was met; with every set, so does each bold lead.
func (r *reader) boldParts(every bool) []part {
	var parts []part
	for _, b := range r.doc.Blocks {
		if b.Kind != markdown.Paragraph {
			continue
		}
		at := b.Start
		for line := range strings.SplitAfterSeq(r.doc.Slice(b.Start, b.End), "\n") {
			name, rest, ok := boldLead(line)
			kind := ""
			if ok {
				kind = r.words.kind(name)
			}
			whole := strings.TrimSpace(strings.TrimLeft(rest, ":. ")) == ""
			if ok && (kind != "" || (whole || every) && len(parts) > 0) {
				body := at + len(line) - len(rest)
				if whole {
					body = at + len(line)
				}
				parts = append(parts, part{start: at, body: body,
					Section: Section{Heading: name, Kind: kind, Line: r.doc.LineOf(at)}})
			}
			at += len(line)
		}
	}
	return parts
}

var bulletLead = pattern(`^([-*+] +)?(?:\*\*)?([\p{L}][^:*` + "`" + `]{0,40}?)(?:\*\*)?:(?:\*\*)?(?:[ \t]|$)`)

// unbullet reads a contract that is one list, "- Inputs: a.md", or lines such
// as "Inputs: a.md", as if each began with its name in bold. It takes two known
// names to be one.
func (r *reader) unbullet() bool {
	known := map[string]bool{}
	var out []string
	var origin []int
	inList := false
	for i, line := range strings.Split(r.doc.Text, "\n") {
		if m := bulletLead().FindStringSubmatchIndex(line); m != nil {
			name, bullet := line[m[4]:m[5]], m[2] >= 0
			k := r.words.kind(name)
			if k == "" && !bullet {
				out, origin = append(out, line), append(origin, i+1)
				continue
			}
			known[k] = k != ""
			inList = bullet
			line = strings.TrimRight("**"+name+":** "+strings.TrimLeft(line[m[1]:], " \t"), " ")
			if n := len(out); n > 0 && strings.TrimSpace(out[n-1]) != "" {
				out, origin = append(out, ""), append(origin, i+1)
			}
		} else if inList && strings.HasPrefix(line, "  ") {
			line = line[2:]
		} else if strings.TrimSpace(line) != "" {
			inList = false
		}
		out, origin = append(out, line), append(origin, i+1)
	}
	delete(known, "")
	if len(known) < 2 || !known[KindInputs] && !known[KindProcess] && !known[KindOutputs] {
		return false
	}
	r.doc = markdown.ParseFrom([]byte(strings.Join(out, "\n")), origin)
	return true
}

// boldLead reads **Name**: or **Name:** at the start of a line.
func boldLead(line string) (name, rest string, ok bool) {
	t := strings.TrimLeft(line, " ")
	for _, mark := range []string{"**", "__"} {
		if !strings.HasPrefix(t, mark) {
			continue
		}
		name, rest, ok = strings.Cut(t[2:], mark)
		if !ok || strings.Contains(name, "\n") || len(name) > 120 {
			return "", "", false
		}
		rest = strings.TrimPrefix(strings.TrimLeft(rest, " "), ":")
		return strings.TrimSpace(strings.TrimRight(markdown.Plain(name), ": ")), rest, true
	}
	return "", "", false
}

func (r *reader) title(parts []part) string {
	for _, b := range r.doc.Blocks {
		if b.Kind != markdown.Heading {
			continue
		}
		if len(parts) > 0 && b.Start >= parts[0].start {
			return ""
		}
		return markdown.Plain(b.Title)
	}
	return ""
}

// problem notes something wrong at a line of the contract.
func (r *reader) problem(sev Severity, line int, code, message, mend string) {
	r.c.Problems = append(r.c.Problems, Problem{File: r.c.Path, Line: line, Severity: sev, Code: code, Message: message, Mend: mend})
}

// keeper gathers the process text: pieces in the order of the contract.
type keeper struct {
	parts    []string
	sections int
}

func (k *keeper) text(s string) {
	if t := trimBlank(s); t != "" {
		k.parts = append(k.parts, t)
	}
}

// process adds the instructions. Their own heading is said only where another
// section stands before them, so that they do not read as a part of it.
func (k *keeper) process(heading, body string) {
	if k.sections > 0 {
		k.text(heading + body)
	} else {
		k.text(body)
	}
	k.sections++
}

// rest adds what a section holds beyond its structure, under its heading.
func (k *keeper) rest(heading, body string) {
	if body = strings.TrimRight(body, " \t\n"); strings.TrimSpace(body) == "" || onlyRules(body) {
		return
	}
	if !strings.HasSuffix(heading, "\n") && !strings.HasSuffix(heading, " ") && !strings.HasPrefix(body, "\n") {
		heading += " " // a bold lead with its text on the same line
	}
	k.text(heading + body)
	k.sections++
}

func (k *keeper) String() string {
	if len(k.parts) == 0 {
		return ""
	}
	return strings.Join(k.parts, "\n\n") + "\n"
}

// onlyRules: thematic breaks between sections are layout.
func onlyRules(s string) bool {
	for line := range strings.SplitSeq(s, "\n") {
		t := strings.ReplaceAll(strings.TrimSpace(line), " ", "")
		if t != "" && (len(t) < 3 || strings.Trim(t, "-") != "" && strings.Trim(t, "*") != "" && strings.Trim(t, "_") != "") {
			return false
		}
	}
	return true
}

// trimBlank drops blank lines at both ends, not the first line's indentation.
func trimBlank(s string) string {
	for {
		line, rest, ok := strings.Cut(s, "\n")
		if !ok || strings.TrimSpace(line) != "" {
			break
		}
		s = rest
	}
	return strings.TrimRight(s, " \t\n")
}
