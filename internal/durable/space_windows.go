package durable

import (
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// FreeSpace gives the bytes that this user may still write at path, or at its
// nearest folder that exists.
func FreeSpace(path string) (int64, error) {
	for {
		name, err := windows.UTF16PtrFromString(path)
		if err != nil {
			return 0, err
		}
		var free uint64
		if err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err == nil {
			return int64(free), nil
		}
		up := filepath.Dir(path)
		if !errors.Is(err, fs.ErrNotExist) || up == path {
			return 0, &fs.PathError{Op: "GetDiskFreeSpaceEx", Path: path, Err: err}
		}
		path = up
	}
}
