package local

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// library fetches the native library if it is not there.
func (p *puller) library(ctx context.Context, lib library) error {
	err := p.store.checkLibrary(lib)
	if err == nil {
		p.at("library", lib.bytes)
		return nil
	}
	if !errors.As(err, new(*notPulledError)) && !errors.As(err, new(*ChecksumError)) {
		return err
	}
	if err := p.room(lib.bytes * 5); err != nil { // the archive and what it holds
		return err
	}
	npm := client{"npm", []string{"npm"}}
	err = p.first(ctx, "the library", []place{{"npm " + lib.pack, func(ctx context.Context) error {
		return p.fromNPM(ctx, npm, lib)
	}}})
	if errors.As(err, new(*noClientError)) {
		return fmt.Errorf("%w; install Node's npm, or use Ollama or another server instead", err)
	}
	return err
}

// fromNPM has npm fetch the archive and takes the library out of it.
func (p *puller) fromNPM(ctx context.Context, npm client, lib library) error {
	dir := p.store.parts(lib.release)
	if err := fresh(dir); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	watch := func(n int64) {
		p.at("library", min(n, lib.bytes))
		p.report(PullProgress{What: "fetching the library", From: "npm"})
	}
	if err := p.run(ctx, npm, dir, watch, "pack", "--silent", "--ignore-scripts", "--cache", filepath.Join(dir, "cache"), lib.pack); err != nil {
		return err
	}
	archive, err := onlyFile(dir, ".tgz")
	if err != nil {
		return err
	}
	st, err := stampOf(archive)
	if err != nil {
		return err
	}
	if st.SHA256 != lib.sha256 {
		return &ChecksumError{What: "the archive of " + lib.pack, Path: archive, Got: st.SHA256, Want: lib.sha256,
			Mend: "it was not used; pull again, and if it stays so, look at where npm gets its packages from"}
	}
	p.got("npm "+lib.pack, st.Bytes)
	return p.unpackLibrary(archive, lib)
}

// Limits of an archive.
const (
	maxLibraryFiles = 64
	maxLibraryFile  = 256 << 20
	maxLibrarySum   = 1 << 30
)

// unpackLibrary takes the library's files out of a checked archive into a new
// folder, which then takes the place of the old one.
func (p *puller) unpackLibrary(archive string, lib library) error {
	fresh := p.store.libDir(lib) + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := os.MkdirAll(fresh, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	files, err := takeLibrary(archive, lib.folder, fresh)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", filepath.Base(archive), err)
	}
	for link, target := range lib.links {
		if _, ok := files[target]; !ok {
			return fmt.Errorf("unpack %s: it does not hold %s", filepath.Base(archive), target)
		}
		if err := os.Symlink(target, filepath.Join(fresh, link)); err != nil {
			return err
		}
	}
	raw, err := json.Marshal(libraryFiles{Archive: lib.sha256, Files: files})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(fresh, "verified.json"), raw, 0o644); err != nil {
		return err
	}
	if err := os.RemoveAll(p.store.libDir(lib)); err != nil {
		return err
	}
	if err := os.Rename(fresh, p.store.libDir(lib)); err != nil {
		return err
	}
	p.at("library", lib.bytes)
	return nil
}

// takeLibrary writes the shared libraries in one folder of an archive to dir,
// under their own names. Nothing else of the archive is used.
func takeLibrary(archive, folder, dir string) (map[string]stamp, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	files := map[string]stamp{}
	t := tar.NewReader(io.LimitReader(z, maxLibrarySum))
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		name := path.Base(h.Name)
		if h.Typeflag != tar.TypeReg || h.Name != folder+name || !libraryName(name) {
			continue
		}
		if h.Size > maxLibraryFile || len(files) >= maxLibraryFiles {
			return nil, fmt.Errorf("%s is larger than it may be", name)
		}
		out := filepath.Join(dir, name)
		if err := writeNew(out, t, h.Size); err != nil {
			return nil, err
		}
		if files[name], err = stampOf(out); err != nil {
			return nil, err
		}
	}
}

// libraryName reports whether a file of the archive is part of the library.
func libraryName(name string) bool {
	plain := strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_')
	}) < 0
	return plain && strings.HasSuffix(name, ".so") && (strings.HasPrefix(name, "libllama.") || strings.HasPrefix(name, "libggml"))
}

// writeNew writes a file that must not exist, of exactly so many bytes.
func writeNew(path string, r io.Reader, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(r, size+1))
	if err == nil && n != size {
		err = fmt.Errorf("%s has %d bytes instead of %d", filepath.Base(path), n, size)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// fresh makes an empty folder.
func fresh(dir string) error {
	if err := os.RemoveAll(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}
