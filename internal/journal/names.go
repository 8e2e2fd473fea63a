package journal

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The parts of history/.
const (
	historyDir  = "history"
	blobsDir    = "blobs"
	journalFile = "journal.jsonl"
	transcript  = "transcript.md"
	outputsDir  = "outputs"
)

const timeForm = "20060102T150405Z"

// runName is a run folder's name, taken apart. A stage's own name may end in
// -2, so stage and n are a guess until the run's first event was read, if n is
// not 1.
type runName struct {
	name  string
	at    string // UTC second, sorts as text
	stage string
	n     int // the n-th run of that second, from 1
}

func parseName(name string) (runName, bool) {
	if len(name) < len(timeForm)+2 || name[len(timeForm)] != '-' {
		return runName{}, false
	}
	at, stage := name[:len(timeForm)], name[len(timeForm)+1:]
	if _, err := time.Parse(timeForm, at); err != nil {
		return runName{}, false
	}
	n := 1
	if i := strings.LastIndexByte(stage, '-'); i > 0 {
		if k, ok := runNumber(stage[i+1:]); ok {
			stage, n = stage[:i], k
		}
	}
	return runName{name: name, at: at, stage: stage, n: n}, true
}

// runNumber reads the number that a run's name ends in, of at most six digits.
// The first run of a second has none: 1 is part of the stage's own name.
func runNumber(s string) (int, bool) {
	if len(s) > 6 || s == "" || s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n > 1
}

// settle decides what the name's end means, given the stage's true name.
func (r runName) settle(stage string) runName {
	if stage != "" && r.name == r.at+"-"+safeName(stage) {
		r.stage, r.n = safeName(stage), 1
	}
	return r
}

func (r runName) compare(o runName) int {
	return cmp.Or(cmp.Compare(r.at, o.at), cmp.Compare(r.n, o.n), cmp.Compare(r.name, o.name))
}

func makeName(at, stage string, n int) string {
	if n == 1 {
		return at + "-" + stage
	}
	return fmt.Sprintf("%s-%s-%d", at, stage, n)
}

// safeName makes a stage's name usable in a folder's name on every system.
func safeName(stage string) string {
	const most = 180 // bytes, so that time and number fit beside it
	s := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '-'
		}
		return r
	}, strings.ToValidUTF8(stage, "-"))
	for len(s) > most {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	if s = strings.TrimRight(s, ". "); s == "" {
		return "run"
	}
	return s
}

func runDir(dir, run string) string { return path.Join(dir, historyDir, run) }

func blobPath(dir, hash string) string { return path.Join(dir, historyDir, blobsDir, hash) }
