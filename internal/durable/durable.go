// Package durable keeps files whole: atomic writes that survive a crash, the
// lock that makes one writer of a workspace, and a view of a folder that
// cannot be left.
//
// A Tree is safe for use by several goroutines. A Lock belongs to the one
// that took it. Nothing here keeps state between calls but open files.
package durable

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// MaxFile is the most that ReadFile reads, in bytes. A larger file is an
// ErrTooLarge.
const MaxFile = 64 << 20

// Tree is a folder opened so that it cannot be left (os.Root), plus its
// absolute place. Names are slash paths from the tree's root.
type Tree struct {
	root *os.Root
	fast beneath
	path string // absolute, links resolved
	temp atomic.Uint64

	// Set by tests only.
	now   func() time.Time
	step  func(string)         // called between the steps of a write
	flock func(*os.File) error // takes the exclusive lock
	sync  func(*os.File) error // flushes a file
}

// OpenTree opens the tree that a workspace lies in: its repository's root (the
// nearest folder with a .git, going up), else the workspace itself. The second
// value is the workspace's slash path within the tree, "." if they are the
// same.
func OpenTree(dir string) (*Tree, string, error) {
	abs, err := realDir(dir)
	if err != nil {
		return nil, "", err
	}
	root := RepositoryRoot(abs)
	if root == "" {
		root = abs
	}
	t, err := openAt(root)
	if err != nil {
		return nil, "", err
	}
	rel, err := filepath.Rel(root, abs)
	if err != nil {
		t.Close()
		return nil, "", fmt.Errorf("finding %s within %s: %w", abs, root, err)
	}
	return t, filepath.ToSlash(rel), nil
}

// OpenDir opens exactly this folder as a tree, whatever repository it lies in.
func OpenDir(dir string) (*Tree, error) {
	abs, err := realDir(dir)
	if err != nil {
		return nil, err
	}
	return openAt(abs)
}

// RepositoryRoot gives the nearest folder at or above dir that holds a .git
// (a folder, or the file of a linked work tree), "" if there is none. dir is an
// absolute path.
func RepositoryRoot(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

func openAt(abs string) (*Tree, error) {
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fileError("open", abs, err)
	}
	return &Tree{
		root:  root,
		fast:  openBeneath(root),
		path:  abs,
		now:   time.Now,
		step:  func(string) {},
		flock: lockFile,
		sync:  (*os.File).Sync,
	}, nil
}

func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the folder %s: %w", dir, err)
	}
	abs, err = filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fileError("open", dir, err)
	}
	st, err := os.Stat(abs)
	if err != nil {
		return "", fileError("open", dir, err)
	}
	if !st.IsDir() {
		return "", &FileError{Op: "open", Path: dir, Kind: ErrNotFolder}
	}
	return abs, nil
}

// Root is the absolute path of the tree's root, links resolved.
func (t *Tree) Root() string { return t.path }

// Close lets the folder go. Files that are open stay so.
func (t *Tree) Close() error {
	t.fast.close()
	return t.root.Close()
}

// lstat, stat and openNoWait are those of os.Root, in fewer steps where that
// can be done.

func (t *Tree) lstat(name string) (fs.FileInfo, error) {
	if st, ok, err := t.fast.stat(name, false); ok {
		return st, err
	}
	return t.root.Lstat(native(name))
}

func (t *Tree) stat(name string) (fs.FileInfo, error) {
	if st, ok, err := t.fast.stat(name, true); ok {
		return st, err
	}
	return t.root.Stat(native(name))
}

func (t *Tree) openNoWait(name string) (*os.File, error) {
	if f, ok, err := t.fast.open(name); ok {
		return f, err
	}
	return openNoWait(t.root, native(name))
}

// Abs is the absolute path of a name in the tree, for messages and for
// programs that need one. Opening it is not confined to the tree.
func (t *Tree) Abs(name string) string {
	return filepath.Join(t.path, filepath.FromSlash(name))
}

// ReadFile gives the bytes of a regular file of at most MaxFile bytes. Links
// are followed as long as they stay in the tree.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	if checkName("read", name) == nil {
		if data, ok, err := t.fast.read(name); ok && err == nil {
			return data, nil
		}
	}
	f, err := t.open("read", name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fileError("read", name, err)
	}
	if !st.Mode().IsRegular() {
		return nil, &FileError{Op: "read", Path: name, Kind: ErrNotRegular}
	}
	if st.Size() > MaxFile {
		return nil, &FileError{Op: "read", Path: name, Kind: ErrTooLarge}
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fileError("read", name, err)
	}
	if len(data) > MaxFile {
		return nil, &FileError{Op: "read", Path: name, Kind: ErrTooLarge}
	}
	return data, nil
}

// Open opens a file or folder of the tree for reading.
func (t *Tree) Open(name string) (*os.File, error) { return t.open("open", name) }

// Stat describes what name leads to, links followed inside the tree.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	if err := checkName("look at", name); err != nil {
		return nil, err
	}
	st, err := t.stat(name)
	if err == nil {
		return st, nil
	}
	real, rerr := t.resolve("look at", name)
	if rerr != nil {
		return nil, rerr
	}
	st, err = t.stat(real)
	if err != nil {
		return nil, fileError("look at", name, err)
	}
	return st, nil
}

// open tries the plain way first: links that are absolute or leave the tree
// are rare, and resolving costs a look at every part of the path.
func (t *Tree) open(op, name string) (*os.File, error) {
	if err := checkName(op, name); err != nil {
		return nil, err
	}
	f, err := t.openNoWait(name)
	if err == nil {
		return f, nil
	}
	real, rerr := t.resolve(op, name)
	if rerr != nil {
		return nil, rerr
	}
	f, err = t.openNoWait(real)
	if err != nil {
		return nil, fileError(op, name, err)
	}
	return f, nil
}

// Hash is the SHA-256 of data in hex.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// checkName refuses names that are not plain slash paths below the root.
func checkName(op, name string) error {
	if fs.ValidPath(name) && filepath.IsLocal(native(name)) && !strings.ContainsRune(name, 0) {
		return nil
	}
	if clean := path.Clean(name); clean == ".." || strings.HasPrefix(clean, "../") || path.IsAbs(name) {
		return &FileError{Op: op, Path: name, Kind: ErrLeaves}
	}
	return &FileError{Op: op, Path: name, Kind: fs.ErrInvalid}
}

func native(name string) string { return filepath.FromSlash(name) }

// notThere reports whether err means that no such file exists, also where a
// part of the path is a file.
func notThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || isNotDir(err)
}
