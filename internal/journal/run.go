package journal

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"towpath/internal/durable"
)

// inlineMax is the longest text, in bytes, that stays in its event.
const inlineMax = 1 << 10

// mostBodies bounds what is remembered of texts that were kept, so that a run
// may go on for as long as it likes.
const mostBodies = 2048

// maxLine is the longest line of a journal, in bytes, that is written or read.
const maxLine = 64 << 20

const ignoreFile = "# Only the lock and caches stay out of the repository.\n/lock\n/cache/\n.towpath-tmp-*\n"

// Options are what a Run needs from outside.
type Options struct {
	Clock   func() time.Time // nil is time.Now
	Secrets []string         // configured values that must never be written
	Observe func(Event)      // sees every event, transient ones too; must not call the Run; nil for none
}

// Run writes one run's folder: history/<UTC time>-<stage>[-n]/. Its methods may
// be called from several goroutines. Close it in the end.
type Run struct {
	tree   *durable.Tree
	dir    string // tree path of the workspace
	name   string
	stage  string
	clock  func() time.Time
	redact *redactor
	watch  func(Event)

	mu      sync.Mutex
	file    *os.File
	size    int64 // bytes of whole lines
	seq     int
	broken  error               // set when the file can no longer be trusted
	asked   map[string]lastCall // for each item and purpose, its last request
	bodies  map[[32]byte]Body   // what was made of a text, by the text's SHA-256
	pending map[string]bool     // files beside the journal that were not flushed yet
	flushed bool                // nothing was appended since the last flush
	closed  bool
}

// Create makes the folder of a new run of a stage of the workspace dir (a tree
// path) and opens its journal. Its name sorts behind the names of all runs
// that are there, also when the clock was set back: it then takes the last
// one's time and the next number. Nothing but one process may write to the
// workspace meanwhile: hold its lock.
func Create(t *durable.Tree, dir, stage string, opt Options) (*Run, error) {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.Observe == nil {
		opt.Observe = func(Event) {}
	}
	r := &Run{
		tree: t, dir: dir, stage: stage, clock: opt.Clock, watch: opt.Observe,
		redact: newRedactor(opt.Secrets),
		asked:  map[string]lastCall{}, bodies: map[[32]byte]Body{}, pending: map[string]bool{}, flushed: true,
	}
	if err := r.make(); err != nil {
		return nil, fmt.Errorf("starting a run of %s: %w", stage, err)
	}
	return r, nil
}

func (r *Run) make() error {
	at, n, err := Open(r.tree, r.dir).next(r.clock())
	if err != nil {
		return err
	}
	for ; ; n++ {
		r.name = makeName(at, safeName(r.stage), n)
		err := r.tree.NewDir(runDir(r.dir, r.name))
		if err == nil {
			break
		}
		if !errors.Is(err, durable.ErrInTheWay) {
			return err
		}
	}
	ignore := path.Join(r.dir, historyDir, ".gitignore")
	if _, err := r.tree.Stat(ignore); errors.Is(err, fs.ErrNotExist) {
		if err := r.tree.WriteLater(ignore, []byte(ignoreFile)); err != nil {
			return err
		}
	}
	r.file, err = r.tree.Append(path.Join(runDir(r.dir, r.name), journalFile))
	if err != nil {
		return err
	}
	return nil
}

// Name is the run folder's name, which is also the run's id.
func (r *Run) Name() string { return r.name }

// Dir is the tree path of the run's folder.
func (r *Run) Dir() string { return runDir(r.dir, r.name) }

// Append writes an event: it fills V, Run, Seq, Time and, where it is empty,
// Stage, and takes secrets out. A call with effects, an output, a decision and
// an exit are on the disk when it returns, the call with all that was said
// before it. After an error the journal is as it was before.
func (r *Run) Append(e Event) error { return r.AppendWith(e) }

// AppendWith is Append that puts also these files and folders (tree paths) on
// the disk, in the same go, where the event has to be there: what it tells of.
func (r *Run) AppendWith(e Event, also ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return fmt.Errorf("writing to the journal of %s: it is closed", r.name)
	case r.broken != nil:
		return r.broken
	}
	e.V, e.Run, e.Seq, e.Time = Version, r.name, r.seq+1, r.clock().UTC()
	if e.Stage == "" {
		e.Stage = r.stage
	}
	e, shared := r.shorten(e)
	e, err := r.redact.event(e)
	if err == nil {
		err = r.write(e)
	}
	if err != nil {
		return fmt.Errorf("writing to the journal of %s: %w", r.name, err)
	}
	r.seq = e.Seq
	e = r.remember(e, shared)
	if mustSync(e) {
		if err := r.flush(e.Type == ToolCall, also...); err != nil {
			return fmt.Errorf("writing to the journal of %s: %w", r.name, err)
		}
	}
	r.watch(e)
	return nil
}

// mustSync reports whether an event has to be on the disk before anything else
// happens.
func mustSync(e Event) bool {
	switch e.Type {
	case ToolCall:
		return e.Call == nil || !e.Call.ReadOnly
	case OutputWritten, Decision, Exit:
		return true
	}
	return false
}

// write appends one line in one go. A line that could only be written in part
// is cut off again, so that what follows it can be read.
func (r *Run) write(e Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if len(line) >= maxLine {
		return fmt.Errorf("an event of type %s has %d MiB; %d MiB is the most", e.Type, len(line)>>20, maxLine>>20)
	}
	r.flushed = false
	n, err := r.file.Write(append(line, '\n'))
	if err == nil {
		r.size += int64(n)
		return nil
	}
	err = durable.Explain("write", path.Join(r.Dir(), journalFile), err)
	if n > 0 {
		if terr := r.file.Truncate(r.size); terr != nil {
			r.broken = err
		}
	}
	return err
}

// flush puts the journal on the disk, and with everything set, before a call
// with effects, the texts that it refers to: what was said so far must be known
// after a power cut, or the call would be made again. Elsewhere those texts are
// left to the system, which writes them within seconds; one that a power cut
// takes is noticed by its hash. A new file's name goes to the disk with it on
// the file systems in use, so folders are not flushed apart. After a failed flush nobody knows what is there,
// so the journal takes nothing more.
func (r *Run) flush(everything bool, also ...string) error {
	if r.flushed && !everything {
		return nil
	}
	files := append(also, path.Join(r.Dir(), journalFile))
	if everything {
		files = append(files, slices.Collect(maps.Keys(r.pending))...)
	}
	if err := r.tree.Sync(files...); err != nil {
		r.broken = err
		return err
	}
	if everything {
		clear(r.pending)
	}
	r.flushed = true
	return nil
}

// Transient shows an event to the observer and writes nothing.
func (r *Run) Transient(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.V, e.Run, e.Seq, e.Time = Version, r.name, 0, r.clock().UTC()
	if e.Stage == "" {
		e.Stage = r.stage
	}
	e.Note = r.redact.text(e.Note)
	r.watch(e)
}

// Body takes secrets out of a text and keeps it: in the Body itself up to
// 1 KiB, else once by its hash in history/blobs. A text that comes again and
// again, as a conversation's beginning does, costs no more than its hash.
func (r *Run) Body(text string) (Body, error) {
	sum := sha256.Sum256([]byte(text))
	r.mu.Lock()
	b, ok := r.bodies[sum]
	r.mu.Unlock()
	if ok {
		return b, nil
	}
	text = r.redact.text(text)
	b = Body{Text: text, Size: len(text)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(text) > inlineMax {
		b = Body{Blob: durable.Hash([]byte(text)), Size: len(text)}
		if err := r.store(blobPath(r.dir, b.Blob), b.Blob, []byte(text)); err != nil {
			return Body{}, fmt.Errorf("keeping a text of %s: %w", r.name, err)
		}
	}
	if len(r.bodies) >= mostBodies {
		clear(r.bodies) // they are made again when they are needed
	}
	r.bodies[sum] = b
	return b, nil
}

// store puts a blob in its place. One that is there is looked at, since a crash
// may have left a part of it.
func (r *Run) store(name, hash string, data []byte) error {
	err := r.tree.Create(name, data)
	if errors.Is(err, durable.ErrInTheWay) {
		if old, rerr := r.tree.ReadFile(name); rerr == nil && durable.Hash(old) == hash {
			return nil
		}
		if err = r.tree.Remove(name); err == nil { // a link there goes, not what it leads to
			err = r.tree.Create(name, data)
		}
	}
	if err == nil {
		r.pending[name] = true
	}
	return err
}

// Scrub takes the configured secrets, and nothing else, out of a text: what an
// output file goes through before it is written.
func (r *Run) Scrub(text string) string { return r.redact.configured(text) }

// Keep stores an output as the model wrote it (without configured secrets)
// below the run's folder and gives its path relative to the workspace. name is
// a slash path; a name that was kept before gets a number.
func (r *Run) Keep(name string, data []byte) (string, error) {
	if !fs.ValidPath(name) || name == "." {
		return "", fmt.Errorf("keeping an output of %s: %q is not a file's path", r.name, name)
	}
	data = []byte(r.redact.configured(string(data)))
	r.mu.Lock()
	defer r.mu.Unlock()
	base := path.Join(historyDir, r.name, outputsDir)
	kept := path.Join(base, name)
	ext := path.Ext(name)
	for n := 2; ; n++ {
		full := path.Join(r.dir, kept)
		err := r.tree.Create(full, data)
		if err == nil {
			r.pending[full] = true
			return kept, nil
		}
		if !errors.Is(err, durable.ErrInTheWay) {
			return "", fmt.Errorf("keeping an output of %s: %w", r.name, err)
		}
		kept = path.Join(base, fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext))
	}
}

// Close flushes the journal, writes transcript.md beside it and lets the file
// go. A second Close does nothing.
func (r *Run) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	err := r.broken
	if err == nil {
		err = r.flush(false)
	}
	if cerr := r.file.Close(); err == nil && cerr != nil {
		err = durable.Explain("write", path.Join(r.Dir(), journalFile), cerr)
	}
	if err == nil {
		err = writeTranscript(Open(r.tree, r.dir), r.name)
	}
	if err != nil {
		return fmt.Errorf("closing the journal of %s: %w", r.name, err)
	}
	return nil
}

// lastCall is a request that a later one may begin like.
type lastCall struct {
	seq      int
	messages []Body
}

func callKey(e Event) string { return fmt.Sprintf("%d %s", e.Item, e.Request.Purpose) }

// shorten leaves out the messages with which the item's last request began
// already, and gives them apart: a conversation's size on disk, and the work of
// writing it, grow with its length and not with the square of it.
func (r *Run) shorten(e Event) (short Event, shared []Body) {
	if e.Request == nil {
		return e, nil
	}
	last, ok := r.asked[callKey(e)]
	if !ok {
		return e, nil
	}
	n := 0
	for n < len(last.messages) && n < len(e.Request.Messages) && last.messages[n] == e.Request.Messages[n] {
		n++
	}
	if n < 2 {
		return e, nil
	}
	q := *e.Request
	q.Base, q.Shared, q.Messages = last.seq, n, q.Messages[n:]
	e.Request = &q
	return e, last.messages[:n]
}

// remember keeps a request for the next one and gives the event whole again.
func (r *Run) remember(e Event, shared []Body) Event {
	if e.Request == nil {
		return e
	}
	q := *e.Request
	q.Base, q.Shared, q.Messages = 0, 0, slices.Concat(shared, q.Messages)
	e.Request = &q
	r.asked[callKey(e)] = lastCall{seq: e.Seq, messages: q.Messages}
	return e
}
