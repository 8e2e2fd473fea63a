package durable

import (
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// beneath opens names below a folder in one step: the kernel itself keeps them
// within it. os.Root opens every folder on the way, and a run opens hundreds of
// files. Where the kernel is older than 5.6, a container's filter forbids the
// call, or anything about a name is out of the ordinary, ok is false and os.Root
// decides.
type beneath struct{ dir *os.File }

func openBeneath(root *os.Root) beneath {
	dir, err := root.Open(".")
	if err != nil {
		return beneath{}
	}
	return beneath{dir}
}

func (b beneath) close() {
	if b.dir != nil {
		b.dir.Close()
	}
}

// fd opens a name. An error means that nothing is there, as os.Root would say.
func (b beneath) fd(op, name string, flags, resolve uint64) (fd int, ok bool, err error) {
	if b.dir == nil {
		return 0, false, nil
	}
	conn, err := b.dir.SyscallConn()
	if err != nil {
		return 0, false, nil
	}
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC | unix.O_LARGEFILE, Resolve: resolve | unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	if cerr := conn.Control(func(dir uintptr) {
		for {
			if fd, err = unix.Openat2(int(dir), name, &how); err != unix.EINTR {
				return
			}
		}
	}); cerr != nil {
		return 0, false, nil
	}
	switch err {
	case nil:
		return fd, true, nil
	case unix.ENOENT, unix.ENOTDIR:
		return 0, true, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return 0, false, nil
}

// open opens for reading and does not wait for the other end of a pipe.
func (b beneath) open(name string) (f *os.File, ok bool, err error) {
	fd, ok, err := b.fd("openat", name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if !ok || err != nil {
		return nil, ok, err
	}
	return os.NewFile(uintptr(fd), path.Join(b.dir.Name(), name)), true, nil
}

// stat describes a name; follow says whether a link at its end is followed.
func (b beneath) stat(name string, follow bool) (info fs.FileInfo, ok bool, err error) {
	op, flags := "statat", uint64(unix.O_PATH)
	if !follow {
		op, flags = "lstatat", flags|unix.O_NOFOLLOW
	}
	fd, ok, err := b.fd(op, name, flags, 0)
	if !ok || err != nil {
		return nil, ok, err
	}
	defer unix.Close(fd)
	i := &fileInfo{name: path.Base(name)}
	if err := syscall.Fstat(fd, &i.st); err != nil {
		return nil, false, nil
	}
	return i, true, nil
}

// read gives the bytes of a regular file. ok is false for everything else.
func (b beneath) read(name string) (data []byte, ok bool, err error) {
	fd, ok, err := b.fd("openat", name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if !ok || err != nil {
		return nil, ok, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > MaxFile {
		return nil, false, nil
	}
	data = make([]byte, 0, st.Size+512)
	for {
		n, err := unix.Read(fd, data[len(data):cap(data)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, false, nil
		case n == 0:
			return data, true, nil
		}
		data = data[:len(data)+n]
		if len(data) > MaxFile {
			return nil, false, nil
		}
		if int64(len(data)) == st.Size { // no need to be told that it ends there
			return data, true, nil
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

// plain reports whether a name passes through no link, and none is at its end;
// nothing need be at its end.
func (b beneath) plain(name string) bool {
	open := func(name string) (bool, error) {
		fd, ok, err := b.fd("openat", name, unix.O_PATH, unix.RESOLVE_NO_SYMLINKS)
		if ok && err == nil {
			unix.Close(fd)
		}
		return ok, err
	}
	ok, err := open(name)
	if !ok || err == nil {
		return ok
	}
	ok, err = open(path.Dir(name))
	return ok && err == nil
}

// fileInfo describes a file by what fstat says.
type fileInfo struct {
	name string
	st   syscall.Stat_t
}

func (i *fileInfo) Name() string       { return i.name }
func (i *fileInfo) Size() int64        { return i.st.Size }
func (i *fileInfo) ModTime() time.Time { return time.Unix(i.st.Mtim.Unix()) }
func (i *fileInfo) IsDir() bool        { return i.Mode().IsDir() }
func (i *fileInfo) Sys() any           { return &i.st }

func (i *fileInfo) Mode() fs.FileMode {
	mode := fs.FileMode(i.st.Mode & 0o777)
	switch i.st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	default:
		mode |= fs.ModeIrregular
	}
	if i.st.Mode&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if i.st.Mode&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if i.st.Mode&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}
