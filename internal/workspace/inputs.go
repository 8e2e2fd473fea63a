package workspace

import (
	"strings"

	"towpath/internal/markdown"
)

// group is what an entry takes over from what stands above it: "### Layer 3",
// "- Reference:" with a list below it.
type group struct {
	layer    Layer
	set      bool
	optional bool
}

// maxInputs bounds the inputs of one contract.
const maxInputs = 1000

// inputs reads the Inputs section and gives what it says beyond paths.
func (r *reader) inputs(p *part) string {
	var taken []span
	g, structured := group{}, false
	for _, b := range p.blocks {
		switch b.Kind {
		case markdown.Heading:
			g = groupOf(b.Title)
		case markdown.List:
			structured = true
			taken = append(taken, r.inputItems(r.items(b.Items, b.End), g)...)
		case markdown.Table:
			structured = true
			if r.inputTable(b, g) {
				taken = append(taken, span{b.Start, b.End})
			}
		case markdown.Paragraph:
			g2, t, ok := r.inputParagraph(r.paragraph(p, b), g)
			g, structured = g2, structured || ok
			taken = append(taken, t...)
		}
	}
	if !structured {
		r.inputProse(p)
	}
	return r.keep(p, taken)
}

func (r *reader) inputItems(items []line, g group) []span {
	var taken []span
	for _, it := range items {
		e := r.entry(it.text, g)
		if e.pure {
			r.addInputs(e, it.no)
			if len(it.sub) == 0 || len(e.refs) == 0 {
				taken = append(taken, it.span())
			}
		} else {
			r.addInputs(e, it.no)
		}
		if len(it.sub) == 0 {
			continue
		}
		if len(e.refs) == 0 {
			below := group{e.layer, e.layerSet, e.optional || g.optional}
			taken = append(taken, r.inputItems(it.sub, below)...)
		}
		// What stands below a path describes it.
	}
	return taken
}

// inputParagraph reads lines outside a list. A line counts if it is a path
// with or without its label; a line that is only a label groups what follows.
func (r *reader) inputParagraph(lines []line, g group) (group, []span, bool) {
	var taken []span
	any := false
	for i, l := range lines {
		if i == 0 && forbids(l.text) {
			return g, nil, false
		}
		if isNone(l.text) {
			taken = append(taken, l.span())
			any = true
			continue
		}
		text := plain(l.text)
		if strings.HasSuffix(text, ":") || strings.HasPrefix(l.text, "**") && strings.HasSuffix(l.text, "**") {
			if g2 := groupOf(text); g2.set || g2.optional {
				g = g2
			}
			continue
		}
		e := r.entry(l.text, g)
		if len(e.refs) == 0 || e.prose {
			if i == 0 {
				return g, nil, false // sentences, in which a path is only mentioned
			}
			continue
		}
		any = true
		r.addInputs(e, l.no)
		if e.pure {
			taken = append(taken, l.span())
		}
	}
	return g, taken, any
}

// inputProse reads a section that is nothing but sentences: the paths in it
// that are links, or in backticks with a folder, or that are there.
func (r *reader) inputProse(p *part) {
	for _, b := range p.blocks {
		if b.Kind != markdown.Paragraph && b.Kind != markdown.Quote {
			continue
		}
		text := r.doc.Slice(max(b.Start, p.body), min(b.End, p.end))
		for sentence := range strings.SplitAfterSeq(strings.Join(strings.Fields(text), " "), ". ") {
			if forbids(sentence) {
				continue
			}
			e := r.entry(sentence, group{})
			r.addInputs(e, b.Line)
		}
	}
}

func groupOf(title string) group {
	t := plain(title)
	l, set, _ := layerLead(t)
	if !set {
		l, set = layerWord(strings.TrimRight(t, ": "))
	}
	return group{l, set, saysOptional(t)}
}

func (r *reader) addInputs(e entry, no int) {
	for _, ref := range e.refs {
		if len(r.c.Inputs) >= maxInputs {
			return
		}
		in := Input{Written: r.vary(ref.path), Section: ref.section, Scope: e.scope, Layer: e.layer, LayerSet: e.layerSet,
			Optional: e.optional, Note: e.note, Line: no}
		if in.Section == "" && e.section != "" && isMarkdown(in.Written) {
			in.Section, in.Scope = e.section, ""
		}
		r.c.Inputs = append(r.c.Inputs, in)
	}
}

func isMarkdown(name string) bool {
	n := strings.ToLower(name)
	return strings.HasSuffix(n, ".md") || strings.HasSuffix(n, ".markdown") || strings.HasSuffix(n, ".mdx")
}

// entry is what one entry of Inputs says.
type entry struct {
	layer    Layer
	layerSet bool
	optional bool
	section  string // a section that the entry names for its paths, surely
	scope    string // what may be a section
	refs     []ref
	note     string
	pure     bool // nothing but label and paths
	prose    bool // its paths were found within a sentence
}

type ref struct{ path, section string }

var (
	layerNumber = pattern(`(?i)^[\[(]?\s*(?:l|` + layerWords + `)[\s.-]*([0-4])(?:[\s\])]|[:.,—–-]|$)`)
	tailNumber  = pattern(`(?i)[\[(](?:l|` + layerWords + `)[\s.-]*([0-4])[^\])]*[\])]`)
)

// layerLead reads a layer at the start: "Layer 4 (working): rest", "L3 — rest".
func layerLead(s string) (l Layer, ok bool, rest string) {
	m := layerNumber().FindStringSubmatchIndex(s)
	if m == nil {
		return 0, false, s
	}
	l = layerOf(s[m[2]])
	rest = strings.TrimLeft(s[m[3]:], " ])")
	if strings.HasPrefix(rest, "(") {
		if i := strings.IndexByte(rest, ')'); i > 0 {
			rest = rest[i+1:]
		}
	}
	rest = strings.TrimLeft(rest, " ")
	if before, after, cut := strings.Cut(rest, ":"); cut && !strings.ContainsAny(before, "/`[") && pathLook(strings.TrimSpace(before)) < likely {
		return l, true, strings.TrimSpace(after)
	}
	return l, true, strings.TrimLeft(rest, " :—–-,|")
}

// layerOf makes a layer of its digit. What a contract lists below 3 is still a
// file to read: it counts as reference.
func layerOf(digit byte) Layer { return max(Layer(digit-'0'), LayerReference) }

// layerWord reads "Working", "Reference material", "довідковий".
func layerWord(s string) (Layer, bool) {
	n := normHeading(s)
	first, _, _ := strings.Cut(n, " ")
	switch {
	case isWord(workWords, n) || isWord(workWords, first) && first != "de" && first != "di":
		return LayerWorking, true
	case isWord(refWords, n) || isWord(refWords, first) && len(strings.Fields(n)) <= 3:
		return LayerReference, true
	}
	return 0, false
}

func saysOptional(s string) bool {
	f := fold(s)
	for _, w := range optionalWords.folded() {
		if i := strings.Index(f, w); i >= 0 && !strings.HasSuffix(strings.TrimSpace(f[:i]), "not") {
			return true
		}
	}
	for _, w := range optionalPhrases.folded() {
		if strings.Contains(f, w) {
			return true
		}
	}
	return false
}

// forbids: "Do not read ...", "Never ...".
func forbids(s string) bool {
	f := fold(plain(s))
	for _, w := range notWords.folded() {
		if strings.HasPrefix(f, w+" ") || (w == "do not" || w == "don't" || w == "never") && strings.Contains(f, w+" ") {
			return true
		}
	}
	return false
}

// entry reads one entry of Inputs.
func (r *reader) entry(text string, g group) entry {
	s := plain(text)
	e := entry{layer: g.layer, layerSet: g.set, optional: g.optional}
	if s == "" || isNone(s) {
		e.pure = true
		return e
	}
	if saysOptional(strings.Join(outsidePaths(s), " ")) {
		e.optional = true
	}
	s = outMaybe().ReplaceAllString(s, "")
	labelled := g.set
	var labelNote string
	if l, ok, rest := layerLead(s); ok {
		e.layer, e.layerSet, labelled = l, true, true
		s = rest
		if s == "" {
			e.pure = true // a label alone, for the list below it
			return e
		}
	} else if label, rest, ok := r.label(s); ok {
		if l, ok := layerWord(label); ok {
			e.layer, e.layerSet = l, true
		} else if !isWord(optionalWords, normHeading(label)) && !bareLabel(label) {
			labelNote = label
		}
		labelled = true
		s = rest
		if s == "" {
			e.pure = labelNote == ""
			return e
		}
	}
	if m := tailNumber().FindStringSubmatchIndex(s); m != nil && !e.layerSet {
		e.layer, e.layerSet = layerOf(s[m[2]]), true
		s = strings.TrimSpace(s[:m[0]] + s[m[1]:])
	}
	if forbids(s) {
		e.note = s
		return e
	}
	refs, rest := r.sequence(s, labelled)
	if len(refs) == 0 {
		e.refs, e.prose, e.note = r.prose(s), true, s
		return e
	}
	e.refs = refs
	rest = strings.Trim(rest, " ,;.")
	e.note = strings.TrimSpace(strings.TrimLeft(rest, "—–-→>:( "))
	if strings.HasSuffix(e.note, ")") && !strings.Contains(e.note, "(") {
		e.note = strings.TrimSuffix(e.note, ")")
	}
	if isWord(optionalWords, normHeading(e.note)) {
		e.note = ""
	}
	e.pure = e.note == "" && labelNote == ""
	if labelNote != "" {
		e.note = strings.TrimSpace(strings.Join([]string{labelNote, e.note}, ": "))
		e.note = strings.TrimSuffix(e.note, ":")
	}
	return e
}

// bareLabel: words before a path that say nothing of it.
func bareLabel(label string) bool {
	switch normHeading(label) {
	case "file", "files", "path", "input", "inputs", "read", "load", "required", "source", "файл", "файли", "файлы", "fichier", "archivo", "arquivo", "ficheiro", "datei":
		return true
	}
	return false
}

// outsidePaths gives the pieces of a text that are neither code nor link
// targets.
func outsidePaths(s string) []string {
	var out []string
	for _, t := range tokens(s) {
		if t.kind != tokCode {
			out = append(out, t.text)
		}
	}
	return out
}

// label splits "Brief: ../x.md" and "Brief — ../x.md": a few words that are no
// path, then something that begins with one.
func (r *reader) label(s string) (label, rest string, ok bool) {
	for _, sep := range []string{":", " — ", " – ", " - ", " -> ", " → ", " = "} {
		before, after, cut := strings.Cut(s, sep)
		before, after = strings.TrimSpace(before), strings.TrimSpace(after)
		if !cut || before == "" || len(strings.Fields(before)) > 8 || strings.ContainsAny(before, "`[/") && !strings.HasPrefix(before, "[") {
			continue
		}
		if strings.HasPrefix(after, "//") || strings.HasPrefix(after, `\`) || strings.Contains(before, "](") {
			continue
		}
		if pathLook(before) >= surely || (sep != ":" && r.exists(before)) {
			continue
		}
		if sep == ":" && after == "" {
			return before, "", true
		}
		if refs, _ := r.sequence(after, true); len(refs) > 0 {
			return before, after, true
		}
	}
	return "", "", false
}
