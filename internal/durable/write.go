package durable

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// tempPrefix marks the temporary files of this program. They are hidden, and
// no file of a person begins so.
const tempPrefix = ".towpath-tmp-"

// IsTemp reports whether a file's base name is that of a temporary file that a
// write uses, or that a crash left behind.
func IsTemp(base string) bool { return strings.HasPrefix(base, tempPrefix) }

// WriteFile puts data into a file whole or not at all: a temporary file in the
// same folder, flushed, renamed, and the folder flushed. Parents are made. A
// link is followed where it leads to something inside the tree; a link out of
// it or to nothing is refused. The permissions of a file that was there stay.
// After an error the old content is still there and no temporary file is.
func (t *Tree) WriteFile(name string, data []byte) error {
	folders, err := t.write(name, data, true)
	if err == nil {
		err = fileError("write", name, t.Sync(folders...))
	}
	t.step("done")
	return err
}

// Put is WriteFile but for its last step: the content is flushed and in its
// place, the folders that it gives are still to be flushed with Sync, together
// with whatever else the caller has to flush.
func (t *Tree) Put(name string, data []byte) (folders []string, err error) {
	return t.write(name, data, true)
}

// WriteLater is WriteFile without the flushing: whole after a crash of the
// program, but perhaps lost when the machine itself stops. The caller flushes
// with Sync what must not be lost.
func (t *Tree) WriteLater(name string, data []byte) error {
	_, err := t.write(name, data, false)
	return err
}

// write gives the folders that hold new names.
func (t *Tree) write(name string, data []byte, flush bool) (folders []string, err error) {
	if err := checkName("write", name); err != nil {
		return nil, err
	}
	real, err := t.resolveToWrite("write", name)
	if err != nil {
		return nil, err
	}
	mode, had, err := t.writable(name, real)
	if err != nil {
		return nil, err
	}
	made, err := t.makeDirs(path.Dir(real))
	if err != nil {
		return nil, fileError("write", name, err)
	}
	temp, err := t.writeTemp(path.Dir(real), data, mode, had, flush)
	if err != nil {
		return nil, fileError("write", name, err)
	}
	t.step("temporary file written")
	if err := t.root.Rename(native(temp), native(real)); err != nil {
		return nil, fileError("write", name, errors.Join(err, t.root.Remove(native(temp))))
	}
	t.step("renamed")
	return append(made, path.Dir(real)), nil
}

// writable gives the permissions for the new file and whether they are those
// of a file that is there.
func (t *Tree) writable(name, real string) (mode fs.FileMode, had bool, err error) {
	st, err := t.lstat(real)
	switch {
	case err != nil && notThere(err):
		return 0o644, false, nil
	case err != nil:
		return 0, false, fileError("write", name, err)
	case !st.Mode().IsRegular():
		return 0, false, &FileError{Op: "write", Path: name, Kind: ErrNotRegular}
	}
	return st.Mode().Perm(), true, nil
}

// writeTemp makes the temporary file and gives its name. It removes what it
// made when it fails.
func (t *Tree) writeTemp(dir string, data []byte, mode fs.FileMode, keepMode, flush bool) (string, error) {
	f, name, err := t.createTemp(dir)
	if err != nil {
		return "", err
	}
	t.step("temporary file made")
	err = func() error {
		half := len(data) / 2
		if _, err := f.Write(data[:half]); err != nil {
			return err
		}
		t.step("half written")
		if _, err := f.Write(data[half:]); err != nil {
			return err
		}
		if keepMode {
			if err := f.Chmod(mode); err != nil {
				return err
			}
		}
		t.step("written")
		if flush {
			return t.sync(f)
		}
		return nil
	}()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", errors.Join(err, t.root.Remove(native(name)))
	}
	return name, nil
}

func (t *Tree) createTemp(dir string) (*os.File, string, error) {
	for range 1000 {
		name := path.Join(dir, fmt.Sprintf("%s%d-%d", tempPrefix, os.Getpid(), t.temp.Add(1)))
		f, err := t.root.OpenFile(native(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue // left by a process of the same number
		}
		return f, name, err
	}
	return nil, "", fmt.Errorf("too many temporary files in %s; remove those named %s*", dir, tempPrefix)
}

// MakeDir makes a folder and its parents, flushed.
func (t *Tree) MakeDir(name string) error {
	if err := checkName("make", name); err != nil {
		return err
	}
	real, err := t.resolveToWrite("make", name)
	if err != nil {
		return err
	}
	made, err := t.makeDirs(real)
	if err == nil {
		err = t.Sync(made...)
	}
	return fileError("make", name, err)
}

// makeDirs makes dir (without links) and its parents, and gives the folders
// that got a new one: to be flushed by who must not lose it.
func (t *Tree) makeDirs(dir string) (grown []string, err error) {
	if dir == "." {
		return nil, nil
	}
	if st, err := t.stat(dir); err == nil {
		if !st.IsDir() {
			return nil, &FileError{Op: "make", Path: dir, Kind: ErrNotFolder}
		}
		return nil, nil
	}
	if grown, err = t.makeDirs(path.Dir(dir)); err != nil {
		return nil, err
	}
	if err := t.root.Mkdir(native(dir), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return append(grown, path.Dir(dir)), nil
}

// Move renames a file or folder inside the tree. Parents are made, both
// folders flushed. A link is moved, not what it points to. Something that is
// there already is never replaced: that is an ErrInTheWay.
func (t *Tree) Move(from, to string) error {
	src, err := t.parentToWrite("move", from)
	if err != nil {
		return err
	}
	dst, err := t.parentToWrite("move", to)
	if err != nil {
		return err
	}
	if _, err := t.lstat(src); err != nil {
		return fileError("move", from, err)
	}
	if _, err := t.lstat(dst); err == nil {
		return &FileError{Op: "move " + from + " to", Path: to, Kind: ErrInTheWay, Err: fs.ErrExist}
	}
	made, err := t.makeDirs(path.Dir(dst))
	if err != nil {
		return fileError("move", from, err)
	}
	if err := t.root.Rename(native(src), native(dst)); err != nil {
		return fileError("move", from, err)
	}
	made = append(made, path.Dir(dst))
	if path.Dir(src) != path.Dir(dst) {
		made = append(made, path.Dir(src))
	}
	return fileError("move", from, t.Sync(made...))
}

// Remove removes a file, a link, or an empty folder, and flushes its folder.
func (t *Tree) Remove(name string) error {
	real, err := t.parentToWrite("remove", name)
	if err != nil {
		return err
	}
	if err := t.root.Remove(native(real)); err != nil {
		return fileError("remove", name, err)
	}
	return fileError("remove", name, t.syncName(path.Dir(real)))
}

// Append opens a new file for appending, with its parents; a file that is
// there already is an ErrInTheWay. The caller flushes it.
func (t *Tree) Append(name string) (*os.File, error) {
	real, err := t.parentToWrite("write", name)
	if err != nil {
		return nil, err
	}
	if _, err := t.makeDirs(path.Dir(real)); err != nil {
		return nil, fileError("write", name, err)
	}
	f, err := t.root.OpenFile(native(real), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, &FileError{Op: "write", Path: name, Kind: ErrInTheWay, Err: err}
	}
	if err != nil {
		return nil, fileError("write", name, err)
	}
	return f, nil
}

// NewDir makes a folder that must not be there yet (else ErrInTheWay), with
// its parents. The caller flushes the parents with Sync.
func (t *Tree) NewDir(name string) error {
	real, err := t.parentToWrite("make", name)
	if err != nil {
		return err
	}
	if _, err := t.makeDirs(path.Dir(real)); err != nil {
		return fileError("make", name, err)
	}
	err = t.root.Mkdir(native(real), 0o755)
	if errors.Is(err, fs.ErrExist) {
		return &FileError{Op: "make", Path: name, Kind: ErrInTheWay, Err: err}
	}
	return fileError("make", name, err)
}

// maxFlushes is how many files Sync flushes at a time.
const maxFlushes = 16

// Sync flushes files and folders to the disk, side by side since a file system
// can then do it in one go. The error is the first one.
func (t *Tree) Sync(names ...string) error {
	var g errgroup.Group
	g.SetLimit(maxFlushes)
	for _, name := range names {
		g.Go(func() error { return fileError("write", name, t.syncName(name)) })
	}
	return g.Wait()
}

// Create makes a new file with this content, not flushed; one that is there
// already is an ErrInTheWay. After a crash the file may hold a part only: this
// is for content that its readers can check, such as that named by its hash.
func (t *Tree) Create(name string, data []byte) error {
	f, err := t.Append(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fileError("write", name, errors.Join(err, t.root.Remove(native(name))))
	}
	return nil
}

func sortEntries(list []fs.DirEntry) {
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
}
