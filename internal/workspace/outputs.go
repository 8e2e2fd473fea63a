package workspace

import (
	"path"
	"strings"

	"golang.org/x/text/unicode/norm"

	"towpath/internal/markdown"
)

// maxOutputs bounds the outputs of one contract.
const maxOutputs = 200

var (
	arrow       = pattern(`^\s*(?:->|→|=>|⇒|⟶|-->|—>)\s*`)
	outDash     = pattern(`^\s*(?:—|–|-|:|\()\s*`)
	outMaybe    = pattern(`(?i)^[\[(](?:optional|необов'язково|неабавязкова|необязательно|facultatif|optionnel|opcional|opzionale|facoltativo)[\])]:?\s*`)
	conditional = pattern(`(?i)^(?:only )?(?:if|when) `)
	urlScheme   = pattern(`^[a-z][a-z0-9+.-]*://`)
)

// outputs reads the Outputs section and gives what is no output.
func (r *reader) outputs(p *part) string {
	var taken []span
	for _, b := range p.blocks {
		switch b.Kind {
		case markdown.List:
			taken = append(taken, r.outputItems(r.items(b.Items, b.End))...)
		case markdown.Table:
			if r.outputTable(b) {
				taken = append(taken, span{b.Start, b.End})
			}
		case markdown.Paragraph:
			for _, l := range r.paragraph(p, b) {
				if isNone(l.text) || r.outputLine(l, false) {
					taken = append(taken, l.span())
				}
			}
		}
	}
	if len(r.c.Outputs) == 0 {
		r.outputProse(p)
	}
	r.checkOutputs()
	return r.keep(p, taken)
}

// outputProse reads a section of sentences: the files in output/ that it names.
func (r *reader) outputProse(p *part) {
	for _, b := range p.blocks {
		if b.Kind != markdown.Paragraph && b.Kind != markdown.List {
			continue
		}
		for _, t := range tokens(r.doc.Slice(max(b.Start, p.body), min(b.End, p.end))) {
			name := t.text
			if t.kind == tokLink {
				name = t.target
			}
			if t.kind == tokText || pathLook(name) < likely || !strings.Contains("/"+name, "/output/") {
				continue
			}
			r.addOutput(cleanOutput(name), "", "", false, b.Line)
		}
	}
}

func (r *reader) outputItems(items []line) []span {
	var taken []span
	for _, it := range items {
		whole := span{it.start, it.end}
		if len(it.sub) > 0 {
			whole.end = it.sub[len(it.sub)-1].end
		}
		switch {
		case isNone(it.text):
			taken = append(taken, it.span())
		case r.outputLine(it, true):
			if len(it.sub) > 0 {
				last := &r.c.Outputs[len(r.c.Outputs)-1]
				last.Description = strings.TrimSpace(last.Description + "\n" + trimBlank(r.doc.Slice(it.sub[0].start, whole.end)))
			}
			taken = append(taken, whole)
		case len(it.sub) > 0:
			taken = append(taken, r.outputItems(it.sub)...)
		}
	}
	return taken
}

// outputLine reads one entry: objectives.md -> output/, output/x.md — what it
// is, `a.md`, `b.md`. In a bullet the path may also stand behind a label.
func (r *reader) outputLine(l line, bullet bool) bool {
	s := plain(l.text)
	optional := saysOptional(strings.Join(outsidePaths(s), " "))
	s = outMaybe().ReplaceAllString(s, "")
	refs, rest := r.outputSequence(s)
	description := ""
	if len(refs) == 0 && bullet {
		if label, after, ok := strings.Cut(s, ":"); ok && len(strings.Fields(label)) <= 8 && !strings.Contains(label, "`") {
			if refs, rest = r.outputSequence(strings.TrimSpace(after)); len(refs) > 0 {
				description = strings.TrimSpace(label)
			}
		}
	}
	if label, _, ok := strings.Cut(s, ":"); ok && len(refs) == 0 && r.words.kind(label) != "" && r.words.kind(label) != KindOutputs {
		return false // "Review gate: a person reads a.md"
	}
	if len(refs) == 0 && bullet {
		refs, rest = r.spansIn(s)
		if len(refs) > 0 {
			description, rest = s, ""
		}
	}
	if len(refs) == 0 {
		return false
	}
	folder := ""
	if a := arrow().FindString(rest); a != "" {
		to, after := r.destination(strings.TrimSpace(rest[len(a):]))
		if to != "" {
			folder, rest = to, after
		} else {
			rest = rest[len(a):]
		}
	}
	rest = strings.TrimLeft(rest, " ,;")
	if m := outDash().FindString(rest); m != "" {
		if strings.HasSuffix(strings.TrimSpace(m), "(") && strings.HasSuffix(rest, ")") {
			rest = strings.TrimSuffix(rest, ")")
		}
		rest = rest[len(m):]
	}
	description = strings.TrimSpace(strings.TrimSuffix(joinNonEmpty(description, rest), ":"))
	optional = optional || conditional().MatchString(description)
	for _, ref := range refs {
		r.addOutput(ref, folder, description, optional, l.no)
	}
	return true
}

func joinNonEmpty(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ": " + b
}

// outputSequence reads file names at the start of a text.
func (r *reader) outputSequence(s string) (refs []string, rest string) {
	for {
		s = strings.TrimLeft(s, " ")
		name, after, ok := r.outputName(s)
		if !ok {
			return refs, s
		}
		refs = append(refs, name)
		next, more := separator(after)
		if !more {
			return refs, after
		}
		if _, _, ok := r.outputName(strings.TrimLeft(next, " ")); !ok {
			return refs, after
		}
		s = next
	}
}

func (r *reader) outputName(s string) (name, after string, ok bool) {
	if s == "" {
		return "", s, false
	}
	if s[0] == '`' || s[0] == '[' {
		t := tokens(s)[0]
		switch t.kind {
		case tokCode:
			if pathLook(t.text) >= likely {
				return cleanOutput(t.text), s[t.end:], true
			}
			return "", s, false
		case tokLink:
			if p, ok := linkPath(t.target); ok {
				return cleanOutput(p), s[t.end:], true
			}
			return "", s, false
		}
	}
	end := len(s)
	if m := bareEnd().FindStringIndex(s); m != nil {
		end = m[0]
	}
	for _, sign := range []string{"->", "→", "=>"} {
		if i := strings.Index(s[:end], sign); i > 0 {
			end = i
		}
	}
	whole := strings.TrimRight(s[:end], " ,;:")
	for _, sep := range []string{" and ", " та ", " et ", " und "} {
		if before, _, ok := strings.Cut(whole, sep); ok && pathLook(before) >= likely {
			whole = before
		}
	}
	if whole != "" && pathLook(unescape(whole)) >= likely {
		return cleanOutput(unescape(whole)), s[len(whole):], true
	}
	word, _, _ := strings.Cut(whole, " ")
	if w := strings.TrimRight(word, ".,;:"); word != whole && pathLook(w) >= surely {
		return cleanOutput(w), s[len(word):], true
	}
	return "", s, false
}

func cleanOutput(s string) string {
	s = strings.ReplaceAll(s, `\`, "/")
	return strings.TrimSpace(strings.Trim(s, `"'`))
}

// spansIn finds the first run of names in backticks within a sentence.
func (r *reader) spansIn(s string) (refs []string, rest string) {
	for _, t := range tokens(s) {
		if t.kind == tokCode && pathLook(t.text) >= surely {
			start := t.end - len(t.text) - 2
			if start < 0 || s[start] != '`' {
				start = strings.Index(s, "`"+t.text+"`")
			}
			if start < 0 {
				return nil, ""
			}
			return r.outputSequence(s[start:])
		}
	}
	return nil, ""
}

// destination reads what stands behind an arrow if it is a place.
func (r *reader) destination(s string) (to, after string) {
	if s == "" {
		return "", s
	}
	if s[0] == '`' || s[0] == '[' {
		if name, rest, ok := r.outputName(s); ok {
			return name, rest
		}
		if t := tokens(s)[0]; t.kind == tokCode && !strings.Contains(t.text, " ") {
			return cleanOutput(t.text) + "/", s[t.end:]
		}
		return "", s
	}
	if strings.EqualFold(strings.TrimRight(s, ". "), "output") {
		return "output/", ""
	}
	word, rest, _ := strings.Cut(s, " ")
	w := strings.TrimRight(word, ",;:")
	if pathLook(w) >= surely || strings.HasPrefix(w, "output/") {
		return cleanOutput(w), " " + rest
	}
	return "", s
}

func (r *reader) outputTable(b markdown.Block) bool {
	cols := columnsOf(b.Header.Cells)
	all := true
	for _, row := range b.Rows {
		if !r.outputRow(b.Header.Cells, row, cols) {
			all = false
		}
	}
	return all && len(b.Rows) > 0
}

// outputRow reads a row: the path column holds the file, or the folder for a
// name that stands in another column.
func (r *reader) outputRow(header []string, row markdown.Row, cols columns) bool {
	var names []string
	folder, used := "", map[int]bool{}
	var notes []string
	for _, i := range cols.paths {
		text := plain(cell(row, i))
		refs, rest := r.outputSequence(text)
		if len(refs) == 0 || strings.HasPrefix(strings.TrimSpace(rest), "§") {
			continue
		}
		if len(refs) == 1 && strings.HasSuffix(refs[0], "/") && folder == "" {
			folder = refs[0]
			used[i] = true
			if rest = strings.Trim(rest, " ."); rest != "" {
				notes = append(notes, rest)
			}
			continue
		}
		if names == nil {
			names = refs
			used[i] = true
			if a := arrow().FindString(rest); a != "" && folder == "" {
				folder, rest = r.destination(strings.TrimSpace(rest[len(a):]))
			}
			if rest = strings.Trim(rest, " ."); rest != "" {
				notes = append(notes, rest)
			}
		}
	}
	if names == nil && folder == "" {
		for i := range row.Cells { // headings that are not known
			if refs, _ := r.outputSequence(plain(row.Cells[i])); len(refs) > 0 && !contains(cols.paths, i) && pathLook(refs[0]) >= surely {
				names, used[i] = refs, true
				break
			}
		}
	}
	if names == nil {
		if folder == "" {
			return strings.Trim(strings.Join(row.Cells, ""), " -—") == ""
		}
		names, folder = []string{folder}, ""
	}
	optional := false
	for i, text := range row.Cells {
		text = plain(text)
		switch {
		case used[i] || text == "":
		case i == cols.need:
			optional = optional || negative(text)
		default:
			if i < len(header) {
				notes = append(notes, text)
			}
		}
	}
	for _, n := range names {
		r.addOutput(n, folder, strings.Join(notes, " — "), optional, row.Line)
	}
	return true
}

// addOutput places a file: in the folder that was given, else by its own path,
// else in output/.
func (r *reader) addOutput(name, folder, description string, optional bool, no int) {
	if urlScheme().MatchString(name) || len(r.c.Outputs) >= maxOutputs {
		return
	}
	name, folder = r.vary(name), r.vary(folder)
	out := Output{Name: name, Description: description, Line: no, Optional: optional}
	full := name
	switch {
	case folder == "":
	case strings.HasSuffix(folder, "/"), !extension().MatchString(folder) && path.Base(folder) != path.Base(name):
		if !strings.HasPrefix(strings.TrimPrefix(name, "./"), strings.TrimPrefix(folder, "./")) {
			full = path.Join(folder, name)
			if strings.HasSuffix(name, "/") {
				full += "/"
			}
		}
	default:
		full = folder
	}
	out.Folder = strings.HasSuffix(full, "/")
	clean := path.Clean(strings.TrimPrefix(full, "./"))
	out.Path, out.Outside = r.place(clean)
	if !out.Outside && strings.HasPrefix(out.Path, r.stage.OutputDir()+"/") {
		out.Name = strings.TrimPrefix(out.Path, r.stage.OutputDir()+"/")
		if out.Folder {
			out.Name += "/"
		}
	}
	for _, o := range r.c.Outputs {
		if o.Path == out.Path {
			return
		}
	}
	r.c.Outputs = append(r.c.Outputs, out)
}

// place gives the tree path of an output, and whether it lies outside the
// stage's output/.
func (r *reader) place(p string) (string, bool) {
	outDir := r.stage.OutputDir()
	if !strings.Contains(p, "/") && p != ".." && p != "output" && p != "." {
		return path.Join(outDir, p), false
	}
	for _, base := range []string{r.stage.Dir, r.dirs.workspace, ".", r.dirs.container} {
		if full := path.Join(base, strings.TrimPrefix(p, "/")); full == outDir || strings.HasPrefix(full, outDir+"/") {
			return full, false
		}
	}
	base := r.stage.Dir
	if !strings.HasPrefix(p, "..") {
		first, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
		for _, b := range []string{r.stage.Dir, r.dirs.workspace, "."} {
			if r.dirs.has(path.Join(b, first)) {
				base = b
				break
			}
		}
	}
	return path.Join(base, strings.TrimPrefix(p, "/")), true
}

func (r *reader) checkOutputs() {
	seen := map[string]Output{}
	for _, o := range r.c.Outputs {
		switch {
		case strings.HasPrefix(o.Path, ".."):
			r.problem(Error, o.Line, "output-outside", "the output "+o.Name+" lies outside the repository", "name a file in output/")
		case o.Outside:
			r.problem(Error, o.Line, "output-outside", "the output "+o.Name+" lies outside the stage's output/",
				"name a file in output/, or allow its place with write = [...] in trusted settings")
		case o.Folder && !o.Optional:
			r.problem(Error, o.Line, "output-folder", "the output "+o.Name+" is a folder", "name the file that is written, such as "+path.Base(r.stage.Dir)+".md")
		}
		key := strings.ToLower(norm.NFC.String(o.Path))
		if other, ok := seen[key]; ok {
			r.problem(Error, o.Line, "output-twins", "the outputs "+other.Name+" and "+o.Name+" are one file where letter case or Unicode form does not count",
				"give them names that differ in more than that")
		}
		seen[key] = o
	}
}
