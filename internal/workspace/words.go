package workspace

import (
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"towpath/internal/markdown"
)

// The canonical names of the sections that a contract can have.
const (
	KindInputs    = "inputs"
	KindTools     = "tools"
	KindForEach   = "for each"
	KindProcess   = "process"
	KindRun       = "run"
	KindOutputs   = "outputs"
	KindVerify    = "verify"
	KindStop      = "stop"
	KindHandOff   = "hand off"
	KindOnFail    = "on fail"
	KindOnSuccess = "on success"
	KindGate      = "gate"
	KindWorktree  = "worktree"
	KindMemory    = "memory"
	KindTrigger   = "trigger"
)

// sectionWords is the one table of headings: English, Ukrainian, Belarusian,
// Russian, French, Spanish, Portuguese, Italian, German. Words are separated by
// bars and stand as normHeading leaves them.
var sectionWords = []struct{ kind, words string }{
	{KindInputs, "inputs|input|input files|required inputs|inputs required|files to read|reads|read|what to read|what to load|load|" +
		"вхідні дані|вхідні|вхід|входи|вхідні файли|на вході|уваходныя даныя|уваходныя дадзеныя|уваходныя|уваход|уваходы|уваходныя файлы|" +
		"входные данные|входные|вход|входы|входные файлы|на входе|entrées|entrée|données d'entrée|données entrantes|fichiers d'entrée|" +
		"entradas|entrada|datos de entrada|archivos de entrada|insumos|dados de entrada|arquivos de entrada|ficheiros de entrada|" +
		"ingressi|ingresso|dati di ingresso|dati in ingresso|dati di input|file di input|eingaben|eingabe|eingabedaten|eingangsdaten|eingabedateien"},
	{KindTools, "tools|tool|available tools|allowed tools|tools allowed|інструменти|інструменты|прылады|инструменты|outils|herramientas|ferramentas|strumenti|werkzeuge"},
	{KindForEach, "for each|foreach|for every|for each item|для кожного|для кожної|для кожного елемента|для кожнага|для кожнай|для кожнага элемента|" +
		"для каждого|для каждой|для каждого элемента|pour chaque|pour chacun|pour chaque élément|para cada|para cada uno|para cada elemento|para cada item|" +
		"per ogni|per ciascuno|per ogni elemento|für jeden|für jede|für jedes|für jedes element"},
	{KindProcess, "process|steps|process steps|instructions|procedure|workflow|transform|task|tasks|what to do|execution|" +
		"процес|кроки|хід роботи|інструкції|що робити|працэс|крокі|інструкцыі|што рабіць|процесс|шаги|ход работы|инструкции|что делать|" +
		"processus|étapes|procédure|démarche|proceso|pasos|procedimiento|instrucciones|processo|passos|etapas|procedimento|instruções|" +
		"passi|passaggi|procedura|istruzioni|prozess|schritte|ablauf|vorgehen|anweisungen|verarbeitung"},
	{KindRun, "run|command|запуск|команда|каманда|exécution|commande|ejecución|comando|execução|esecuzione|ausführung|befehl"},
	{KindOutputs, "outputs|output|output files|expected outputs|expected output|required outputs|required output|deliverables|deliverable|writes|write|produces|artifacts|produced files|" +
		"вихідні дані|вихідні|вихід|виходи|результати|результат|вихідні файли|на виході|выхадныя даныя|выхадныя дадзеныя|выхад|выхады|вынікі|вынік|" +
		"выходные данные|выход|выходы|результаты|выходные файлы|на выходе|sorties|sortie|données de sortie|résultats|livrables|" +
		"salidas|salida|datos de salida|resultados|entregables|saídas|saída|dados de saída|entregáveis|" +
		"uscite|uscita|risultati|dati di uscita|dati in uscita|ausgaben|ausgabe|ausgabedaten|ergebnisse|ergebnis"},
	{KindVerify, "verify|verification|audit|success|success criteria|acceptance criteria|checks|check|quality checks|validation|definition of done|done when|" +
		"перевірка|перевірки|аудит|критерії успіху|критерії приймання|успіх|праверка|праверкі|аўдыт|крытэрыі поспеху|поспех|" +
		"проверка|проверки|критерии успеха|критерии приемки|успех|vérification|vérifications|contrôle|contrôles|critères de réussite|critères d'acceptation|" +
		"verificación|verificaciones|comprobaciones|auditoría|criterios de éxito|criterios de aceptación|verificação|verificações|auditoria|critérios de sucesso|critérios de aceitação|" +
		"verifica|verifiche|controlli|criteri di successo|criteri di accettazione|prüfung|prüfungen|überprüfung|verifizierung|erfolgskriterien|abnahmekriterien"},
	{KindStop, "stop|stop rules|stop rule|limits|зупинка|стоп|обмеження|спыненне|абмежаванні|остановка|ограничения|arrêt|limites|parada|detener|límites|parar|arresto|limiti|stopp|grenzen"},
	{KindHandOff, "hand off|handoff|hand offs|handoffs|human decisions|передача людині|передача|рішення людини|перадача чалавеку|перадача|рашэнні чалавека|" +
		"передача человеку|решения человека|passage de relais|remise à l'humain|décisions humaines|traspaso|traspaso a una persona|passagem|transferência|" +
		"passaggio di consegne|consegna|übergabe"},
	{KindOnFail, "on fail|on failure|if it fails|при невдачі|у разі невдачі|пры няўдачы|при неудаче|при сбое|en cas d'échec|si falla|en caso de fallo|" +
		"se falhar|em caso de falha|in caso di fallimento|se fallisce|bei fehlschlag|bei fehler|bei misserfolg"},
	{KindOnSuccess, "on success|при успіху|у разі успіху|пры поспеху|при успехе|en cas de succès|en cas de réussite|en caso de éxito|em caso de sucesso|in caso di successo|bei erfolg"},
	{KindGate, "gate|review gate|human gate|approval gate|ворота|шлюз|вароты|porte|jalon|puerta|compuerta|portão|cancello|varco|tor|freigabe"},
	{KindWorktree, "worktree|work tree|робоче дерево|рабочае дрэва|рабочее дерево|arbre de travail|árbol de trabajo|árvore de trabalho|albero di lavoro|arbeitsbaum"},
	{KindMemory, "memory|пам'ять|памяць|память|mémoire|memoria|memória|gedächtnis"},
	{KindTrigger, "trigger|triggers|тригер|трыгер|триггер|déclencheur|disparador|gatilho|innesco|auslöser"},
}

// layerWords and inWords are alternatives of patterns.
const (
	layerWords = "layer|lvl|шар|рівень|слой|уровень|пласт|узровень|couche|niveau|capa|nivel|camada|nível|livello|strato|schicht|ebene"
	inWords    = "in|from|of|у|в|ў|з|із|из|dans|de|en|em|di|aus"
)

// Words that stand in entries rather than in headings, in the same languages.
var (
	noneWords = words("none|no|nothing|n/a|na|nil|no tools|no inputs|none required|none needed|not required|not needed|жодних|жодного|жодні|жоден|немає|нема|ніяких|нічого|няма|ніякіх|нічога|" +
		"нет|никаких|ничего|нету|aucun|aucune|aucuns|aucunes|rien|néant|ninguna|ninguno|ningún|nada|nenhum|nenhuma|nessuno|nessuna|niente|nulla|keine|keiner|keines|kein|nichts")
	allWords  = words("all|*|усі|всі|все|ўсе|усе|tous|toutes|todos|todas|tutti|tutte|alle")
	workWords = words("working|work|робочий|робоче|робочі|робоча|рабочий|рабочее|рабочие|рабочая|рабочы|рабочае|рабочыя|travail|de travail|" +
		"trabajo|de trabajo|trabalho|de trabalho|lavoro|di lavoro|arbeit|arbeitsmaterial")
	refWords = words("reference|references|ref|config|довідковий|довідкові|довідка|довідник|справочный|справочные|справка|даведка|даведачны|даведачныя|" +
		"référence|références|referencia|referencias|referência|referências|riferimento|riferimenti|referenz|referenzen")
	optionalWords = words("optional|необов'язково|необов'язковий|за наявності|неабавязкова|неабавязковы|необязательно|необязательный|при наличии|" +
		"facultatif|facultative|optionnel|optionnelle|opcional|opzionale|facoltativo|fakultativ")
	optionalPhrases = words("if present|if exists|if it exists|if they exist|if available|if any|if applicable|if provided|if there is|if there are|any files|when present|when available|may be absent|may not exist|" +
		"якщо є|если есть|калі ёсць|s'il existe|si existe|se existir|se esiste|se presente|falls vorhanden")
	notWords = words("do not|don't|never|not|avoid|ignore|skip|exclude|не|ne|nicht|não|non|no")
)

// wordList is a set of words, folded when it is first asked.
type wordList struct {
	set    func() map[string]bool
	folded func() []string // in the order of the table
}

func words(bars string) wordList {
	folded := sync.OnceValue(func() []string {
		list := strings.Split(bars, "|")
		for i, w := range list {
			list[i] = fold(w)
		}
		return list
	})
	return wordList{folded: folded, set: sync.OnceValue(func() map[string]bool {
		m := make(map[string]bool)
		for _, w := range folded() {
			m[w] = true
		}
		return m
	})}
}

func isWord(l wordList, s string) bool { return l.set()[fold(s)] }

type vocabulary struct{ kinds map[string]string }

var builtinKinds = sync.OnceValue(func() map[string]string {
	m := make(map[string]string, 400)
	for _, row := range sectionWords {
		for _, w := range strings.Split(row.words, "|") {
			m[fold(w)] = row.kind
		}
	}
	return m
})

func newVocabulary(extra map[string][]string) vocabulary {
	base := builtinKinds()
	if len(extra) == 0 {
		return vocabulary{base}
	}
	m := make(map[string]string, len(base)+len(extra))
	for k, v := range base {
		m[k] = v
	}
	for kind, words := range extra {
		canonical := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(kind)), "_", " ")
		if k, ok := base[fold(canonical)]; ok {
			canonical = k
		}
		for _, w := range words {
			m[normHeading(w)] = canonical
		}
	}
	return vocabulary{m}
}

// kind gives the canonical name of a heading, "" where it is not known.
func (v vocabulary) kind(heading string) string {
	n := normHeading(heading)
	if k, ok := v.kinds[n]; ok {
		return k
	}
	// "Inputs: what you read", "Verify — before saving"
	plain := markdown.Plain(heading)
	for _, sep := range []string{":", " — ", " – ", " - ", " / "} {
		if before, _, ok := strings.Cut(plain, sep); ok {
			if k, ok := v.kinds[normHeading(before)]; ok {
				return k
			}
		}
	}
	return ""
}

// fold makes words comparable: NFC, lower case, one kind of apostrophe, dashes
// and underscores as spaces, single spaces.
func fold(s string) string {
	s = strings.ToLower(norm.NFC.String(s))
	s = foldSigns.Replace(s)
	return strings.Join(strings.Fields(s), " ")
}

var foldSigns = strings.NewReplacer("’", "'", "ʼ", "'", "`", "'", "ё", "е", "_", " ", "-", " ", "\u00a0", " ", " / ", "/")

// normHeading leaves of a heading only its words: no marks, numbering, emoji,
// punctuation at the ends, trailing parenthesis, or case.
func normHeading(s string) string {
	s = markdown.Plain(s)
	s = strings.TrimFunc(s, edge)
	s = trimNumbering(s)
	for {
		t := strings.TrimFunc(s, edge)
		if i := openParen(s); i > 0 {
			t = strings.TrimFunc(s[:i], edge)
		}
		if t == s {
			break
		}
		s = t
	}
	return fold(s)
}

// edge is what may stand around the words of a heading.
func edge(r rune) bool {
	if r == '(' || r == '[' || r == ')' || r == ']' || r == '<' || r == '>' {
		return false
	}
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}

// openParen finds the parenthesis that ends the text, and gives where it opens.
func openParen(s string) int {
	s = strings.TrimRightFunc(s, edge)
	pair := map[byte]byte{')': '(', ']': '['}
	if s == "" || pair[s[len(s)-1]] == 0 {
		return -1
	}
	return strings.LastIndexByte(s, pair[s[len(s)-1]])
}

// trimNumbering drops "2.", "2)", "2.1 ", "Step 3:", "II.", "A)" and "#4 ".
func trimNumbering(s string) string {
	t := s
	for _, w := range []string{"step ", "section ", "part ", "крок ", "шаг ", "étape ", "paso ", "passo ", "schritt "} {
		if len(t) > len(w) && strings.EqualFold(t[:len(w)], w) && t[len(w)] >= '0' && t[len(w)] <= '9' {
			t = t[len(w):]
			break
		}
	}
	i := 0
	for i < len(t) && (t[i] >= '0' && t[i] <= '9' || t[i] == '.' && i > 0) {
		i++
	}
	if i == 0 && len(t) > 2 && (t[1] == '.' || t[1] == ')') && t[2] == ' ' {
		i = 1
	}
	if i == 0 {
		for i < len(t) && strings.IndexByte("IVX", t[i]) >= 0 {
			i++
		}
		if i == len(t) || i > 0 && t[i] != '.' && t[i] != ')' {
			i = 0
		}
	}
	if i == 0 {
		return s
	}
	rest := strings.TrimLeftFunc(t[i:], func(r rune) bool { return r == ')' || edge(r) })
	if rest == "" || rest == t[i:] && i < len(t) {
		return s
	}
	return rest
}
