package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"towpath/internal/durable"
)

var evening = time.Date(2026, 11, 30, 20, 36, 0, 0, time.UTC)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

func tree(t testing.TB) *durable.Tree {
	t.Helper()
	tr, err := durable.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

func create(t testing.TB, tr *durable.Tree, stage string, opt Options) *Run {
	t.Helper()
	if opt.Clock == nil {
		opt.Clock = at(evening)
	}
	r, err := Create(tr, ".", stage, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.file.Close() })
	return r
}

func add(t testing.TB, r *Run, events ...Event) {
	t.Helper()
	for _, e := range events {
		if err := r.Append(e); err != nil {
			t.Fatal(err)
		}
	}
}

func body(t testing.TB, r *Run, text string) Body {
	t.Helper()
	b, err := r.Body(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func events(t testing.TB, tr *durable.Tree, run string) []Event {
	t.Helper()
	all, err := Open(tr, ".").Events(run)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func raw(t testing.TB, tr *durable.Tree, name string) string {
	t.Helper()
	data, err := os.ReadFile(tr.Abs(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// everything is all bytes of the history.
func everything(t testing.TB, tr *durable.Tree) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(tr.Abs("history"), func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestEventsComeBackAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	var seen []Event
	r := create(t, tr, "01-scope", Options{Observe: func(e Event) { seen = append(seen, e) }})
	add(t, r,
		Event{Type: RunStarted, Started: &Started{Towpath: "v1", Contract: durable.Hash(nil), Inputs: map[string]string{"a b.md": "h"}}},
		Event{Type: ItemStarted, Item: 2, Of: 3, Note: "Друга тема"},
		Event{Type: Exit, Exit: &Exited{How: "gate"}},
	)
	r.Transient(Event{Type: TextDelta, Note: "piece"})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got := events(t, tr, "20261130T203600Z-01-scope")
	if diff := cmp.Diff(seen[:3], got); diff != "" {
		t.Errorf("what the observer saw and what was read differ:\n%s", diff)
	}
	for i, e := range got {
		if e.V != 1 || e.Run != r.Name() || e.Seq != i+1 || !e.Time.Equal(evening) || e.Stage != "01-scope" {
			t.Errorf("event %d: %+v", i+1, e)
		}
	}
	if seen[3].Type != TextDelta || seen[3].Seq != 0 {
		t.Errorf("the transient event was seen as %+v", seen[3])
	}
	if err := r.Append(Event{Type: Nudge}); err == nil {
		t.Error("a closed journal took an event")
	}
}

func TestRunNamesAreUniqueAndSortable(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	now := evening
	clock := func() time.Time { return now }
	var names []string
	for _, step := range []struct {
		stage string
		by    time.Duration
	}{
		{"01-scope", 0}, {"01-scope", 0}, {"02-research", 0}, {"02-research", time.Second},
		{"01-scope", -time.Hour}, // the clock is set back
		{"phase-2", 0}, {"phase-2", 0}, {"01-scope", 2 * time.Hour},
	} {
		now = now.Add(step.by)
		r := create(t, tr, step.stage, Options{Clock: clock})
		add(t, r, Event{Type: RunStarted, Started: &Started{}})
		names = append(names, r.Name())
	}
	want := []string{
		"20261130T203600Z-01-scope", "20261130T203600Z-01-scope-2", "20261130T203600Z-02-research-3",
		"20261130T203601Z-02-research", "20261130T203601Z-01-scope-2",
		"20261130T203601Z-phase-2-3", "20261130T203601Z-phase-2-4", "20261130T213601Z-01-scope",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names:\n%s", diff)
	}
	runs, err := Open(tr, ".").Runs("")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, r := range runs {
		listed = append(listed, r.Name)
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("listed in another order:\n%s", diff)
	}
	for stage, count := range map[string]int{"01-scope": 4, "02-research": 2, "phase-2": 2, "phase": 0} {
		if runs, err := Open(tr, ".").Runs(stage); err != nil || len(runs) != count {
			t.Errorf("%s has %d runs, %v; want %d", stage, len(runs), err, count)
		}
	}
}

func TestStageNameThatEndsLikeANumberIsNotMistaken(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	for _, stage := range []string{"phase-2", "phase-1", "phase"} {
		r := create(t, tr, stage, Options{})
		add(t, r, Event{Type: RunStarted, Started: &Started{}})
	}
	runs, err := Open(tr, ".").Runs("")
	if err != nil {
		t.Fatal(err)
	}
	want := []RunInfo{
		{"20261130T203600Z-phase-2", "phase-2", evening}, {"20261130T203600Z-phase-1-2", "phase-1", evening},
		{"20261130T203600Z-phase-3", "phase", evening},
	}
	if diff := cmp.Diff(want, runs); diff != "" {
		t.Error(diff)
	}
}

func TestStageNamesThatCannotStandInAFolderName(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	for _, stage := range []string{"01: what? a|b", strings.Repeat("дуже-довга-назва-", 40), "", "bad\xffbytes"} {
		r := create(t, tr, stage, Options{})
		add(t, r, Event{Type: RunStarted, Stage: stage, Started: &Started{}})
		if strings.ContainsAny(r.Name(), `/\:*?"<>|`) || len(r.Name()) > 255 {
			t.Errorf("%q gave the name %q", stage, r.Name())
		}
		if stage == "" {
			continue
		}
		if runs, err := Open(tr, ".").Runs(stage); err != nil || len(runs) != 1 || runs[0].Name != r.Name() {
			t.Errorf("%q: %v, %v", stage, runs, err)
		}
	}
}

func TestOnlyLockAndCachesAreIgnored(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	create(t, tr, "01-scope", Options{})
	ignore := raw(t, tr, "history/.gitignore")
	var rules []string
	for line := range strings.Lines(ignore) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			rules = append(rules, line)
		}
	}
	if diff := cmp.Diff([]string{"/lock", "/cache/", ".towpath-tmp-*"}, rules); diff != "" {
		t.Error(diff)
	}
	if err := tr.WriteFile("history/.gitignore", []byte("mine\n")); err != nil {
		t.Fatal(err)
	}
	create(t, tr, "01-scope", Options{})
	if got := raw(t, tr, "history/.gitignore"); got != "mine\n" {
		t.Errorf("a person's file was replaced by %q", got)
	}
}

func TestLongTextsAreKeptOnceByHash(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	short, long := strings.Repeat("s", 1024), strings.Repeat("l", 1025)
	first, second := create(t, tr, "01-a", Options{}), create(t, tr, "02-b", Options{})
	for _, r := range []*Run{first, second, first} {
		b := body(t, r, long)
		want := Body{Blob: durable.Hash([]byte(long)), Size: 1025}
		if b != want {
			t.Errorf("got %+v", b)
		}
		if text, err := Open(tr, ".").Text(b); err != nil || text != long {
			t.Errorf("read %d bytes, %v", len(text), err)
		}
		if b := body(t, r, short); b != (Body{Text: short, Size: 1024}) {
			t.Errorf("the short one has a blob %q", b.Blob)
		}
	}
	list, err := os.ReadDir(tr.Abs("history/blobs"))
	if err != nil || len(list) != 1 {
		t.Errorf("blobs: %v, %v", list, err)
	}
}

func TestDamagedBlobIsAnErrorAndIsMadeAnew(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	long := strings.Repeat("long", 1000)
	b := body(t, create(t, tr, "01-a", Options{}), long)
	name := "history/blobs/" + b.Blob
	if err := os.WriteFile(tr.Abs(name), []byte("lon"), 0o644); err != nil { // cut by a stopped machine
		t.Fatal(err)
	}
	if _, err := Open(tr, ".").Text(b); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("got %v", err)
	}
	body(t, create(t, tr, "01-a", Options{}), long)
	if text, err := Open(tr, ".").Text(b); err != nil || text != long {
		t.Errorf("read %d bytes, %v", len(text), err)
	}
	for _, blob := range []string{"../../../etc/passwd", strings.Repeat("A", 64), "abc"} {
		if _, err := Open(tr, ".").Text(Body{Blob: blob}); err == nil {
			t.Errorf("%q was read", blob)
		}
	}
}

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

func TestSizeGrowsWithTheConversationNotItsSquare(t *testing.T) {
	t.Parallel()
	size := func(turns int) int {
		tr := tree(t)
		r := create(t, tr, "01-a", Options{})
		messages := []Body{body(t, r, "system"), body(t, r, strings.Repeat("task ", 500))}
		for i := range turns {
			add(t, r, Event{Type: ModelCall, Request: &Request{Call: fmt.Sprint(i), Purpose: "turn", Messages: messages}})
			// A page is summed up by the same model in between.
			add(t, r, Event{Type: ModelCall, Request: &Request{Purpose: "summarize", Messages: []Body{body(t, r, fmt.Sprint("page ", i))}}})
			messages = append(messages, body(t, r, fmt.Sprintf("call %d", i)), body(t, r, strings.Repeat(fmt.Sprintf("result %d ", i), 200)))
		}
		got := events(t, tr, r.Name())
		for i := range turns {
			q := got[2*i].Request
			if diff := cmp.Diff(messages[:2+2*i], q.Messages); diff != "" || q.Base != 0 || q.Shared != 0 {
				t.Fatalf("turn %d is read as another:\n%s", i, diff)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		return len(everything(t, tr))
	}
	hundred, twoHundred := size(100), size(200)
	if twoHundred > hundred*21/10 {
		t.Errorf("100 turns take %d bytes, 200 take %d", hundred, twoHundred)
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

func TestKeptOutputsAreNeverReplaced(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	r := create(t, tr, "01-a", Options{})
	var got []string
	for i := range 3 {
		p, err := r.Keep("notes.md", []byte(fmt.Sprint("round ", i)))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p+": "+raw(t, tr, p))
	}
	base := "history/20261130T203600Z-01-a/outputs/"
	want := []string{base + "notes.md: round 0", base + "notes-2.md: round 1", base + "notes-3.md: round 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"../x", "/x", "", "."} {
		if _, err := r.Keep(name, nil); err == nil {
			t.Errorf("%q was kept", name)
		}
	}
}

func TestConcurrentEventsHaveNoGaps(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	r := create(t, tr, "01-a", Options{Observe: func(Event) {}})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 25 {
				b, err := r.Body(strings.Repeat(fmt.Sprint(i, j), 600))
				if err == nil {
					err = r.Append(Event{Type: ToolResult, Item: i + 1, Result: &Result{Text: b}})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := events(t, tr, r.Name()); len(got) != 200 {
		t.Errorf("%d events", len(got))
	}
}

func TestScopeTravelsInTheContext(t *testing.T) {
	t.Parallel()
	if _, ok := From(context.Background()); ok {
		t.Error("there is a scope outside a run")
	}
	if err := (Scope{}).Append(Event{Type: Nudge}); err == nil {
		t.Error("an event was written without a run")
	}
	tr := tree(t)
	r := create(t, tr, "04-draft", Options{})
	s, ok := From(With(context.Background(), Scope{Run: r, Stage: "04-draft", Item: 2, Of: 5}))
	if !ok {
		t.Fatal("no scope")
	}
	if err := s.Append(Event{Type: Nudge, Note: "n"}); err != nil {
		t.Fatal(err)
	}
	e := events(t, tr, r.Name())[0]
	if e.Item != 2 || e.Of != 5 || e.Stage != "04-draft" {
		t.Errorf("%+v", e)
	}
}

func TestOpenCallIsInTheJournalBeforeItsReply(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	r := create(t, tr, "01-a", Options{})
	add(t, r, Event{Type: RunStarted, Started: &Started{}}, Event{Type: ModelCall, Request: &Request{Call: "c"}})
	// The process dies here: nothing is closed.
	got := events(t, tr, r.Name())
	if len(got) != 2 || got[1].Request.Call != "c" {
		t.Errorf("%+v", got)
	}
	rec, err := Open(tr, ".").Latest("01-a")
	if err != nil || rec.Run != r.Name() || rec.Exited != nil {
		t.Errorf("%+v, %v", rec, err)
	}
}

func TestTranscriptCannotBeBrokenByWhatWasSaid(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	r := create(t, tr, "01-a", Options{})
	nasty := "before\n````\n# Not a heading\n```\n<script>alert(1)</script>\n"
	message, err := json.Marshal(map[string]string{"role": "user", "text": nasty})
	if err != nil {
		t.Fatal(err)
	}
	n := 7
	add(t, r,
		Event{Type: RunStarted, Started: &Started{Model: "ollama/x", Inputs: map[string]string{"in`put.md": "h"}}},
		Event{Type: ContextBuilt, Context: &Context{Tokens: 9, Files: []ContextFile{{Path: "a|b.md", Layer: 4, Tokens: 9}}}},
		Event{Type: ModelCall, Request: &Request{Model: "ollama/x", Messages: []Body{body(t, r, string(message))}}},
		Event{Type: ModelReply, Reply: &Reply{Model: "ollama/x", Text: body(t, r, nasty), Usage: Usage{Output: &n}}},
		Event{Type: ToolCall, Call: &Call{Server: "search-server", Tool: "search", Arguments: body(t, r, "{}"), ReadOnly: true}},
		Event{Type: ToolResult, Result: &Result{Text: body(t, r, nasty)}},
		Event{Type: Nudge, Note: "line\n# one"},
		Event{Type: Verdict, Data: json.RawMessage(`{"pass":true}`)},
		Event{Type: OutputWritten, Output: &Output{Path: "out.md"}},
		Event{Type: Gate, Gate: &GateOpened{Kind: "stop", Outputs: []string{"out.md"}}},
		Event{Type: Decision, Decision: &Decided{What: "approved", Actor: "me"}},
		Event{Type: Exit, Exit: &Exited{How: "gate"}},
	)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	text := raw(t, tr, "history/"+r.Name()+"/transcript.md")
	inside := ""
	fence := regexp.MustCompile("^`{3,}")
	for line := range strings.Lines(text) {
		marks := fence.FindString(line)
		switch {
		case inside == "" && marks != "":
			inside = marks
		case inside != "" && marks == inside && strings.TrimSpace(line) == inside:
			inside = ""
		case inside == "" && (strings.Contains(line, "Not a heading") || strings.Contains(line, "<script>")):
			t.Errorf("outside a fence: %q", line)
		}
	}
	if inside != "" {
		t.Error("a fence stays open")
	}
	for _, want := range []string{"# 01-a", "unknown prompt tokens, 7 output", "`search`", "`line # one`", "`` in`put.md ``", `a\|b.md`, "approved"} {
		if !strings.Contains(text, want) && !strings.Contains(text, strings.ReplaceAll(want, " ", "")) {
			t.Errorf("the transcript lacks %q:\n%s", want, text)
		}
	}
}

func TestTranscriptOfLongTextsIsBounded(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	r := create(t, tr, "01-a", Options{})
	add(t, r, Event{Type: ToolResult, Result: &Result{Text: body(t, r, strings.Repeat("й", 1<<20))}})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	text := raw(t, tr, "history/"+r.Name()+"/transcript.md")
	if len(text) > transcriptText+1000 || !strings.Contains(text, "the whole text of 2097152 bytes is in the journal") || strings.Contains(text, "\ufffd") {
		t.Errorf("%d bytes", len(text))
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
