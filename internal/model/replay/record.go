// Package replay answers calls from a recording, for tests and demonstrations,
// and makes recordings.
//
// A recording is a JSONL file: a head with the seed of everything random in the
// prompts, then one line per question with its answer.
package replay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"towpath/internal/model"
)

const version = 1

// head is the first line of a recording.
type head struct {
	V     int    `json:"towpath_recording"`
	Seed  string `json:"seed"`
	Model string `json:"model,omitempty"` // provider/model
}

// entry is every other line.
type entry struct {
	Call    string       `json:"call,omitempty"` // model.Fingerprint
	Request question     `json:"request,omitzero"`
	Reply   *model.Reply `json:"reply,omitempty"`
	Error   *failure     `json:"error,omitempty"`
	Info    *model.Info  `json:"info,omitempty"` // alone: what is known of the model from here on
	line    int          // in the file
}

// question is the part of a request that is compared.
type question struct {
	Messages   []model.Message  `json:"messages"`
	Tools      []model.ToolDef  `json:"tools,omitempty"`
	ToolChoice model.ToolChoice `json:"tool_choice,omitempty"`
	Schema     json.RawMessage  `json:"schema,omitempty"`
}

// failure is an error that belongs to the request and would come again.
type failure struct {
	Kind    model.Kind `json:"kind"`
	Message string     `json:"message"`
	Mend    string     `json:"mend,omitempty"`
	Prompt  int        `json:"prompt,omitempty"`
	Window  int        `json:"window,omitempty"`
	Raw     string     `json:"raw,omitempty"`
}

// Recorder writes what models were asked and what they answered to a file. It
// is safe for several goroutines.
type Recorder struct {
	mu   sync.Mutex
	file *os.File
	head head
	info string // the last that was written, as JSON
	err  error  // the first failure to write; the recording is not whole after it
}

// Record opens a recording at path and makes it if it is not there. A recording
// that is there is added to, so that the stages of a workspace make one
// recording; it keeps its seed. id names the model where one is set.
func Record(path, seed, id string) (*Recorder, error) {
	was, _, err := load(path)
	switch {
	case err == nil:
		if err := dropTorn(path); err != nil {
			return nil, fmt.Errorf("opening the recording %s: %w", path, err)
		}
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, errEmpty):
		was = head{}
	default:
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the recording: %w", err)
	}
	r := &Recorder{file: f, head: was}
	if was.V == 0 {
		r.head = head{V: version, Seed: seed, Model: id}
		if err := r.write(r.head); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return r, nil
}

// dropTorn cuts off a last line that was not written whole.
func dropTorn(path string) error {
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 || data[len(data)-1] == '\n' {
		return err
	}
	return os.Truncate(path, int64(bytes.LastIndexByte(data, '\n')+1))
}

// Seed is what everything random in the prompts of this recording is made from.
func (r *Recorder) Seed() string { return r.head.Seed }

// Knows notes what is known of the model that is recorded, settings included:
// what it is asked depends on it (window, forced tools), so a replay has to know
// the same.
func (r *Recorder) Knows(info model.Info) error {
	data, err := json.Marshal(info)
	if err != nil {
		return fmt.Errorf("recording what is known of %s: %w", info.ID, err)
	}
	r.mu.Lock()
	was := r.info
	r.info = string(data)
	r.mu.Unlock()
	if was == string(data) {
		return nil
	}
	return r.write(entry{Info: &info})
}

// Wrap records the calls of m. It belongs outside of retries: what is recorded
// is the final answer. Of errors only those are recorded that belong to the
// request and would come again.
func (r *Recorder) Wrap(m model.Model) model.Model { return &recorded{m, r} }

// Close ends the recording. Its error is the first one that kept something from
// being recorded.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.err, r.file.Sync(), r.file.Close())
}

// write adds a line in one go.
func (r *Recorder) write(v any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	data, err := json.Marshal(v)
	if err == nil {
		_, err = r.file.Write(append(data, '\n'))
	}
	if err != nil {
		r.err = fmt.Errorf("writing the recording %s: %w", r.file.Name(), err)
	}
	return r.err
}

type recorded struct {
	m model.Model
	r *Recorder
}

func (w *recorded) Describe(ctx context.Context) (model.Info, error) {
	d, ok := w.m.(model.Describer)
	if !ok {
		return model.Info{}, nil
	}
	info, err := d.Describe(ctx)
	if err == nil {
		err = w.r.Knows(info)
	}
	return info, err
}

func (w *recorded) Call(ctx context.Context, req model.Request, stream func(model.Delta)) (model.Reply, error) {
	reply, err := w.m.Call(ctx, req, stream)
	e := entry{Call: model.Fingerprint(req), Request: question{req.Messages, req.Tools, req.ToolChoice, req.Schema}}
	var failed *model.Error
	switch {
	case err == nil:
		e.Reply = &reply
	case errors.As(err, &failed) && belongs(failed.Kind):
		e.Error = &failure{failed.Kind, failed.Message, failed.Mend, failed.Prompt, failed.Window, failed.Raw}
	default:
		return reply, err
	}
	if werr := w.r.write(e); werr != nil {
		return reply, errors.Join(err, werr)
	}
	return reply, err
}

// belongs tells errors of the request from errors of the moment.
func belongs(k model.Kind) bool {
	switch k {
	case model.KindOverflow, model.KindNoTools, model.KindRequest, model.KindDegenerate, model.KindSchema:
		return true
	}
	return false
}

var errEmpty = errors.New("the recording is empty")

const (
	maxLine = 64 << 20
	maxFile = 1 << 30
)

// load reads a recording. A last line that was not written whole is left out.
func load(path string) (head, []*entry, error) {
	// Opening a pipe would wait for somebody to write to it.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return head{}, nil, fmt.Errorf("opening the recording: %s is not a regular file; name another one", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return head{}, nil, fmt.Errorf("opening the recording: %w", err)
	}
	defer f.Close()
	h, entries, err := parse(io.LimitReader(f, maxFile))
	if err != nil {
		return head{}, nil, fmt.Errorf("reading the recording %s: %w", path, err)
	}
	return h, entries, nil
}

// parse reads the lines of a recording.
func parse(in io.Reader) (head, []*entry, error) {
	var h head
	var entries []*entry
	r := bufio.NewReaderSize(in, 64<<10)
	for n := 1; ; n++ {
		line, whole, err := readLine(r)
		if err != nil {
			return h, nil, fmt.Errorf("line %d: %w", n, err)
		}
		if !whole {
			break
		}
		if n == 1 {
			if err := json.Unmarshal(line, &h); err != nil || h.V == 0 {
				return h, nil, errors.New("line 1: this is not a recording; make one with run --record FILE")
			}
			if h.V != version {
				return h, nil, fmt.Errorf("line 1: the recording has version %d, and this program reads %d; record it again", h.V, version)
			}
			continue
		}
		e := &entry{line: n}
		if err := json.Unmarshal(line, e); err != nil {
			return h, nil, fmt.Errorf("line %d: not a recorded call (%w); record it again", n, err)
		}
		if e.Info != nil && e.Call == "" {
			entries = append(entries, e)
			continue
		}
		if e.Call == "" || (e.Reply == nil) == (e.Error == nil) {
			return h, nil, fmt.Errorf("line %d: not a recorded call; record it again", n)
		}
		entries = append(entries, e)
	}
	if h.V == 0 {
		return h, nil, errEmpty
	}
	return h, entries, nil
}

// readLine gives the next line; whole is false at the end of the file, also
// when a last line was torn.
func readLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), true, nil
		case errors.Is(err, io.EOF):
			return line, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		case len(line) > maxLine:
			return nil, false, fmt.Errorf("longer than %d bytes", maxLine)
		}
	}
}
