package journal

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"towpath/internal/durable"
)

// fillDisk writes until there is no room, then makes room: all that was said
// to be written is there, and nothing else.
func fillDisk(t *testing.T, dir string) {
	t.Helper()
	tr, err := durable.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	ballast := tr.Abs("ballast")
	if err := os.WriteFile(ballast, make([]byte, 32<<10), 0o644); err != nil {
		t.Fatal(err)
	}
	r := create(t, tr, "01-a", Options{})
	written := 0
	for ; written < 1000; written++ {
		if err = r.Append(Event{Type: Nudge, Note: strings.Repeat("n", 3000)}); err != nil {
			break
		}
	}
	if !errors.Is(err, durable.ErrFull) || !strings.Contains(err.Error(), "free some space") {
		t.Fatalf("after %d events: %v", written, err)
	}
	if _, err := r.Body(strings.Repeat("b", 64<<10)); !errors.Is(err, durable.ErrFull) {
		t.Errorf("a long text gave %v", err)
	}
	if got := events(t, tr, r.Name()); len(got) != written {
		t.Errorf("%d events are there, %d were written", len(got), written)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	add(t, r, Event{Type: Exit, Exit: &Exited{How: "failed", Code: 1}})
	got := events(t, tr, r.Name())
	if len(got) != written+1 || got[written].Type != Exit {
		t.Errorf("%d events after room was made", len(got))
	}
}

func TestFullDiskKeepsTheJournalWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=128k"); err == nil {
		t.Cleanup(func() {
			if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		fillDisk(t, dir)
		return
	}
	// Without the right to mount, a limit on the size of files shows how a
	// write that does not fit is taken back.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestJournalAtItsLimit$")
	cmd.Env = append(os.Environ(), "JOURNAL_TEST_LIMIT=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestJournalAtItsLimit(t *testing.T) {
	if os.Getenv("JOURNAL_TEST_LIMIT") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestJournalAtItsLimit$")
		cmd.Env = append(os.Environ(), "JOURNAL_TEST_LIMIT=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	tr := tree(t)
	r := create(t, tr, "01-a", Options{})
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 8192, Max: 8192}); err != nil {
		t.Fatal(err)
	}
	add(t, r, Event{Type: Nudge, Note: strings.Repeat("n", 5000)})
	if err := r.Append(Event{Type: Nudge, Note: strings.Repeat("n", 5000)}); !errors.Is(err, durable.ErrFull) {
		t.Errorf("got %v", err)
	}
	add(t, r, Event{Type: Exit, Exit: &Exited{How: "failed", Code: 1}})
	if got := events(t, tr, r.Name()); len(got) != 2 || got[1].Type != Exit {
		t.Errorf("%d events", len(got))
	}
}
