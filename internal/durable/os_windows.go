package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

func openNoWait(root *os.Root, name string) (*os.File, error) { return root.Open(name) }

// syncName flushes a file. Windows has no way to flush a folder, and needs
// none for a rename.
func (t *Tree) syncName(name string) error {
	f, err := t.root.OpenFile(native(name), os.O_RDWR, 0)
	if err != nil {
		if st, serr := t.root.Stat(native(name)); serr == nil && st.IsDir() {
			return nil
		}
		return err
	}
	defer f.Close()
	return t.sync(f)
}

// The locked byte lies far behind the holder's name, which others may then
// read: locks of Windows are mandatory.
func lockedByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1} }

// lockFile takes the exclusive lock, or fails at once.
func lockFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, lockedByte())
}

// probeFile takes a shared lock, or fails at once. Closing the file lets it go.
func probeFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, lockedByte())
}

func unlockFile(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte())
}

func isHeld(err error) bool { return errors.Is(err, windows.ERROR_LOCK_VIOLATION) }

func isNoLocks(err error) bool {
	return errors.Is(err, windows.ERROR_INVALID_FUNCTION) || errors.Is(err, windows.ERROR_NOT_SUPPORTED)
}

func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

func isReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

func isNotDir(error) bool { return false }
