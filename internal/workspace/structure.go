package workspace

import (
	"fmt"
	"strconv"
	"strings"

	"towpath/internal/markdown"
)

var (
	toolLine = pattern("^`?([A-Za-z0-9][A-Za-z0-9_.-]*)`?\\s*:\\s*(.+)$")
	toolName = pattern(`^[A-Za-z0-9_.*-]+$`)
	required = pattern(`(?i)\s*\((?:required|обов'язково|обязательно|абавязкова|obligatoire|obligatorio|obrigatório|obbligatorio|erforderlich)\)\s*\.?$`)
)

// tools reads lines such as "search-server: search, open (required)".
func (r *reader) tools(p *part) string {
	var taken []span
	lines, _ := r.lines(p)
	for _, l := range flat(lines) {
		if isNone(l.text) {
			taken = append(taken, l.span())
			continue
		}
		if g, ok := toolGrant(plain(l.text)); ok {
			g.Line = l.no
			r.c.Tools = append(r.c.Tools, g)
			taken = append(taken, l.span())
		}
	}
	return r.keep(p, taken)
}

func toolGrant(s string) (ToolGrant, bool) {
	var g ToolGrant
	if m := required().FindStringIndex(s); m != nil {
		g.Required = true
		s = s[:m[0]]
	}
	m := toolLine().FindStringSubmatch(strings.TrimRight(s, " ."))
	if m == nil {
		return g, false
	}
	g.Server = m[1]
	if isWord(allWords, strings.Trim(m[2], "` ")) {
		g.All = true
		return g, true
	}
	if isNone(m[2]) {
		return g, false
	}
	for t := range strings.FieldsFuncSeq(m[2], func(c rune) bool { return c == ',' || c == ';' }) {
		t = strings.Trim(strings.TrimSpace(t), "`")
		if !toolName().MatchString(t) {
			return g, false
		}
		g.Tools = append(g.Tools, t)
	}
	return g, len(g.Tools) > 0
}

// flat lists lines and those below them, in order.
func flat(lines []line) []line {
	var out []line
	for _, l := range lines {
		out = append(out, l)
		out = append(out, flat(l.sub)...)
	}
	return out
}

var (
	atATime   = pattern(`(?i),\s*(?:по\s+)?(\d{1,3})(?:\s+(?:at a time|at once|in parallel|одночасно|за раз|адначасова|одновременно|à la fois|a la vez|de cada vez|por vez|alla volta|gleichzeitig|auf einmal))?\s*(?:,|\.?$)`)
	summaries = pattern(`(?i),?\s*(?:and\s+)?(?:with summaries|with summary|зі? (?:стислими )?підсумками|з падсумкамі|с(?:о)? (?:краткими )?(?:сводками|итогами|резюме)|avec (?:des )?résumés|con (?:los )?resúmenes|com (?:os )?resumos|con (?:i )?riassunti|mit zusammenfassungen)\.?`)
	forEachIn = pattern(`(?i)^(?:for\s+)?(?:each\s+|every\s+)?(.{1,60}?)\s+(?:` + inWords + `)\s+(\S.*)$`)
)

// forEach reads "module in ../03-outline/output/outline.md, 2 at a time".
func (r *reader) forEach(p *part) string {
	var taken []span
	lines, _ := r.lines(p)
	for _, l := range lines {
		if r.c.ForEach != nil {
			break
		}
		if isNone(l.text) {
			return r.keep(p, append(taken, l.span()))
		}
		if fe, ok := r.forEachLine(plain(l.text)); ok {
			fe.Line, fe.Source.Line = l.no, l.no
			r.c.ForEach = fe
			taken = append(taken, l.span())
		}
	}
	if r.c.ForEach == nil {
		r.problem(Error, p.Line, "for-each", "the For each section names no source",
			"write a line such as: module in ../03-outline/output/outline.md")
	}
	return r.keep(p, taken)
}

func (r *reader) forEachLine(s string) (*ForEach, bool) {
	fe := &ForEach{AtATime: 1}
	if m := summaries().FindStringIndex(s); m != nil {
		fe.Summaries = true
		s = s[:m[0]] + s[m[1]:]
	}
	if m := atATime().FindStringSubmatchIndex(s); m != nil {
		n, err := strconv.Atoi(s[m[2]:m[3]])
		if err == nil && n > 0 {
			fe.AtATime = n
		}
		s = s[:m[0]]
	}
	s = strings.TrimRight(strings.TrimSpace(s), ",")
	word, source := "", s
	if m := forEachIn().FindStringSubmatch(s); m != nil {
		word, source = strings.Trim(m[1], "`*\" "), m[2]
	}
	refs, rest := r.sequence(source, true)
	if len(refs) != 1 || word == "" && pathLook(refs[0].path) < surely {
		return nil, false
	}
	if strings.Trim(rest, " .") != "" && !strings.HasPrefix(strings.TrimSpace(rest), "(") {
		return nil, false
	}
	fe.Word = word
	fe.Source = Input{Written: r.vary(refs[0].path), Section: refs[0].section}
	return fe, true
}

var checkKinds = []string{"run", "shell", "schema", "count", "words", "must match", "must not match", "headings", "sources",
	"quotes", "links", "code", "same facts", "no repeats", "held out", "sealed", "judge"}

var judgeWith = pattern(`(?i)^judge\s*(\([^)]*\))?\s*:\s*(.*)$`)

// verify reads checks: bullets, rows of an Audit table, lines of prose where
// nothing else stands.
func (r *reader) verify(p *part) string {
	var taken []span
	found := false
	for _, b := range p.blocks {
		switch b.Kind {
		case markdown.List:
			for _, it := range b.Items {
				if isNone(it.Text) {
					taken = append(taken, span{it.Start, it.End})
					continue
				}
				text := it.Text
				if len(it.Sub) > 0 {
					text = strings.TrimSpace(r.doc.Slice(it.Start, it.End))
					text = strings.TrimLeft(text, "-*+0123456789.) ")
				}
				if c, ok := checkOf(text); ok {
					c.Line = it.Line
					r.c.Checks = append(r.c.Checks, c)
					taken = append(taken, span{it.Start, it.End})
					found = true
				}
			}
		case markdown.Table:
			for _, row := range b.Rows {
				if c, ok := rowCheck(row); ok {
					r.c.Checks = append(r.c.Checks, c)
					found = true
				}
			}
			taken = append(taken, span{b.Start, b.End})
		}
	}
	if !found {
		taken = append(taken, r.verifyProse(p)...)
	}
	return r.keep(p, taken)
}

// verifyProse: each paragraph is a criterion, each line that is a check of a
// known kind is that check.
func (r *reader) verifyProse(p *part) []span {
	var taken []span
	for _, b := range p.blocks {
		if b.Kind != markdown.Paragraph {
			continue
		}
		var prose []string
		first := 0
		flush := func() {
			if len(prose) > 0 {
				r.c.Checks = append(r.c.Checks, Check{Kind: "judge", Arg: strings.Join(prose, " "), Line: first})
			}
			prose = nil
		}
		for _, l := range r.paragraph(p, b) {
			taken = append(taken, l.span())
			if isNone(l.text) {
				continue
			}
			c, ok := checkOf(l.text)
			if ok && c.Kind != "judge" || ok && judgeWith().MatchString(plain(l.text)) {
				flush()
				c.Line = l.no
				r.c.Checks = append(r.c.Checks, c)
				continue
			}
			// A tick begins a criterion of its own.
			if strings.IndexAny(l.text, "✓✔☑✅☐") == 0 {
				flush()
			}
			if len(prose) == 0 {
				first = l.no
			}
			prose = append(prose, strings.TrimSpace(strings.TrimLeft(plain(l.text), "✓✔☑✅☐️ ")))
		}
		flush()
	}
	return taken
}

func rowCheck(row markdown.Row) (Check, bool) {
	var cells []string
	for _, c := range row.Cells {
		if c = plain(c); c != "" {
			cells = append(cells, c)
		}
	}
	if len(cells) == 0 {
		return Check{}, false
	}
	for _, c := range cells {
		if k, ok := checkOf(c); ok && k.Kind != "judge" {
			k.Line = row.Line
			return k, true
		}
	}
	return Check{Kind: "judge", Arg: strings.Join(cells, ": "), Line: row.Line}, true
}

// checkOf reads a check: "warn: each: words: 300..900". Prose is a criterion
// for the judge.
func checkOf(text string) (Check, bool) {
	s := strings.TrimSpace(markdown.StripComments(text))
	for _, box := range []string{"[ ] ", "[x] ", "[X] "} {
		s = strings.TrimPrefix(s, box)
	}
	if s == "" {
		return Check{}, false
	}
	var c Check
	for {
		low := strings.ToLower(s)
		if rest, ok := strings.CutPrefix(low, "warn:"); ok {
			c.Warn, s = true, strings.TrimSpace(s[len(s)-len(rest):])
			continue
		}
		if rest, ok := strings.CutPrefix(low, "each:"); ok {
			c.Each, s = true, strings.TrimSpace(s[len(s)-len(rest):])
			continue
		}
		break
	}
	if m := judgeWith().FindStringSubmatch(strings.Join(strings.Fields(s), " ")); m != nil {
		c.Kind, c.Arg = "judge", strings.TrimSpace(m[1]+" "+m[2])
		return c, true
	}
	bare := strings.Trim(s, "`")
	for _, k := range checkKinds {
		if k == "judge" {
			continue
		}
		if len(bare) >= len(k) && strings.EqualFold(bare[:len(k)], k) {
			rest := bare[len(k):]
			if strings.HasPrefix(rest, ":") {
				c.Kind, c.Arg = k, trimTicks(strings.TrimSpace(rest[1:]))
				return c, true
			}
			if strings.Trim(rest, " .") == "" && (k == "sources" || k == "quotes" || k == "links") {
				c.Kind = k
				return c, true
			}
		}
	}
	c.Kind, c.Arg = "judge", strings.TrimSpace(strings.Join(strings.Fields(s), " "))
	if strings.Contains(s, "\n") {
		c.Arg = s
	}
	return c, true
}

// trimTicks takes the whole out of one pair of backticks.
func trimTicks(s string) string {
	if body, n := markdown.CodeSpan(s); n == len(s) && n > 0 {
		return body
	}
	return s
}

// run reads the command: a fenced block, or one line.
func (r *reader) run(p *part) string {
	for _, b := range p.blocks {
		if b.Kind == markdown.Code && strings.TrimSpace(b.Body) != "" {
			r.c.Run = &Command{Text: commandText(b.Body), Line: b.Line + 1}
			return r.keep(p, []span{{b.Start, b.End}})
		}
	}
	lines, rest := r.lines(p)
	if len(lines) == 1 && len(lines[0].sub) == 0 && len(rest) == 0 {
		l := lines[0]
		if isNone(l.text) {
			return ""
		}
		text := trimTicks(strings.TrimSpace(markdown.StripComments(l.text)))
		if text != "" && !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, ":") {
			r.c.Run = &Command{Text: commandText(text), Line: l.no}
			return r.keep(p, []span{l.span()})
		}
	}
	if strings.TrimSpace(p.Body) != "" {
		r.problem(Warning, p.Line, "run-prose", "the Run section holds no single command, so it was taken as instructions",
			"put the command in a fenced block, or call the section something else")
	}
	return p.Body
}

func commandText(s string) string {
	var out []string
	for l := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		out = append(out, strings.TrimPrefix(l, "$ "))
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

var (
	stopWords    = words("stop|стоп|зупинка|спыненне|остановка|arrêt|alto|parar|ferma|halt")
	approveWords = words("approve|approval|approval required|схвалення|схвалити|затвердження|ухваленне|зацвярджэнне|утверждение|одобрение|approbation|approuver|aprobación|aprobar|aprovação|aprovar|approvazione|approvare|genehmigung|genehmigen")
)

// gate reads stop, approve or none. Sentences about a review leave the gate as
// it is and stay in the process text.
func (r *reader) gate(p *part) string {
	lines, _ := r.lines(p)
	for _, l := range lines {
		word := normHeading(l.text)
		head, _, _ := strings.Cut(plain(l.text), " — ")
		for _, w := range []string{word, normHeading(head)} {
			g := Gate("")
			switch {
			case isWord(stopWords, w):
				g = GateStop
			case isWord(approveWords, w):
				g = GateApprove
			case isNone(w):
				g = GateNone
			}
			if g != "" {
				r.c.Gate = g
				if w == word {
					return r.keep(p, []span{l.span()})
				}
				return p.Body
			}
		}
	}
	if len(lines) == 1 && len(strings.Fields(plain(lines[0].text))) == 1 {
		r.problem(Error, lines[0].no, "gate-word", fmt.Sprintf("the gate %q is not known", plain(lines[0].text)), "write stop, approve or none")
	}
	return p.Body
}

var (
	stageToken = pattern("^`?([0-9]{1,3}[a-z]?(?:[-_.][\\p{L}\\p{N}_.-]+)?|(?:stage|step|phase)[-_ ]?[0-9]{1,3}[\\p{L}\\p{N}_.-]*|[\\p{L}][\\p{L}\\p{N}_-]*)/?`?\\s*(.*)$")
	times      = pattern(`(?i)(?:x|×)?\s*(\d{1,3})\s*(?:x|×|times?|раз[иаі]?|fois|vez|veces|vezes|volte|volta|mal)?\b`)
)

// onFail reads "02-research, at most 2 times".
func (r *reader) onFail(p *part) string {
	lines, _ := r.lines(p)
	if len(lines) == 0 || isNone(lines[0].text) {
		return ""
	}
	l := lines[0]
	m := stageToken().FindStringSubmatch(plain(l.text))
	rest := ""
	if m != nil {
		rest = strings.Trim(m[2], " ,.;()—–-:")
	}
	if m == nil || len(strings.Fields(rest)) > 5 || rest != "" && !times().MatchString(rest) && rest != "once" && rest != "twice" {
		r.problem(Warning, p.Line, "on-fail-prose", "the On fail section names no stage, so it was taken as instructions", "write a stage, such as: 02-research, 2 times")
		return p.Body
	}
	f := &OnFail{Stage: m[1], Times: 1, Line: l.no}
	if t := times().FindStringSubmatch(rest); t != nil {
		f.Times, _ = strconv.Atoi(t[1])
	} else if strings.EqualFold(rest, "twice") {
		f.Times = 2
	}
	r.c.OnFail = f
	return r.keep(p, []span{l.span()})
}

// worktree reads repo, may change, protect.
func (r *reader) worktree(p *part) string {
	var taken []span
	lines, _ := r.lines(p)
	w := &Worktree{Line: p.Line}
	for _, l := range lines {
		key, value, ok := keyed(plain(l.text))
		if !ok {
			continue
		}
		var list []string
		for v := range strings.SplitSeq(value, ",") {
			if v = strings.Trim(strings.TrimSpace(v), "`"); v != "" {
				list = append(list, v)
			}
		}
		for _, s := range l.sub {
			list = append(list, strings.Trim(plain(s.text), "`"))
			taken = append(taken, s.span())
		}
		switch fold(key) {
		case "repo", "repository":
			w.Repo = strings.Trim(value, "` ")
		case "may change":
			w.MayChange = append(w.MayChange, list...)
		case "protect", "protected":
			w.Protect = append(w.Protect, list...)
		default:
			r.problem(Warning, l.no, "worktree-key", fmt.Sprintf("%q is not known in Worktree", key), "write repo, may change or protect")
			continue
		}
		taken = append(taken, l.span())
	}
	if w.Repo == "" && w.MayChange == nil && w.Protect == nil {
		return p.Body
	}
	r.c.Worktree = w
	return r.keep(p, sorted(taken))
}

func sorted(s []span) []span {
	for i := 1; i < len(s); i++ {
		for j := i; j > 0 && s[j].start < s[j-1].start; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
	return s
}
