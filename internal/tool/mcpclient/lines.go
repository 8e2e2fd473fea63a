package mcpclient

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	maxMessage = 64 << 20 // bytes of one message
	endsKept   = 4 << 10  // of a longer one, at its beginning and at its end
)

// line is one line of a server's output. Of one that is too long only its ends
// are there.
type line struct {
	text    []byte
	tooLong bool
	tail    []byte // of a line that is too long
	size    int
}

// lineReader reads lines of at most max bytes; a longer one is passed over up to
// its end.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, max, buffer int) *lineReader {
	return &lineReader{bufio.NewReaderSize(r, buffer), max}
}

// next gives the next line without its end. A last line that is cut off is given
// too; then comes io.EOF.
func (l *lineReader) next() (line, error) {
	var (
		out  line
		tail []byte
	)
	for {
		part, err := l.r.ReadSlice('\n')
		out.size += len(part)
		switch {
		case out.tooLong:
			tail = lastBytes(append(tail, part...), endsKept)
		case out.size > l.max+2: // with its end
			out.tooLong = true
			tail = lastBytes(append(bytes.Clone(lastBytes(out.text, endsKept)), part...), endsKept)
			out.text = bytes.Clone(out.text[:min(len(out.text), endsKept)])
		case out.text == nil && err == nil:
			out.text = bytes.Clone(part)
		default:
			out.text = append(out.text, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (out.size == 0 || !errors.Is(err, io.EOF)) {
			return line{}, err
		}
		out.text = bytes.TrimRight(out.text, "\r\n")
		out.tail = bytes.TrimRight(tail, "\r\n")
		if out.tooLong {
			out.tail = bytes.Clone(out.tail)
		}
		return out, nil
	}
}

func lastBytes(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	return append(b[:0:0], b[len(b)-n:]...)
}
