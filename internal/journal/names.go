package journal

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
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

var nameForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{8}T\d{6}Z)-(.+?)(?:-([1-9]\d{0,5}))?$`)
})

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
	m := nameForm().FindStringSubmatch(name)
	if m == nil {
		return runName{}, false
	}
	if _, err := time.Parse(timeForm, m[1]); err != nil {
		return runName{}, false
	}
	n, stage := 1, m[2]
	if m[3] == "1" {
		stage += "-1" // the first run of a second has no number
	} else if m[3] != "" {
		n, _ = strconv.Atoi(m[3]) // at most six digits
	}
	return runName{name: name, at: m[1], stage: stage, n: n}, true
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
