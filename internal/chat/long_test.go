package chat_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"towpath/internal/fakeserver"
)

// TestFiveHundredTurnsStayWithinWindowAndMemory also uses tools, whose results
// are the largest part of a conversation. It looks at the heap, so nothing runs
// beside it.
func TestFiveHundredTurnsStayWithinWindowAndMemory(t *testing.T) {
	const window, turns = 4096, 500
	calls, sent := 0, 0
	b := newBench(t, fakeserver.Script{
		Forget: true,
		Models: []fakeserver.Model{{Name: "test", Window: window}},
		Answer: func(r fakeserver.Request) fakeserver.Reply {
			calls++
			sent += len(r.Body)
			if asked, _ := r.Options["num_ctx"].(float64); asked > window {
				t.Errorf("call %d asks for a window of %v", calls, asked)
			}
			if last := r.Messages[len(r.Messages)-1]; last.Role == "user" && strings.Contains(last.Content, "look") {
				return call("ledger_read", fmt.Sprint(calls))
			}
			return fakeserver.Reply{Text: fmt.Sprintf("Answer %d. ", calls) + strings.Repeat("It goes on for a while. ", 1+calls%12)}
		},
	})
	if err := os.WriteFile(b.tools.file, []byte(strings.Repeat("an entry of the ledger\n", 60)), 0o644); err != nil {
		t.Fatal(err)
	}
	s := b.open()
	var sizes, heaps []int64
	for i := range turns {
		question := fmt.Sprintf("Question %d about something: ", i) + strings.Repeat("tell me more ", i%9)
		if i%4 == 3 {
			question += "look"
		}
		if a := b.ask(s, question); a.Text == "" {
			t.Fatalf("question %d has no answer: %+v", i, a)
		}
		for _, e := range b.take() { // what the test itself keeps is not the session's
			if e.Reply != nil && e.Reply.Error != "" {
				t.Errorf("question %d: %s", i, e.Reply.Error)
			}
		}
		if (i+1)%100 == 0 {
			sizes, heaps = append(sizes, size(t, b.dir)), append(heaps, heap())
		}
	}
	if u := s.Context(); u.Dropped == 0 || u.Rounds < 3 {
		t.Errorf("%d questions were dropped, %d are kept", u.Dropped, u.Rounds)
	}
	t.Logf("after 100, 200, ... turns: record %v bytes, heap %v bytes; sent %d bytes in %d calls", sizes, heaps, sent, calls)
	first, last := sizes[0], sizes[4]-sizes[3]
	if last > first*3/2 {
		t.Errorf("the first hundred turns took %d bytes of the record, the last %d", first, last)
	}
	if sizes[4] > int64(sent)*2/3 { // one that held each request whole would have more
		t.Errorf("the record has %d bytes, and all that was sent %d", sizes[4], sent)
	}
	if heaps[4] > heaps[1]+1<<20 {
		t.Errorf("after 200 turns %d bytes were in use, after 500 %d", heaps[1], heaps[4])
	}
}

// heap is what is in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func size(t *testing.T, dir string) int64 {
	t.Helper()
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
