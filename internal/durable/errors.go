package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// The kinds of FileError, for errors.Is. Errors of the operating system keep
// answering to fs.ErrNotExist and its like.
var (
	ErrFull       = errors.New("the disk is full")
	ErrReadOnly   = errors.New("it cannot be written to")
	ErrLeaves     = errors.New("the path leaves the repository")
	ErrLeavesLink = fmt.Errorf("a link leads out of the repository (%w)", ErrLeaves)
	ErrDangling   = errors.New("it is a link to something that does not exist")
	ErrLoop       = errors.New("its links lead round in a circle")
	ErrTooLarge   = fmt.Errorf("it is larger than %d MiB", MaxFile>>20)
	ErrNotRegular = errors.New("it is not a regular file")
	ErrNotFolder  = errors.New("it is not a folder")
	ErrInTheWay   = errors.New("something of that name is there already")
	ErrGit        = errors.New("it lies in a .git folder, whose files can start programs")
	ErrLink       = errors.New("it is a link, where a file of its own is needed")
)

// FileError says which file could not be read or written, why, and what to do.
type FileError struct {
	Op   string // what was being done: "read", "write", "move", ...
	Path string // as given: a name in the tree, or a path
	Kind error  // one of the kinds above, or fs.ErrNotExist, fs.ErrPermission, fs.ErrInvalid; nil if none fits
	Link string // of ErrLeaves, ErrDangling and ErrLoop: the link, a name in the tree
	Err  error  // the operating system's error, nil if there was none
}

// Error gives cause and mend in one sentence.
func (e *FileError) Error() string {
	var why string
	switch {
	case errors.Is(e.Kind, fs.ErrNotExist):
		why = "it does not exist"
	case errors.Is(e.Kind, fs.ErrPermission):
		why = "its permissions do not allow it"
	case errors.Is(e.Kind, fs.ErrInvalid):
		why = "that is not a usable path"
	case e.Kind != nil:
		why = e.Kind.Error()
	default:
		why = e.Err.Error()
	}
	s := fmt.Sprintf("cannot %s %s: %s", e.Op, e.Path, why)
	if e.Link != "" && e.Link != e.Path {
		s += fmt.Sprintf(" (the link is %s)", e.Link)
	}
	if m := e.mend(); m != "" {
		s += "; " + m
	}
	return s
}

func (e *FileError) mend() string {
	switch {
	case errors.Is(e.Kind, ErrFull):
		return "free some space (or quota), then run the same command again"
	case errors.Is(e.Kind, ErrReadOnly):
		return "make the folder writable, or copy the workspace to a place that is"
	case errors.Is(e.Kind, fs.ErrPermission):
		return "give yourself read access to it"
	case errors.Is(e.Kind, ErrDangling):
		return "remove the link, or make what it points to"
	case errors.Is(e.Kind, ErrLeavesLink), errors.Is(e.Kind, ErrLoop):
		return "replace the link by what it should hold"
	case errors.Is(e.Kind, ErrLeaves):
		return "name a file inside it"
	case errors.Is(e.Kind, ErrGit):
		return "name another place"
	case errors.Is(e.Kind, ErrLink):
		return "remove the link"
	case errors.Is(e.Kind, ErrInTheWay):
		return "move it away first"
	}
	return ""
}

// Unwrap gives kind and cause, so that errors.Is finds both.
func (e *FileError) Unwrap() []error {
	var all []error
	if e.Kind != nil {
		all = append(all, e.Kind)
	}
	if e.Err != nil {
		all = append(all, e.Err)
	}
	return all
}

// fileError gives the operating system's error its kind. An error that has one
// already is kept.
func fileError(op, name string, err error) error {
	var fe *FileError
	if err == nil || errors.As(err, &fe) {
		return err
	}
	return &FileError{Op: op, Path: name, Kind: kindOf(op, err), Err: err}
}

func kindOf(op string, err error) error {
	switch {
	case isFull(err):
		return ErrFull
	case isReadOnly(err):
		return ErrReadOnly
	case errors.Is(err, fs.ErrPermission):
		if op == "read" || op == "open" || op == "look at" {
			return fs.ErrPermission
		}
		return ErrReadOnly
	case errors.Is(err, fs.ErrNotExist):
		return fs.ErrNotExist
	case isNotDir(err):
		return fs.ErrNotExist
	}
	return nil
}

// LockedError says that another process writes to the workspace. Fields that
// could not be read are zero.
type LockedError struct {
	Dir   string // the workspace's absolute path
	PID   int
	Host  string
	Since time.Time
}

// Error names the holder.
func (e *LockedError) Error() string {
	who := "another run"
	if e.PID != 0 {
		who = fmt.Sprintf("another run (process %d on %s, since %s)", e.PID, e.Host, e.Since.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	return fmt.Sprintf("%s holds the workspace %s; wait until it ends, or end that process", who, e.Dir)
}

// ExitCode is 6: the workspace is locked.
func (e *LockedError) ExitCode() int { return 6 }

// NoLocksError says that the file system cannot lock files, so that nothing
// would keep two runs apart.
type NoLocksError struct {
	Path string // the lock's absolute path
	Err  error
}

// Error says what to do.
func (e *NoLocksError) Error() string {
	return fmt.Sprintf("the file system of %s has no file locks (%v); move the workspace to a local disk, or mount the file system with locks", e.Path, e.Err)
}

// Unwrap gives the operating system's error.
func (e *NoLocksError) Unwrap() error { return e.Err }

// ExitCode is 6: the workspace cannot be locked.
func (e *NoLocksError) ExitCode() int { return 6 }

// Explain gives an error of the operating system its kind, for files that were
// opened here and are used elsewhere. op says what was done ("write"), name
// which file it was.
func Explain(op, name string, err error) error { return fileError(op, name, err) }
