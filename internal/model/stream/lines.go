package stream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds one line of a stream, in bytes.
const maxLine = 16 << 20

// ErrTooLong says that a line of the stream is longer than is read.
var ErrTooLong = fmt.Errorf("a line of the reply is longer than %d MiB", maxLine>>20)

// Lines reads a stream line by line. Lines end with LF, CRLF or CR.
type Lines struct {
	r   *bufio.Reader
	max int
	cr  bool // the last line ended with CR: an LF that follows belongs to it
}

// NewLines reads lines from r.
func NewLines(r io.Reader) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, 32<<10), max: maxLine}
}

// Next gives the next line without its end. At the end of the stream it gives
// what is left with whole false, and then io.EOF.
func (l *Lines) Next() (line []byte, whole bool, err error) {
	var buf []byte
	for {
		b, err := l.r.ReadByte()
		if err != nil {
			if errors.Is(err, io.EOF) && len(buf) > 0 {
				return buf, false, nil
			}
			return buf, false, err
		}
		if l.cr && b == '\n' {
			l.cr = false
			continue
		}
		l.cr = b == '\r'
		if b == '\n' || b == '\r' {
			return buf, true, nil
		}
		if len(buf) >= l.max {
			return nil, false, ErrTooLong
		}
		buf = append(buf, b)
		buf, err = l.rest(buf)
		if err != nil {
			return nil, false, err
		}
	}
}

// rest takes what is buffered up to the next end of line, which spares a call
// per byte.
func (l *Lines) rest(buf []byte) ([]byte, error) {
	n := l.r.Buffered()
	if n == 0 {
		return buf, nil
	}
	b, err := l.r.Peek(n)
	if err != nil {
		return buf, nil
	}
	if i := bytes.IndexAny(b, "\r\n"); i >= 0 {
		b = b[:i]
	}
	if len(buf)+len(b) > l.max {
		return nil, ErrTooLong
	}
	buf = append(buf, b...)
	l.r.Discard(len(b))
	return buf, nil
}

// Event is one server-sent event.
type Event struct {
	Name string // "" is "message"
	Data []byte
}

// Events reads server-sent events.
type Events struct {
	lines *Lines
	first bool
}

// NewEvents reads events from r.
func NewEvents(r io.Reader) *Events { return &Events{lines: NewLines(r), first: true} }

var bom = []byte("\xef\xbb\xbf")

// Next gives the next event that has data; comments and empty events are passed
// over. An event that the end of the stream cuts is still given, since several
// servers leave out the last blank line. After that comes io.EOF.
func (e *Events) Next() (Event, error) {
	var ev Event
	has, size := false, 0
	for {
		line, _, err := e.lines.Next()
		if err != nil {
			if errors.Is(err, io.EOF) && has && len(bytes.TrimSpace(ev.Data)) > 0 {
				return ev, nil
			}
			return Event{}, err
		}
		if e.first {
			line, e.first = bytes.TrimPrefix(line, bom), false
		}
		if len(line) == 0 {
			if has && len(bytes.TrimSpace(ev.Data)) > 0 {
				return ev, nil
			}
			ev, has, size = Event{}, false, 0
			continue
		}
		if line[0] == '{' { // some servers write a late error as bare JSON
			return Event{Name: ev.Name, Data: line}, nil
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			ev.Name = string(value)
		case "data":
			if size += len(value) + 1; size > maxLine {
				return Event{}, ErrTooLong
			}
			if has {
				ev.Data = append(ev.Data, '\n')
			}
			ev.Data = append(ev.Data, value...)
			has = true
		}
	}
}
