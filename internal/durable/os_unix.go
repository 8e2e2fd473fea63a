//go:build unix

package durable

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openNoWait opens for reading and does not wait for the other end of a pipe
// that someone put in a file's place.
func openNoWait(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

// syncName flushes a file or folder. Some file systems cannot flush folders;
// there is nothing to be done about that.
func (t *Tree) syncName(name string) error {
	f, err := t.openNoWait(name)
	if err != nil {
		return err
	}
	defer f.Close()
	err = t.sync(f)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// lockFile takes the exclusive lock, or fails at once.
func lockFile(f *os.File) error { return flock(f, unix.LOCK_EX|unix.LOCK_NB) }

// probeFile takes a shared lock, or fails at once. Closing the file lets it go.
func probeFile(f *os.File) error { return flock(f, unix.LOCK_SH|unix.LOCK_NB) }

func unlockFile(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err != unix.EINTR {
			return err
		}
	}
}

func isHeld(err error) bool { return errors.Is(err, unix.EWOULDBLOCK) }

func isNoLocks(err error) bool {
	return errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOSYS) ||
		errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL)
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
