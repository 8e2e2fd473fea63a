package workspace

import (
	"strings"

	"towpath/internal/markdown"
)

// The headings of an Inputs or Outputs table, in the same languages as the
// sections; strong path columns before weak ones.
var (
	pathColumns = words("file/location|file location|location|file|files|path|paths|file path|filepath|where|файл|файли|файлы|шлях|розташування|путь|расположение|шлях да файла|размяшчэнне|" +
		"fichier|fichiers|chemin|emplacement|archivo|archivos|ruta|ubicación|arquivo|arquivos|ficheiro|caminho|localização|local|" +
		"percorso|posizione|datei|dateien|pfad|ort|speicherort")
	sourceColumns = words("source|sources|what to load|load|resource|document|input|inputs|artifact|from|item|name|output|outputs|джерело|джерела|крыніца|источник|источники|" +
		"source du fichier|fuente|origen|fonte|origem|quelle|fichier source|вхід|вход|уваход|entrée|entrada|eingabe|артефакт|artefact|artefacto|artefato|artefatto|artefakt|" +
		"вихід|выход|выхад|sortie|salida|saída|ausgabe|назва|имя|nom|nombre|nome")
	sectionColumns = words("section/scope|section|sections|scope|section scope|part|розділ|розділ/обсяг|обсяг|раздел|раздел/объем|объем|раздзел|аб'ём|portée|section/portée|" +
		"sección|sección/alcance|alcance|seção|seção/escopo|secção|escopo|sezione|sezione/ambito|ambito|abschnitt|abschnitt/umfang|umfang|bereich")
	layerColumns = words(layerWords + "|layers|type|kind|тип|тып|tipo|typ")
	needColumns  = words("required|mandatory|need|needed|must|обов'язково|обов'язковий|обязательно|обязательный|абавязкова|requis|obligatoire|requerido|obligatorio|" +
		"obrigatório|obrigatória|obbligatorio|richiesto|erforderlich|pflicht|notwendig")
	wholeFile = words("full file|full files|full|all|entire|entire file|whole file|whole|full content|full document|all sections|everything|complete|complete file|all content|n/a|" +
		"весь файл|увесь файл|усе|все|всё|файл цалкам|fichier entier|fichier complet|documento completo|file completo|vollständig|tout|archivo completo|todo|arquivo inteiro|ficheiro completo|tudo|file intero|tutto|ganze datei|alles")
	falseWords = words("false|nie|ні|non|não|nein")
)

// columns are the meanings of a table's columns; -1 where there is none.
type columns struct {
	paths                       []int // strong first
	section, layer, need, maybe int
	known                       map[int]bool
}

var pathWord = pattern(`\b(?:path|file|location)s?\b`)

func columnsOf(header []string) columns {
	c := columns{section: -1, layer: -1, need: -1, maybe: -1, known: map[int]bool{}}
	var weak []int
	for i, h := range header {
		n := normHeading(h)
		switch {
		case isWord(pathColumns, n) || pathWord().MatchString(n):
			c.paths = append(c.paths, i)
		case isWord(sectionColumns, n) && c.section < 0:
			c.section = i
			c.known[i] = true
		case isWord(layerColumns, n) && c.layer < 0:
			c.layer = i
			c.known[i] = true
		case isWord(needColumns, n):
			c.need = i
			c.known[i] = true
		case isWord(optionalWords, n):
			c.maybe = i
			c.known[i] = true
		case isWord(sourceColumns, n):
			weak = append(weak, i)
		}
	}
	c.paths = append(c.paths, weak...)
	return c
}

// inputTable reads a table of inputs. It reports whether the table says
// nothing beyond them, so that it need not stand in the process text.
func (r *reader) inputTable(b markdown.Block, g group) bool {
	cols := columnsOf(b.Header.Cells)
	order := append([]int{}, cols.paths...)
	for i := range b.Header.Cells {
		if !cols.known[i] && !contains(order, i) {
			order = append(order, i)
		}
	}
	pure := true
	for _, row := range b.Rows {
		if !r.inputRow(b.Header.Cells, row, cols, order, g) {
			pure = false
		}
	}
	return pure
}

func contains(s []int, v int) bool {
	for _, x := range s {
		if x == v {
			return true
		}
	}
	return false
}

func cell(row markdown.Row, i int) string {
	if i < 0 || i >= len(row.Cells) {
		return ""
	}
	return row.Cells[i]
}

func (r *reader) inputRow(header []string, row markdown.Row, cols columns, order []int, g group) bool {
	if l, ok := layerCell(cell(row, cols.layer)); ok {
		g.layer, g.set = l, true
	}
	var e entry
	at := -1
	for _, i := range order {
		weak := !contains(cols.paths, i)
		text := cell(row, i)
		if isNone(text) || strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") && !strings.ContainsAny(text, "`[") {
			continue
		}
		if c := r.entry(text, g); len(c.refs) > 0 && (!weak || !c.prose) {
			e, at = c, i
			break
		}
	}
	if at < 0 {
		return strings.Trim(strings.Join(row.Cells, ""), " -—") == ""
	}
	pure := e.pure
	for i, text := range row.Cells {
		if i == at || text == "" || i >= len(header) {
			continue
		}
		switch {
		case i == cols.section:
			r.scope(&e, plain(text))
		case i == cols.layer:
		case i == cols.need:
			e.optional = e.optional || negative(text)
		case i == cols.maybe:
			e.optional = e.optional || !negative(text)
		default:
			if contains(cols.paths, i) && !e.layerSet {
				if l, ok := layerWord(text); ok && len(strings.Fields(plain(text))) <= 2 {
					e.layer, e.layerSet = l, true
				}
			}
			e.note = joinNote(e.note, plain(text))
			pure = false
		}
		if saysOptional(plain(text)) && i != cols.need && i != cols.maybe {
			e.optional = true
		}
	}
	r.addInputs(e, row.Line)
	return pure
}

func joinNote(a, b string) string {
	if a == "" {
		return b
	}
	return a + " — " + b
}

// layerCell reads "4 (working)", "Layer 3", "L4", "Reference".
func layerCell(s string) (Layer, bool) {
	s = plain(s)
	if s == "" {
		return 0, false
	}
	if s[0] >= '0' && s[0] <= '4' && (len(s) == 1 || !isWordByte(s[1])) {
		return layerOf(s[0]), true
	}
	if l, ok, _ := layerLead(s); ok {
		return l, true
	}
	return layerWord(s)
}

// negative: no, ✗, ❌, optional.
func negative(s string) bool {
	s = plain(s)
	if strings.ContainsAny(s, "❌✗✘☐") {
		return true
	}
	return isWord(noneWords, normHeading(s)) || isWord(falseWords, normHeading(s)) || strings.Trim(s, "-–— ") == "" && s != "" || saysOptional(s)
}

var (
	quotedName = pattern(`^["“«]([^"”»]+)["”»]$`)
	nameGlue   = pattern(`\s*(?:\+|&|,|;|\band\b)\s*`)
	sectionEnd = pattern(`(?i)\s+sections?(?:\s+only)?$`)
)

// scope reads the Section/Scope column. Quoted names and those after § or #
// are sections for sure; any other text may be one, which shows only when the
// file is there.
func (r *reader) scope(e *entry, text string) {
	if text == "" || isWord(wholeFile, normHeading(text)) {
		return
	}
	t := sectionEnd().ReplaceAllString(text, "")
	if strings.HasPrefix(t, "§") || strings.HasPrefix(t, "#") {
		e.section = strings.TrimSpace(strings.TrimLeft(t, "§# "))
		return
	}
	sure := true
	for _, name := range splitNames(t) {
		sure = sure && quotedName().MatchString(name)
	}
	if sure {
		e.section = t
		return
	}
	e.scope = text
}

// splitNames divides `"Site Map" + "Features"` outside quotes.
func splitNames(s string) []string {
	var out []string
	quote := false
	at := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			quote = !quote
		}
		if quote {
			continue
		}
		if i > 0 && isWordByte(s[i]) && isWordByte(s[i-1]) {
			continue
		}
		if m := nameGlue().FindStringIndex(s[i:]); m != nil && m[0] == 0 && m[1] > 0 {
			out = append(out, strings.TrimSpace(s[at:i]))
			i += m[1] - 1
			at = i + 1
		}
	}
	return append(out, strings.TrimSpace(s[at:]))
}
