package durable

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
)

func TestLockIsExclusiveAndLetGo(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	first, err := tr.Lock("ws")
	if err != nil {
		t.Fatal(err)
	}
	var held *LockedError
	if _, err := tr.Lock("ws"); !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Errorf("got %v", err)
	}
	other, err := tr.Lock("other")
	if err != nil {
		t.Errorf("another workspace of the tree: %v", err)
	}
	if err := errors.Join(first.Unlock(), first.Unlock(), other.Unlock()); err != nil {
		t.Error(err)
	}
	if st, err := os.Stat(tr.Abs("ws/history/lock")); err != nil || st.Size() != 0 {
		t.Errorf("a lock that was let go still names its holder: %v, %v", st, err)
	}
	again, err := tr.Lock("ws")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestReadersAndALockThatIsTakenDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	if live, err := Locked(tr, "."); err != nil || live {
		t.Errorf("before any run: %v, %v", live, err)
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := Locked(tr, "."); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 200 {
		l, err := tr.Lock(".")
		if err != nil {
			t.Errorf("a reader kept a writer out: %v", err)
			break
		}
		if live, err := Locked(tr, "."); err != nil || !live {
			t.Errorf("a reader sees %v, %v", live, err)
		}
		if err := l.Unlock(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	readers.Wait()
}

func TestFileSystemWithoutLocksIsSaidSo(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	tr.flock = func(*os.File) error { return errNoLocksHere }
	_, err := tr.Lock(".")
	var none *NoLocksError
	if !errors.As(err, &none) || none.ExitCode() != 6 || !strings.Contains(err.Error(), "local disk") {
		t.Errorf("got %v", err)
	}
}

func TestSweepLeavesOtherWorkspacesAlone(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	nested, err := tr.Lock("nested")
	if err != nil {
		t.Fatal(err)
	}
	defer nested.Unlock()
	theirs, ours, git := "nested/out/"+tempPrefix+"1-1", "pipeline/01-a/output/"+tempPrefix+"1-1", ".git/"+tempPrefix+"1-1"
	for _, name := range []string{theirs, ours, git} {
		write(t, tr.Abs(name), "x")
	}
	write(t, tr.Abs("history/lock"), `{"pid":1,"host":"h","since":"2026-11-30T20:00:00Z"}`) // its holder crashed
	l, err := tr.Lock(".")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	if tr.has(ours) || !tr.has(theirs) || !tr.has(git) {
		t.Errorf("ours %v, theirs %v, git's %v", tr.has(ours), tr.has(theirs), tr.has(git))
	}
}

func TestLockThroughALinkOutOfTheTreeIsRefused(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	tr := tree(t)
	link(t, outside, tr.Abs("history"))
	if _, err := tr.Lock("."); !errors.Is(err, ErrLeaves) {
		t.Errorf("got %v", err)
	}
	list, err := os.ReadDir(outside)
	if err != nil || len(list) != 0 {
		t.Errorf("outside: %v, %v", list, err)
	}
}

// A link in the lock's place would have what it leads to emptied.
func TestLockThatIsALinkEmptiesNothing(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	write(t, tr.Abs("notes.md"), "mine")
	write(t, tr.Abs("history/.keep"), "")
	link(t, "../notes.md", tr.Abs("history/lock"))
	if _, err := tr.Lock("."); !errors.Is(err, ErrLink) || !strings.Contains(err.Error(), "remove the link") {
		t.Errorf("got %v", err)
	}
	if data, err := tr.ReadFile("notes.md"); err != nil || string(data) != "mine" {
		t.Errorf("it holds %q, %v", data, err)
	}
}

// Files of git start programs: nothing is written there, by its name or a link.
func TestNothingIsWrittenInAGitFolder(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	write(t, tr.Abs(".git/config"), "theirs")
	write(t, tr.Abs("a.md"), "a")
	link(t, ".git", tr.Abs("out"))
	link(t, ".git/config", tr.Abs("file.md"))
	for name, err := range map[string]error{
		"write":           tr.WriteFile(".git/config", []byte("x")),
		"other case":      tr.WriteFile("sub/.GIT/config", []byte("x")),
		"through a link":  tr.WriteFile("out/hook", []byte("x")),
		"link to a file":  tr.WriteFile("file.md", []byte("x")),
		"new file":        tr.Create("out/new", []byte("x")),
		"new folder":      tr.NewDir("out/hooks"),
		"folder":          tr.MakeDir(".git/hooks"),
		"moved there":     tr.Move("a.md", "out/a.md"),
		"moved away":      tr.Move("out/config", "b.md"),
		"removed":         tr.Remove("out/config"),
		"lock":            func() error { _, err := tr.Lock("out"); return err }(),
		"Windows' spells": tr.WriteFile("git~1/config", []byte("x")),
	} {
		if !errors.Is(err, ErrGit) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := os.ReadDir(tr.Abs(".git")); err != nil || len(list) != 1 {
		t.Errorf("in .git: %v, %v", list, err)
	}
	if err := tr.WriteFile(".github/notes.md", []byte("x")); err != nil {
		t.Errorf("a folder of another name: %v", err)
	}
}

func TestGarbageInTheLockFileDoesNoHarm(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	write(t, tr.Abs("history/lock"), strings.Repeat("<<<<<<< HEAD\n", 1000))
	l, err := tr.Lock(".")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
}
