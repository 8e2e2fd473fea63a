package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"towpath/internal/durable"
)

// History reads the journals of one workspace. It needs no lock, keeps nothing
// in memory between calls, and may be used from several goroutines.
type History struct {
	tree *durable.Tree
	dir  string
}

// Open gives the history of the workspace dir (a tree path). It need not exist.
func Open(t *durable.Tree, dir string) *History { return &History{tree: t, dir: dir} }

// RunInfo is what a run's name tells.
type RunInfo struct {
	Name  string
	Stage string    // the stage folder's name (of all stages: as it stands in the run's name)
	Time  time.Time // the second of its name, UTC
}

// LineError is a line of a journal that cannot be read.
type LineError struct {
	File string // tree path
	Line int    // from 1
	Why  string
	Mend string
}

// Error names file, line, cause and mend.
func (e *LineError) Error() string {
	return fmt.Sprintf("%s:%d: %s; %s", e.File, e.Line, e.Why, e.Mend)
}

// Runs lists the runs of a stage, of all stages for "", the newest last.
func (h *History) Runs(stage string) ([]RunInfo, error) {
	names, err := h.names()
	if err != nil {
		return nil, err
	}
	var runs []RunInfo
	for _, n := range names {
		if stage != "" {
			if n.stage != safeName(stage) {
				continue
			}
			n.stage = stage
		}
		at, _ := time.Parse(timeForm, n.at) // parseName has checked it
		runs = append(runs, RunInfo{Name: n.name, Stage: n.stage, Time: at})
	}
	return runs, nil
}

// names lists the run folders in order.
func (h *History) names() ([]runName, error) {
	all, err := h.folders()
	if err != nil {
		return nil, err
	}
	for i, n := range all {
		all[i] = h.settled(n)
	}
	slices.SortFunc(all, runName.compare)
	return all, nil
}

// next gives second and number for the name of a run that begins now, behind
// all that are there. A number may be left out where a stage's own name ends in
// one; that does no harm, and no journal has to be looked into.
func (h *History) next(now time.Time) (at string, n int, err error) {
	all, err := h.folders()
	if err != nil {
		return "", 0, err
	}
	at = now.UTC().Format(timeForm)
	for _, r := range all {
		at = max(at, r.at)
	}
	for _, r := range all {
		if r.at == at {
			n = max(n, r.n)
		}
	}
	return at, n + 1, nil
}

// folders lists the run folders in no order, with what their names alone say.
func (h *History) folders() ([]runName, error) {
	d, err := h.tree.Open(path.Join(h.dir, historyDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("listing the history: %w", err)
	}
	var all []runName
	for _, name := range list {
		if n, ok := parseName(name); ok {
			all = append(all, n)
		}
	}
	return all, nil
}

// settled looks into a run whose name has two meanings.
func (h *History) settled(n runName) runName {
	if n.n == 1 {
		return n
	}
	return n.settle(h.firstStage(n.name))
}

// firstStage reads the stage from a run's first event, "" if there is none.
func (h *History) firstStage(run string) string {
	f, err := h.tree.Open(h.file(run))
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _, err := readLine(bufio.NewReaderSize(f, 4096))
	if err != nil {
		return ""
	}
	var e struct {
		Stage string `json:"stage"`
	}
	if json.Unmarshal(line, &e) != nil {
		return ""
	}
	return e.Stage
}

func (h *History) file(run string) string { return path.Join(runDir(h.dir, run), journalFile) }

// Events reads a run's events in order. A last line that was cut off by a crash
// is left out; any other line that cannot be read is a *LineError. A run whose
// journal was never begun has no events.
func (h *History) Events(run string) ([]Event, error) {
	var all []Event
	err := h.Each(run, func(e Event) error {
		all = append(all, e)
		return nil
	})
	return all, err
}

// Each is Events for one event at a time. It stops at the function's first
// error and gives it back.
func (h *History) Each(run string, do func(Event) error) error {
	if _, ok := parseName(run); !ok {
		return fmt.Errorf("reading the run %q: that is not a run's name", run)
	}
	f, err := h.tree.Open(h.file(run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the journal of %s: %w", run, err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("reading the journal of %s: %s is not a regular file", run, h.file(run))
	}
	return readEvents(f, h.file(run), do)
}

// readEvents reads a journal's lines. file names it in errors.
func readEvents(r io.Reader, file string, do func(Event) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	x := expander{calls: map[int][]Body{}, extended: map[int]bool{}}
	for n := 1; ; n++ {
		line, whole, err := readLine(in)
		if err == io.EOF {
			return nil
		}
		if errors.Is(err, errLongLine) {
			return &LineError{File: file, Line: n, Why: err.Error(), Mend: mendLine}
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		e, err := parseEvent(line, n)
		if err == nil {
			err = x.expand(&e)
		}
		if err != nil {
			if !whole && !isMarker(line) {
				return nil // the crash came while this line was written
			}
			return &LineError{File: file, Line: n, Why: err.Error(), Mend: mendLine}
		}
		if err := do(e); err != nil {
			return err
		}
	}
}

const mendLine = "take the file as it was from version control, or move the run's folder out of history"

var errLongLine = fmt.Errorf("the line is longer than %d MiB", maxLine>>20)

// readLine gives the next line without its end. whole is false for a last line
// that has none, or that holds only the zero bytes a stopped machine may leave.
func readLine(in *bufio.Reader) (line []byte, whole bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, false, errLongLine
		}
		line = append(line, part...)
		switch err {
		case nil:
			return bytes.TrimSuffix(line, []byte("\n")), true, nil
		case bufio.ErrBufferFull:
			continue
		case io.EOF:
			if len(line) == 0 {
				return nil, false, io.EOF
			}
			return line, false, nil
		default:
			return nil, false, err
		}
	}
}

// isMarker recognises what version control leaves in a file that it could not
// merge.
func isMarker(line []byte) bool {
	for _, m := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
		if bytes.HasPrefix(line, []byte(m)) {
			return true
		}
	}
	return false
}

func parseEvent(line []byte, n int) (Event, error) {
	var e Event
	if isMarker(line) {
		return e, errors.New("there is a merge conflict in the file")
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("this is not an event (%v)", err)
	}
	switch {
	case e.V > Version:
		return e, fmt.Errorf("a newer towpath wrote this (version %d, this one reads %d)", e.V, Version)
	case e.V < 1 || e.Type == "":
		return e, errors.New("this is not an event")
	case e.Seq != n:
		return e, fmt.Errorf("event %d stands where event %d should be", e.Seq, n)
	}
	return e, nil
}

// expander gives requests the messages that they share with an earlier one.
// A conversation that grows at its end, as conversations do, grows in place.
type expander struct {
	calls    map[int][]Body
	extended map[int]bool // its messages are already the beginning of another's
	copied   int
}

// maxCopied bounds the messages that are copied while one journal is read: a
// small file must not become large in memory.
const maxCopied = 1 << 20

func (x *expander) expand(e *Event) error {
	r := e.Request
	if r == nil {
		return nil
	}
	if r.Base != 0 || r.Shared != 0 {
		base, ok := x.calls[r.Base]
		if !ok || r.Shared < 0 || r.Shared > len(base) {
			return fmt.Errorf("the request begins like event %d, which does not have %d messages", r.Base, r.Shared)
		}
		if r.Shared < len(base) || x.extended[r.Base] {
			base = base[:r.Shared:r.Shared]
			if x.copied += r.Shared; x.copied > maxCopied {
				return errors.New("the requests repeat too much of each other")
			}
		}
		x.extended[r.Base] = true
		r.Messages = append(base, r.Messages...)
		r.Base, r.Shared = 0, 0
	}
	x.calls[e.Seq] = r.Messages
	return nil
}

// Text gives the text of a body. A blob that is missing or whose bytes are not
// those of its hash is an error.
func (h *History) Text(b Body) (string, error) {
	if b.Blob == "" {
		return b.Text, nil
	}
	if !isHash(b.Blob) {
		return "", fmt.Errorf("reading a text of the journal: %q is not a hash", b.Blob)
	}
	name := blobPath(h.dir, b.Blob)
	data, err := h.tree.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("reading a text of the journal: %w", err)
	}
	if durable.Hash(data) != b.Blob {
		return "", fmt.Errorf("reading a text of the journal: %s is damaged; take it from version control", name)
	}
	return string(data), nil
}

func isHash(s string) bool {
	if len(s) != 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
