package journal

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"towpath/internal/durable"
)

const helperVar = "JOURNAL_TEST_HELPER"

// helper plays a process that writes events until it is killed. It says each
// number after its event was written.
func helper() {
	tr, err := durable.OpenDir(os.Getenv(helperVar))
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := Create(tr, ".", "01-a", Options{Clock: at(evening)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := 1; ; i++ {
		b, err := r.Body(strings.Repeat(fmt.Sprintf("text %d ", i), 300))
		if err == nil {
			err = r.Append(Event{Type: ToolCall, Call: &Call{Key: fmt.Sprint(i), Arguments: b, ReadOnly: i%2 == 0}})
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(i)
	}
}

func TestKilledWriterLosesNothingItSaidWasWritten(t *testing.T) {
	t.Parallel()
	for _, after := range []int{1, 7, 40} {
		tr := tree(t)
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), helperVar+"="+tr.Root())
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for i := 1; i <= after; i++ {
			if !lines.Scan() || lines.Text() != fmt.Sprint(i) {
				t.Fatalf("it said %q", lines.Text())
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		h := Open(tr, ".")
		runs, err := h.Runs("01-a")
		if err != nil || len(runs) != 1 {
			t.Fatalf("%v, %v", runs, err)
		}
		got := events(t, tr, runs[0].Name)
		if len(got) < after {
			t.Errorf("%d of %d events are there", len(got), after)
		}
		for _, e := range got[:after] {
			if _, err := h.Text(e.Call.Arguments); err != nil {
				t.Error(err)
			}
		}
		next := create(t, tr, "01-a", Options{})
		if next.Name() != runs[0].Name+"-2" {
			t.Errorf("the next run is %s", next.Name())
		}
	}
}

func TestFailedWriteLeavesAJournalThatCanBeRead(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	r := create(t, tr, "01-a", Options{})
	add(t, r, Event{Type: Nudge, Note: "one"})
	good := r.file
	bad, err := os.Open(tr.Abs("history/" + r.Name() + "/journal.jsonl")) // not open for writing
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	r.file = bad
	if err := r.Append(Event{Type: Nudge, Note: "lost"}); err == nil {
		t.Error("no error")
	}
	r.file = good
	add(t, r, Event{Type: Nudge, Note: "two"})
	if got := events(t, tr, r.Name()); len(got) != 2 || got[1].Note != "two" || got[1].Seq != 2 {
		t.Errorf("%+v", got)
	}
}

func TestEventLargerThanALineIsRefused(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	r := create(t, tr, "01-a", Options{})
	if err := r.Append(Event{Type: Nudge, Note: strings.Repeat("n", maxLine)}); err == nil {
		t.Error("no error")
	}
	add(t, r, Event{Type: Nudge, Note: "small"})
	if got := events(t, tr, r.Name()); len(got) != 1 {
		t.Errorf("%d events", len(got))
	}
}

func TestReadOnlyHistoryIsSaidSo(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	if err := tr.WriteFile("history", []byte("a file in the folder's place")); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(tr, ".", "01-a", Options{}); err == nil || errors.Is(err, durable.ErrFull) {
		t.Errorf("got %v", err)
	}
}
