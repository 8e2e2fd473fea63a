package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// events gives a stream of server-sent events as the SDK can take it: events
// that hold no message are left out, and one that is too long becomes a failure
// of the call that the stream answers.
func (d *door) events(body io.ReadCloser, a asked) io.ReadCloser {
	return &eventReader{body: body, lines: newLineReader(body, maxMessage, eventBuffer), asked: a}
}

const eventBuffer = 2 << 10

type eventReader struct {
	body  io.ReadCloser
	lines *lineReader
	asked asked
	ready [][]byte // checked, and not read yet
	first bool
	last  string        // id of the last event
	retry time.Duration // that the server wished for
	err   error
}

// Read gives checked events.
func (e *eventReader) Read(b []byte) (int, error) {
	for len(e.ready) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.ready, e.err = e.next()
	}
	n := copy(b, e.ready[0])
	if e.ready[0] = e.ready[0][n:]; len(e.ready[0]) == 0 {
		e.ready = e.ready[1:]
	}
	return n, nil
}

// Close closes the stream.
func (e *eventReader) Close() error { return e.body.Close() }

// next gives the next event that is worth passing on, as text.
func (e *eventReader) next() ([][]byte, error) {
	var (
		head     []byte // id and retry
		data     []byte
		has, big bool
		name     string
	)
	for {
		l, err := e.lines.next()
		if err != nil {
			if errors.Is(err, io.EOF) && has && !big { // several servers leave out the last blank line
				return e.event(head, data, name, big), io.EOF
			}
			return nil, err
		}
		text := l.text
		if !e.first {
			text, e.first = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), true
		}
		if len(text) == 0 && !l.tooLong {
			if out := e.event(head, data, name, big); out != nil {
				return out, nil
			}
			head, data, has, big, name = nil, nil, false, false, ""
			continue
		}
		field, value, _ := bytes.Cut(text, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if big = big || l.tooLong || len(data)+len(value) > maxMessage; big {
				data = nil
			} else if has {
				data = append(append(data, '\n'), value...)
			} else {
				data = value
			}
			has = true
		case "event":
			name = string(value)
		case "id":
			e.last = string(value)
			head = fmt.Appendf(head, "id: %s\n", value)
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil && ms >= 0 {
				ms = min(ms, int(longestRetry/time.Millisecond))
				e.retry = time.Duration(ms) * time.Millisecond
				head = fmt.Appendf(head, "retry: %d\n", ms)
			}
		}
	}
}

// longestRetry bounds how long a server may have its client wait.
const longestRetry = 30 * time.Second

// event writes one event, or nothing where there is nothing to pass on.
func (e *eventReader) event(head, data []byte, name string, big bool) [][]byte {
	var out [][]byte
	if len(head) > 0 {
		out = append(out, head)
	}
	switch {
	case big && e.asked.call:
		data, _ = jsonrpc.EncodeMessage(failure(e.asked.id, fmt.Sprintf("the answer has more than the %d bytes that are read", maxMessage)))
	case big, name != "" && name != "message", len(bytes.TrimSpace(data)) == 0:
		data = nil
	default:
		m, err := decode(data)
		if err != nil {
			data = nil
			break
		}
		if r, ok := m.(*jsonrpc.Response); ok && (!e.asked.call || r.ID == e.asked.id) {
			e.asked.catch.put(r.Result)
		}
	}
	for l := range bytes.SplitSeq(data, newline) {
		if len(l) > 0 {
			out = append(out, dataField, l, newline)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append(out, newline)
}

var dataField, newline = []byte("data: "), []byte("\n")

// stream opens a stream of notifications, which servers need not offer. The SDK
// is given one at once that never ends: where the server's ends, it is opened
// again; where the server offers none, nothing comes.
func (d *door) stream(req *http.Request) *http.Response {
	ctx, cancel := context.WithCancel(req.Context())
	r, w := io.Pipe()
	go d.feed(req.WithContext(ctx), w)
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: req, ContentLength: -1,
		Body: &endingBody{r, cancel},
	}
}

// feed passes a server's notifications on until the request ends.
func (d *door) feed(req *http.Request, w *io.PipeWriter) {
	ctx := req.Context()
	last, failures := "", 0
	for {
		var wait time.Duration
		next := fresh(req, last)
		if next == nil {
			next = req
		}
		res, err := d.send(next)
		switch {
		case err != nil:
			failures++
		case res.StatusCode >= 400 && res.StatusCode < 500 || res.StatusCode < 400 && !isEvents(res):
			drain(res)
			failures = maxFailures // there is no stream
		case res.StatusCode >= 500:
			drain(res)
			failures++
		default:
			failures = 0
			e := &eventReader{body: res.Body, lines: newLineReader(res.Body, maxMessage, eventBuffer)}
			_, err := io.Copy(w, e)
			res.Body.Close()
			if e.last != "" {
				last = e.last
			}
			wait = e.retry
			if err != nil && ctx.Err() == nil && errors.Is(err, io.ErrClosedPipe) {
				return
			}
		}
		if ctx.Err() != nil || failures >= maxFailures {
			<-ctx.Done()
			w.CloseWithError(ctx.Err())
			return
		}
		t := time.NewTimer(max(wait, between(failures)))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
}

// maxFailures is how often in a row a stream that servers need not offer is
// asked for.
const maxFailures = 5

func isEvents(res *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return kind == "text/event-stream"
}
