//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// FreeSpace gives the bytes that this user may still write at path, or at its
// nearest folder that exists.
func FreeSpace(path string) (int64, error) {
	for {
		var st unix.Statfs_t
		err := unix.Statfs(path, &st)
		if err == nil {
			return int64(st.Bavail) * int64(st.Bsize), nil
		}
		up := filepath.Dir(path)
		if !errors.Is(err, fs.ErrNotExist) || up == path {
			return 0, &fs.PathError{Op: "statfs", Path: path, Err: err}
		}
		path = up
	}
}
