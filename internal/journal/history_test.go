package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestTornLastLineIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, torn := range []string{`{"v":1,"run":"x","se`, "{", "\x00\x00\x00\x00\x00", `{"v":1,"seq":3,"type":"nudge","note":"` + strings.Repeat("n", 100_000)} {
		tr := tree(t)
		r := create(t, tr, "01-a", Options{})
		add(t, r, Event{Type: RunStarted, Started: &Started{}}, Event{Type: Nudge, Note: "second"})
		name := tr.Abs("history/" + r.Name() + "/journal.jsonl")
		f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(torn); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if got := events(t, tr, r.Name()); len(got) != 2 || got[1].Note != "second" {
			t.Errorf("after %.20q: %+v", torn, got)
		}
	}
}

func TestCompleteLastLineWithoutItsEndCounts(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	r := create(t, tr, "01-a", Options{})
	add(t, r, Event{Type: RunStarted, Started: &Started{}}, Event{Type: Nudge, Note: "second"})
	name := tr.Abs("history/" + r.Name() + "/journal.jsonl")
	st, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, st.Size()-1); err != nil {
		t.Fatal(err)
	}
	if got := events(t, tr, r.Name()); len(got) != 2 {
		t.Errorf("%d events", len(got))
	}
}

func TestMergeMarkersAreRefusedWithFileAndLine(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	r := create(t, tr, "01-a", Options{})
	add(t, r, Event{Type: RunStarted, Started: &Started{}}, Event{Type: Nudge})
	name := "history/" + r.Name() + "/journal.jsonl"
	good := raw(t, tr, name)
	first, rest, _ := strings.Cut(good, "\n")
	for _, bad := range []struct{ text, why string }{
		{first + "\n<<<<<<< HEAD\n" + rest, "merge conflict"},
		{first + "\n=======\n" + rest, "merge conflict"},
		{first + "\n>>>>>>> topic", "merge conflict"}, // the last line, cut
		{first + "\nhello\n" + rest, "not an event"},
		{first + "\n\n" + rest, "not an event"},
		{first + "\n{}\n" + rest, "not an event"},
		{first + "\n" + first + "\n", "event 1 stands where event 2"},
		{first + "\n" + strings.Replace(rest, `"v":1`, `"v":9`, 1), "newer towpath"},
	} {
		if err := os.WriteFile(tr.Abs(name), []byte(bad.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(tr, ".").Events(r.Name())
		var line *LineError
		if !errors.As(err, &line) || line.File != name || line.Line != 2 || !strings.Contains(err.Error(), bad.why) {
			t.Errorf("%.60q: got %v", bad.text, err)
		}
	}
}

func TestTooLongLineIsAnErrorNotAFullMemory(t *testing.T) {
	t.Parallel()
	endless := bytes.NewReader(bytes.Repeat([]byte{'x'}, maxLine+2))
	err := readEvents(endless, "history/x/journal.jsonl", func(Event) error { return nil })
	var line *LineError
	if !errors.As(err, &line) || line.Line != 1 || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestUnknownFieldsAndTypesOfOthersAreReadOver(t *testing.T) {
	t.Parallel()
	in := `{"v":1,"run":"r","seq":1,"time":"2026-11-30T20:36:00Z","type":"sealed","colour":"red"}` + "\n"
	n := 0
	err := readEvents(strings.NewReader(in), "f", func(e Event) error {
		n++
		if e.Type != "sealed" {
			t.Errorf("type %q", e.Type)
		}
		return nil
	})
	if err != nil || n != 1 {
		t.Errorf("%d events, %v", n, err)
	}
}

func TestRequestsCannotBlowUpInMemory(t *testing.T) {
	t.Parallel()
	var in strings.Builder
	line := func(seq int, r Request) {
		data, err := json.Marshal(Event{V: 1, Seq: seq, Type: ModelCall, Request: &r})
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(data, '\n'))
	}
	line(1, Request{Messages: make([]Body, 10_000)})
	for i := 2; i < 1000; i++ {
		line(i, Request{Base: 1, Shared: 10_000, Messages: make([]Body, 1)})
	}
	err := readEvents(strings.NewReader(in.String()), "f", func(Event) error { return nil })
	var bad *LineError
	if !errors.As(err, &bad) {
		t.Errorf("got %v", err)
	}
}

func FuzzReadEvents(f *testing.F) {
	for _, s := range []string{
		"", "\n", "{", `{"v":1,"seq":1,"type":"nudge"}` + "\n", "<<<<<<< HEAD\n",
		`{"v":1,"seq":1,"type":"model_call","request":{"call":"c","messages":[{"text":"a","size":1}]}}` + "\n" +
			`{"v":1,"seq":2,"type":"model_call","request":{"base":1,"shared":1,"messages":[{"text":"b","size":1}]}}` + "\n",
		`{"v":1,"seq":1,"type":"model_call","request":{"base":1,"shared":-1}}` + "\n",
		`{"v":1,"seq":1,"type":"exit","exit":null}` + "\n" + "\x00\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		seq := 0
		err := readEvents(bytes.NewReader(data), "f", func(e Event) error {
			if seq++; e.Seq != seq {
				t.Errorf("event %d has seq %d", seq, e.Seq)
			}
			if e.Request != nil && (e.Request.Base != 0 || e.Request.Shared != 0) {
				t.Error("a request was not completed")
			}
			return nil
		})
		var line *LineError
		if err != nil && !errors.As(err, &line) {
			t.Errorf("got %v", err)
		}
	})
}
