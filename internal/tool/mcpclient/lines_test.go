package mcpclient

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestLinesAreBoundedAndFoundAgain(t *testing.T) {
	t.Parallel()
	long := `{"jsonrpc":"2.0","id":7,"result":"` + strings.Repeat("x", 300<<10) + `"}`
	r := newLineReader(strings.NewReader("a\r\n\n"+long+"\nb\n"+strings.Repeat("y", 100<<10)), 100<<10, 4<<10)
	var got []string
	for {
		l, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if l.tooLong {
			id, ok := idOf(l.text, l.tail)
			want, _ := jsonrpc.MakeID(7.0)
			if !ok || id != want || l.size != len(long)+1 || len(l.text) > endsKept || len(l.tail) > endsKept {
				t.Errorf("id %v %v, size %d of %d, ends %d and %d", id, ok, l.size, len(long), len(l.text), len(l.tail))
			}
			got = append(got, "long")
			continue
		}
		got = append(got, string(l.text[:min(len(l.text), 5)]))
	}
	if strings.Join(got, ",") != "a,,long,b,yyyyy" {
		t.Errorf("lines %q", got)
	}
}

func TestIDIsFoundAtEitherEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		head, tail string
		want       any
	}{
		{`{"jsonrpc":"2.0","id":12,"result":{`, `xx"}}`, 12.0},
		{`{"id":"a-1","jsonrpc":"2.0","result":{`, ``, "a-1"},
		{`{"result":{"content":[`, `x"}]},"jsonrpc":"2.0","id":3}`, 3.0},
		{`{"result":{"content":[`, `x"}]},"id":4,"jsonrpc":"2.0"}`, 4.0},
		{`{"result":{"content":[{"id":9,`, `x"}]}}`, nil},
		{`{"jsonrpc":"2.0","method":"notifications/message","params":{"id":1,`, `x"}}`, nil},
	} {
		id, ok := idOf([]byte(c.head), []byte(c.tail))
		want, _ := jsonrpc.MakeID(c.want)
		if ok != (c.want != nil) || ok && id != want {
			t.Errorf("%s ... %s: %v, %v", c.head, c.tail, id, ok)
		}
	}
}

func TestLastWordsAreOneCleanLine(t *testing.T) {
	t.Parallel()
	var w tail
	io.WriteString(&w, strings.Repeat("old\n", 20000)+"\x1b[31mError:\x1b[0m no such\tthing\r\n\n  at x\x07\n")
	if got := w.said(50); got != "old | old | Error: no such\tthing | at x" {
		t.Errorf("said %q", got)
	}
	if len(w.buf) > 3*tailBytes {
		t.Errorf("%d bytes are kept", len(w.buf))
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\r\nccc"), 2)
	f.Add([]byte("\n\n"), 0)
	f.Fuzz(func(t *testing.T, in []byte, most int) {
		most = min(max(most, 0), 1<<16)
		r := newLineReader(bytes.NewReader(in), most, 16)
		total := 0
		for {
			l, err := r.next()
			if err != nil {
				break
			}
			total += l.size
			if len(l.text) > most+2 && len(l.text) > endsKept || len(l.tail) > endsKept {
				t.Errorf("a line of %d and %d bytes where %d are read", len(l.text), len(l.tail), most)
			}
		}
		if total != len(in) {
			t.Errorf("%d of %d bytes were read", total, len(in))
		}
	})
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("id: 1\nretry: 20\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\ndata: \"result\":{}}\n\n"))
	f.Add([]byte("\xef\xbb\xbfdata: x\n\ndata:{}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		e := (&door{}).events(io.NopCloser(bytes.NewReader(in)), asked{})
		out, err := io.ReadAll(e)
		if err != nil {
			t.Fatalf("error %v", err)
		}
		if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n\n")) {
			t.Errorf("%q gave an event without an end: %q", in, out)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"x","data":[]}}`,
		`{"jsonrpc":"2.0","method":"ping","id":2,"params":null}`, `{"jsonrpc":"2.0","id":1.5,"result":1}`, `{"jsonrpc":"2.0","id":null}`, `{"JSONRPC":"2.0","id":1}`,
		`{"result":{"a":1},"jsonrpc":"2.0","id":7}`, `{"jsonrpc":"2.0","id":1,"result":1,"error":2}`, `{"result":1,"error":2,"jsonrpc":"2.0","id":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := decode(in)
		if err != nil {
			return
		}
		if res, ok := m.(*jsonrpc.Response); ok && res.Result != nil {
			if whole, err := jsonrpc.DecodeMessage(in); err == nil && !bytes.Equal(bytes.TrimSpace(whole.(*jsonrpc.Response).Result), bytes.TrimSpace(res.Result)) {
				t.Errorf("%q holds the result %s", in, res.Result)
			}
		}
		out, err := jsonrpc.EncodeMessage(m)
		if err != nil {
			return
		}
		if _, err := jsonrpc.DecodeMessage(out); err != nil {
			t.Errorf("%q passes as %s, which the SDK refuses: %v", in, out, err)
		}
	})
}
