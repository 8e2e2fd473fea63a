package local

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"towpath/internal/model/local/gguf"
)

// store is the part of the cache folder that belongs to local models.
//
//	local/lib/RELEASE/     the library's files and verified.json
//	local/models/FILE      weights, and FILE.verified.json
//	local/parts/NAME/      what an interrupted pull has so far
//	local/pull.lock        held while a pull works
type store struct{ dir string }

func openStore(cacheDir string) (store, error) {
	if cacheDir == "" {
		dir, err := DefaultCacheDir()
		if err != nil {
			return store{}, fmt.Errorf("find the cache folder: %w; set TOWPATH_CACHE", err)
		}
		cacheDir = dir
	}
	abs, err := filepath.Abs(cacheDir)
	if err != nil {
		return store{}, err
	}
	return store{filepath.Join(abs, "local")}, nil
}

func (s store) libDir(l library) string  { return filepath.Join(s.dir, "lib", l.release) }
func (s store) weights(w weights) string { return filepath.Join(s.dir, "models", w.file) }
func (s store) parts(name string) string { return filepath.Join(s.dir, "parts", name) }
func (s store) lock() string             { return filepath.Join(s.dir, "pull.lock") }

// stamp says that a file had this content when it was this large and this old.
type stamp struct {
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
	SHA256   string    `json:"sha256"`
}

// stampOf reads all of a file.
func stampOf(path string) (stamp, error) {
	f, err := os.Open(path)
	if err != nil {
		return stamp{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return stamp{}, err
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return stamp{}, fmt.Errorf("read %s: %w", path, err)
	}
	return stamp{n, info.ModTime().UTC(), hex.EncodeToString(h.Sum(nil))}, nil
}

// stampPath is where the stamp of a file is kept.
func stampPath(path string) string { return path + ".verified.json" }

func writeStamp(path string, st stamp) error {
	raw, err := json.Marshal(st)
	if err != nil {
		return err
	}
	return writeWhole(stampPath(path), append(raw, '\n'))
}

// writeWhole writes a small file so that it is never seen half-written.
func writeWhole(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// ChecksumError says that a file is not the one it should be.
type ChecksumError struct {
	What, Path string
	Got, Want  string // SHA-256
	Mend       string
}

// Error gives both sums and the mend.
func (e *ChecksumError) Error() string {
	return fmt.Sprintf("%s has SHA-256 %s and should have %s; %s", e.What, e.Got, e.Want, e.Mend)
}

// verify checks a file against its SHA-256. A file that has not changed since
// it was checked is not read again.
func verify(what, path, want string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if raw, err := os.ReadFile(stampPath(path)); err == nil {
		var st stamp
		if json.Unmarshal(raw, &st) == nil && st.SHA256 == want && st.Bytes == info.Size() && st.Modified.Equal(info.ModTime()) {
			return nil
		}
	}
	st, err := stampOf(path)
	if err != nil {
		return err
	}
	if st.SHA256 != want {
		return &ChecksumError{What: what, Path: path, Got: st.SHA256, Want: want, Mend: "delete " + path + " and pull it again"}
	}
	// A cache that cannot be written to is checked again each time.
	_ = writeStamp(path, st)
	return nil
}

// notPulledError says that a known model is not there.
type notPulledError struct{ name string }

func (e *notPulledError) Error() string {
	return fmt.Sprintf("the model %s is not pulled", e.name)
}

// resolve gives the checked file of a model.
func (s store) resolve(c catalog, name string) (string, gguf.Header, error) {
	name = strings.TrimPrefix(name, Prefix)
	if w, ok := c.model(name); ok {
		path := s.weights(w)
		err := verify("the file of "+name, path, w.sha256)
		if errors.Is(err, fs.ErrNotExist) {
			return "", gguf.Header{}, &notPulledError{name}
		}
		if err != nil {
			return "", gguf.Header{}, err
		}
		h, err := gguf.ReadFile(path)
		return path, h, err
	}
	if !strings.HasSuffix(strings.ToLower(name), ".gguf") {
		return "", gguf.Header{}, fmt.Errorf("there is no local model %q; known are %s, and any path that ends in .gguf", name, c.names())
	}
	path, err := ownPath(name)
	if err != nil {
		return "", gguf.Header{}, err
	}
	h, err := gguf.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", h, fmt.Errorf("there is no file %s", path)
	}
	return path, h, err
}

// ownPath makes the path of a user's own file absolute.
func ownPath(name string) (string, error) {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(home, rest), nil
	}
	return filepath.Abs(filepath.FromSlash(name))
}

// libraryFiles is kept beside the library: what was taken from the archive.
type libraryFiles struct {
	Archive string           `json:"archive"` // its SHA-256
	Files   map[string]stamp `json:"files"`
}

func (s store) libraryManifest(l library) string {
	return filepath.Join(s.libDir(l), "verified.json")
}

// checkLibrary checks that the library is there and unchanged.
func (s store) checkLibrary(l library) error {
	raw, err := os.ReadFile(s.libraryManifest(l))
	if errors.Is(err, fs.ErrNotExist) {
		return &notPulledError{"library"}
	}
	if err != nil {
		return err
	}
	var files libraryFiles
	if err := json.Unmarshal(raw, &files); err != nil || files.Archive != l.sha256 {
		return &notPulledError{"library"}
	}
	for name, want := range files.Files {
		path := filepath.Join(s.libDir(l), filepath.Base(name))
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return &notPulledError{"library"}
		}
		if err != nil {
			return err
		}
		if info.Size() == want.Bytes && info.ModTime().Equal(want.Modified) {
			continue
		}
		got, err := stampOf(path)
		if err != nil {
			return err
		}
		if got.SHA256 != want.SHA256 {
			return &ChecksumError{What: "the library file " + name, Path: path, Got: got.SHA256, Want: want.SHA256,
				Mend: "delete " + s.libDir(l) + " and pull any model again"}
		}
	}
	for link := range l.links {
		if _, err := os.Stat(filepath.Join(s.libDir(l), link)); err != nil {
			return &notPulledError{"library"}
		}
	}
	return nil
}
