package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"
)

// Lock is the right to write to a workspace. It ends with Unlock or with the
// process.
type Lock struct {
	f *os.File
}

// holder is what the lock's file says of who holds it. It is emptied when the
// lock is let go in good order, so what is found there by the next holder tells
// of a crash.
type holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// Readers look at the lock by taking a shared one for a moment, so a writer
// tries for a little while before it believes that another writer is there.
const (
	lockTries = 20
	lockPause = 5 * time.Millisecond
)

// LockName is the tree name of the lock of the workspace dir.
func LockName(dir string) string { return path.Join(dir, "history", "lock") }

// Lock takes the lock of the workspace dir (a name in the tree), never waiting
// for another writer: that is a *LockedError. A file system that cannot lock is
// a *NoLocksError. When the holder before crashed, the temporary files that it
// left in the workspace are removed.
func (t *Tree) Lock(dir string) (*Lock, error) {
	name := LockName(dir)
	f, err := t.openLock(name)
	if err != nil {
		return nil, err
	}
	if err := t.take(f); err != nil {
		before := readHolder(f)
		f.Close()
		switch {
		case isHeld(err):
			return nil, &LockedError{Dir: t.Abs(dir), PID: before.PID, Host: before.Host, Since: before.Since}
		case isNoLocks(err):
			return nil, &NoLocksError{Path: t.Abs(name), Err: err}
		}
		return nil, fileError("lock", name, err)
	}
	if readHolder(f).PID != 0 {
		t.sweep(dir)
	}
	if err := writeHolder(f, t.now()); err != nil {
		f.Close()
		return nil, fileError("lock", name, err)
	}
	return &Lock{f: f}, nil
}

func (t *Tree) openLock(name string) (*os.File, error) {
	real, err := t.parentToWrite("lock", name)
	if err != nil {
		return nil, err
	}
	// The lock's file is emptied again and again: what a link leads to must not be.
	if st, err := t.lstat(real); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		return nil, &FileError{Op: "lock", Path: name, Kind: ErrLink}
	}
	if _, err := t.makeDirs(path.Dir(real)); err != nil {
		return nil, fileError("lock", name, err)
	}
	if _, _, err := t.writable(name, real); err != nil {
		return nil, err
	}
	f, err := t.root.OpenFile(native(real), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fileError("lock", name, err)
	}
	return f, nil
}

func (t *Tree) take(f *os.File) error {
	var err error
	for i := range lockTries {
		if i > 0 {
			time.Sleep(lockPause)
		}
		if err = t.flock(f); err == nil || !isHeld(err) {
			return err
		}
	}
	return err
}

func readHolder(f *os.File) holder {
	var h holder
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 4096))
	if err != nil || json.Unmarshal(data, &h) != nil {
		return holder{}
	}
	return h
}

func writeHolder(f *os.File, now time.Time) error {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	data, err := json.Marshal(holder{PID: os.Getpid(), Host: host, Since: now.UTC()})
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(data, '\n'), 0)
	return err
}

// Unlock lets the workspace go. A second Unlock does nothing.
func (l *Lock) Unlock() error {
	if l == nil || l.f == nil {
		return nil
	}
	f := l.f
	l.f = nil
	err := errors.Join(f.Truncate(0), unlockFile(f), f.Close())
	if err != nil {
		return fmt.Errorf("letting the workspace's lock go: %w", err)
	}
	return nil
}

// Locked reports whether a live process writes to the workspace dir. It never
// waits, and works where the reader may not write.
func Locked(t *Tree, dir string) (bool, error) {
	f, err := t.open("look at", LockName(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = probeFile(f)
	switch {
	case err == nil, isNoLocks(err):
		return false, nil
	case isHeld(err):
		return true, nil
	}
	return false, fileError("look at", LockName(dir), err)
}

// maxSweep bounds the entries that a sweep looks at.
const maxSweep = 200_000

// sweep removes temporary files below dir that a crashed writer left there.
// Folders that are workspaces with a lock of their own are theirs to sweep.
// What cannot be removed stays: it does no harm.
func (t *Tree) sweep(dir string) {
	seen := 0
	// The walk's errors are those of folders that cannot be listed; there is
	// nothing to sweep in them.
	_ = fs.WalkDir(t.root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if seen++; seen > maxSweep {
			return fs.SkipAll
		}
		if err != nil {
			return nil
		}
		if d.IsDir() {
			if d.Name() == ".git" || name != dir && t.has(LockName(name)) {
				return fs.SkipDir
			}
			return nil
		}
		if IsTemp(d.Name()) && d.Type().IsRegular() {
			_ = t.root.Remove(native(name))
		}
		return nil
	})
}

func (t *Tree) has(name string) bool {
	_, err := t.root.Lstat(native(name))
	return err == nil
}
