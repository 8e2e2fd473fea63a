package durable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary plays the other process: see helper.
const helperVar = "DURABLE_TEST_HELPER"

func TestMain(m *testing.M) {
	if what := os.Getenv(helperVar); what != "" {
		if err := helper(what, os.Args[1:]); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// command starts the test binary as a helper.
func command(t *testing.T, what string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), helperVar+"="+what)
	cmd.Stderr = os.Stderr
	return cmd
}

func helper(what string, args []string) error {
	tr, err := OpenDir(args[0])
	if err != nil {
		return err
	}
	switch what {
	case "crash": // dies by SIGKILL at a step of a write, holding the lock
		if _, err := tr.Lock("."); err != nil {
			return err
		}
		tr.step = func(s string) {
			if s == args[1] {
				_ = unix.Kill(os.Getpid(), unix.SIGKILL)
				select {}
			}
		}
		return tr.WriteFile("out/a.md", []byte(newText))
	case "hold": // holds the lock until its input ends
		if _, err := tr.Lock("."); err != nil {
			return err
		}
		fmt.Println("held")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "small": // may not write files of more than 4 KiB
		limit := unix.Rlimit{Cur: 4096, Max: 4096}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
		return wantFull(tr)
	case "nobody": // has no right to write
		if os.Getuid() == 0 {
			if err := errors.Join(syscall.Setgid(65534), syscall.Setuid(65534)); err != nil {
				return err
			}
		}
		return wantReadOnly(tr)
	}
	return errors.New("unknown helper")
}

var (
	oldText = strings.Repeat("old\n", 5000)
	newText = strings.Repeat("new\n", 7000)
)

func TestCrashAtAnyStepLeavesAWholeFile(t *testing.T) {
	t.Parallel()
	for step, want := range map[string]string{
		"temporary file made":    oldText,
		"half written":           oldText,
		"written":                oldText,
		"temporary file written": oldText,
		"renamed":                newText,
		"done":                   newText,
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			tr := tree(t)
			write(t, tr.Abs("out/a.md"), oldText)
			err := command(t, "crash", tr.Root(), step).Run()
			var ended *exec.ExitError
			if !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the writer ended with %v", err)
			}
			if got := content(t, tr.Abs("out/a.md")); got != want {
				t.Errorf("the file has %d bytes, want %d", len(got), len(want))
			}
			l, err := tr.Lock(".")
			if err != nil {
				t.Fatalf("the lock of a dead process holds: %v", err)
			}
			defer l.Unlock()
			if left := temps(t, tr.Root()); left != nil {
				t.Errorf("the next holder did not sweep: %v", left)
			}
			if err := tr.WriteFile("out/a.md", []byte("third")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTwoProcessesAndTheLock(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	cmd := command(t, "hold", tr.Root())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "held\n" {
		t.Fatalf("%q, %v", line, err)
	}

	_, err = tr.Lock(".")
	var held *LockedError
	if !errors.As(err, &held) {
		t.Fatalf("got %v", err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if held.PID != cmd.Process.Pid || held.Host != host || held.Since.Before(began.Add(-time.Second)) || held.Since.After(time.Now().Add(time.Second)) {
		t.Errorf("held by %d on %s since %s", held.PID, held.Host, held.Since)
	}
	if held.ExitCode() != 6 || !strings.Contains(held.Error(), fmt.Sprint(cmd.Process.Pid)) {
		t.Errorf("%d: %s", held.ExitCode(), held)
	}
	if live, err := Locked(tr, "."); err != nil || !live {
		t.Errorf("a reader sees %v, %v", live, err)
	}

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if live, err := Locked(tr, "."); err != nil || live {
		t.Errorf("after the holder's death a reader sees %v, %v", live, err)
	}
	l, err := tr.Lock(".")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
}

// wantFull writes more than there is room for, and checks what is left.
func wantFull(tr *Tree) error {
	old := []byte("old\n")
	if err := tr.WriteFile("out/a.md", old); err != nil {
		return fmt.Errorf("the small file: %w", err)
	}
	err := tr.WriteFile("out/a.md", make([]byte, 4<<20))
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "free some space") {
		return fmt.Errorf("the large file gave: %v", err)
	}
	got, err := tr.ReadFile("out/a.md")
	if err != nil || string(got) != string(old) {
		return fmt.Errorf("the old content is %d bytes, %v", len(got), err)
	}
	list, err := os.ReadDir(tr.Abs("out"))
	if err != nil || len(list) != 1 {
		return fmt.Errorf("left behind: %v, %v", list, err)
	}
	return nil
}

func TestFullDiskLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	t.Run("limit", func(t *testing.T) {
		t.Parallel()
		out, err := command(t, "small", t.TempDir()).Output()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("tiny disk", func(t *testing.T) {
		t.Parallel()
		dir, ok := mount(t, "size=64k")
		if !ok {
			return // needs root; the limit above shows the same
		}
		tr, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		if err := wantFull(tr); err != nil {
			t.Error(err)
		}
	})
}

// mount gives a small file system of its own, where the test may do that.
func mount(t *testing.T, options string) (string, bool) {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		return "", false
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, true
}

// wantReadOnly tries everything that writes.
func wantReadOnly(tr *Tree) error {
	for what, err := range map[string]error{
		"write":   tr.WriteFile("a.md", []byte("new")),
		"new":     tr.WriteFile("b.md", []byte("new")),
		"folder":  tr.WriteFile("sub/b.md", []byte("new")),
		"move":    tr.Move("a.md", "c.md"),
		"remove":  tr.Remove("a.md"),
		"makedir": tr.MakeDir("d"),
	} {
		if !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), "make the folder writable") {
			return fmt.Errorf("%s gave: %v", what, err)
		}
	}
	if _, err := tr.Lock("."); !errors.Is(err, ErrReadOnly) {
		return fmt.Errorf("lock gave: %v", err)
	}
	if live, err := Locked(tr, "."); err != nil || live {
		return fmt.Errorf("a reader sees %v, %v", live, err)
	}
	if got, err := tr.ReadFile("a.md"); err != nil || string(got) != "old" {
		return fmt.Errorf("the old content is %q, %v", got, err)
	}
	return nil
}

func TestReadOnlyFolderIsSaidSo(t *testing.T) {
	t.Parallel()
	t.Run("permissions", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a.md"), "old")
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o755) }) // so that it can be removed
		for up := dir; up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
			st, err := os.Stat(up)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(up, st.Mode().Perm()|0o055); err != nil {
				break // not ours to change
			}
		}
		out, err := command(t, "nobody", dir).Output()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("read-only disk", func(t *testing.T) {
		t.Parallel()
		dir, ok := mount(t, "size=64k")
		if !ok {
			return // needs root; the permissions above show the same
		}
		write(t, filepath.Join(dir, "a.md"), "old")
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		tr, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		if err := wantReadOnly(tr); err != nil {
			t.Error(err)
		}
	})
}

func TestPipeInAFilesPlaceDoesNotHang(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	if err := unix.Mkfifo(tr.Abs("input.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.ReadFile("input.md"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("got %v", err)
	}
	if err := tr.WriteFile("input.md", []byte("x")); !errors.Is(err, ErrNotRegular) {
		t.Errorf("got %v", err)
	}
}
