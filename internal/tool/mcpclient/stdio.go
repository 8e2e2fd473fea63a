package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"towpath/internal/tool/mcpclient/process"
)

const methodDiscover = "server/discover"

// pipe is the SDK's connection to a server over its standard input and output.
// Closing it leaves the process alone, which its link ends.
type pipe struct {
	proc  *process.Process
	words *tail
	probe time.Duration // how long the question for the newer protocol may stay unanswered
	max   int           // bytes of one message

	in     chan jsonrpc.Message
	out    chan []byte
	eof    chan struct{} // nothing more comes
	closed chan struct{} // the SDK closed it
	once   sync.Once
	broken sync.Once

	silent atomic.Bool // that question stayed unanswered
	heard  atomic.Bool // a message came

	mu      sync.Mutex
	pending map[jsonrpc.ID]waiting
}

type waiting struct {
	method string
	catch  *catch
	timer  *time.Timer
}

func newPipe(proc *process.Process, words *tail, probe time.Duration) *pipe {
	p := &pipe{
		proc: proc, words: words, probe: probe, max: maxMessage,
		in: make(chan jsonrpc.Message, 16), out: make(chan []byte, 256),
		eof: make(chan struct{}), closed: make(chan struct{}), pending: map[jsonrpc.ID]waiting{},
	}
	go p.reading()
	go p.writing()
	return p
}

// Connect is the SDK's way to the connection.
func (p *pipe) Connect(context.Context) (mcp.Connection, error) { return p, nil }

// SessionID is empty: there are no sessions over pipes.
func (p *pipe) SessionID() string { return "" }

// Read gives the next message. It fails only once nothing more can come.
func (p *pipe) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-p.in:
		return m, nil
	default:
	}
	select {
	case m := <-p.in:
		return m, nil
	case <-p.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.eof:
	}
	select {
	case m := <-p.in:
		return m, nil
	default:
		return nil, io.EOF
	}
}

// Write queues a message. It never waits for a server that does not read, so
// that the wait for the answer is what bounds a call.
func (p *pipe) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("writing a message: %w", err)
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		p.expect(req, caught(ctx))
	}
	select {
	case p.out <- append(data, '\n'):
		return nil
	default:
	}
	select {
	case p.out <- append(data, '\n'):
		return nil
	case <-p.eof:
		return io.ErrClosedPipe
	case <-p.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the connection.
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipe) expect(req *jsonrpc.Request, c *catch) {
	w := waiting{method: req.Method, catch: c}
	if req.Method == methodDiscover && p.probe > 0 {
		id := req.ID
		w.timer = time.AfterFunc(p.probe, func() {
			if _, ok := p.take(id); ok {
				p.silent.Store(true)
				p.push(failure(id, "there was no answer to "+methodDiscover))
			}
		})
	}
	p.mu.Lock()
	p.pending[req.ID] = w
	p.mu.Unlock()
}

// take gives the request that an answer is to, once.
func (p *pipe) take(id jsonrpc.ID) (waiting, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ok := p.pending[id]
	delete(p.pending, id)
	if w.timer != nil {
		w.timer.Stop()
	}
	return w, ok
}

func (p *pipe) push(m jsonrpc.Message) {
	select {
	case p.in <- m:
	case <-p.closed:
	}
}

// writing writes what is queued.
func (p *pipe) writing() {
	for {
		select {
		case b := <-p.out:
			if _, err := p.proc.Stdin.Write(b); err != nil {
				p.end()
				return
			}
		case <-p.eof:
			return
		case <-p.proc.Ended():
			return
		}
	}
}

// end says that nothing more comes.
func (p *pipe) end() { p.broken.Do(func() { close(p.eof) }) }

// reading reads messages until the server ends. What is no message is kept for
// people, and passed over.
func (p *pipe) reading() {
	defer p.end()
	defer p.proc.Stdout.Close()
	lines := newLineReader(p.proc.Stdout, p.max, 64<<10)
	for {
		l, err := lines.next()
		if err != nil {
			return
		}
		if l.tooLong {
			p.overlong(l)
			continue
		}
		text := bytes.TrimSpace(bytes.TrimPrefix(l.text, []byte("\xef\xbb\xbf")))
		if len(text) == 0 {
			continue
		}
		msgs, err := messages(text)
		if err != nil {
			p.words.Write(append(text[:min(len(text), 2000):min(len(text), 2000)], '\n'))
			continue
		}
		p.heard.Store(true)
		for _, m := range msgs {
			p.receive(m)
		}
	}
}

func (p *pipe) receive(m jsonrpc.Message) {
	if res, ok := m.(*jsonrpc.Response); ok {
		w, ok := p.take(res.ID)
		if !ok {
			return // too late, or to nothing that was asked
		}
		w.catch.put(res.Result)
	}
	p.push(m)
}

// messages decodes a line: a message, or several as the older protocol had it.
func messages(text []byte) ([]jsonrpc.Message, error) {
	switch text[0] {
	case '{':
		m, err := decode(text)
		if err != nil {
			return nil, err
		}
		return []jsonrpc.Message{m}, nil
	case '[':
		var parts []json.RawMessage
		if err := json.Unmarshal(text, &parts); err != nil {
			return nil, err
		}
		var all []jsonrpc.Message
		for _, part := range parts {
			m, err := decode(part)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
		return all, nil
	}
	return nil, errors.New("not a message")
}

// overlong fails the call whose answer was too long; every call, where that
// cannot be told.
func (p *pipe) overlong(l line) {
	why := fmt.Sprintf("the answer has %d bytes, more than the %d that are read", l.size, p.max)
	p.words.Write([]byte(why + "\n"))
	if id, ok := idOf(l.text, l.tail); ok {
		if _, ok := p.take(id); ok {
			p.push(failure(id, why))
		}
		return
	}
	p.mu.Lock()
	ids := make([]jsonrpc.ID, 0, len(p.pending))
	for id := range p.pending {
		ids = append(ids, id)
	}
	p.mu.Unlock()
	for _, id := range ids {
		if _, ok := p.take(id); ok {
			p.push(failure(id, why))
		}
	}
}

var (
	idFirst = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+|"[^"\\]*")\s*,`)
	})
	idLast = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`,\s*"id"\s*:\s*(\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
	})
)

// idOf finds the id of a message by its ends.
func idOf(head, tail []byte) (jsonrpc.ID, bool) {
	found := idFirst().FindSubmatch(head)
	if found == nil {
		found = idLast().FindSubmatch(tail)
	}
	if found == nil {
		return jsonrpc.ID{}, false
	}
	var v any = string(bytes.Trim(found[1], `"`))
	if found[1][0] != '"' {
		n, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return jsonrpc.ID{}, false
		}
		v = n
	}
	id, err := jsonrpc.MakeID(v)
	return id, err == nil
}

// failure is an answer that this side makes up.
func failure(id jsonrpc.ID, why string) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: codeLocal, Message: why}}
}

// codeLocal marks the errors that this side made up.
const codeLocal = -32099
