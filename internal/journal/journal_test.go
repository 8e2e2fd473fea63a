package journal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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
		{"20261130T203600Z-phase-2", "phase-2", evening}, {"20261130T203600Z-phase-1-3", "phase-1", evening},
		{"20261130T203600Z-phase-4", "phase", evening},
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
