package library

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"towpath/internal/document"
)

const (
	batchDocs  = 64      // documents written in one transaction
	batchBytes = 4 << 20 // of their text
	placeBytes = 3000    // longer sections are cut into places of this size
	racy       = int64(2 * time.Second)
)

// Refresh brings the index up to date with the folder. Search does so by
// itself. Only documents whose size or time changed are read.
func (l *Library) Refresh(ctx context.Context) (Report, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refresh(ctx)
}

func (l *Library) refresh(ctx context.Context) (Report, error) {
	if l.closed {
		return Report{}, errors.New("the library is closed")
	}
	if l.ix == nil {
		ix, err := openIndex(ctx, indexFile(l.opt.Cache, l.folder))
		if err != nil {
			return Report{}, err
		}
		l.ix = ix
	}
	rep, err := l.update(ctx)
	if damaged(err) { // found only when it was used
		_ = l.ix.close()
		l.ix = nil
		removeIndex(indexFile(l.opt.Cache, l.folder))
		if l.ix, err = openIndex(ctx, indexFile(l.opt.Cache, l.folder)); err != nil {
			return Report{}, err
		}
		rep, err = l.update(ctx)
	}
	return rep, err
}

func (l *Library) update(ctx context.Context) (Report, error) {
	var pass passed
	files, err := l.walk(ctx, &pass)
	if err != nil {
		return Report{}, err
	}
	known, err := l.ix.records(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("reading the library's index: %w", err)
	}
	var todo []file
	rep := Report{Files: len(files)}
	for _, f := range files {
		r, ok := known[f.path]
		delete(known, f.path)
		// A file that was changed just before it was read may have been
		// changed again since, within the resolution of its time.
		if ok && r.size == f.size && r.mtime == f.mtime && r.mtime < r.seen-racy {
			if r.fault != "" {
				pass.add(f.path, "%s", r.fault)
				rep.Files--
			}
			continue
		}
		todo = append(todo, f)
	}
	w := writer{l: l, total: len(todo)}
	for p := range known {
		rep.Removed++
		if err := w.add(ctx, change{path: p, gone: true}, 0); err != nil {
			return Report{}, err
		}
	}
	for i, f := range todo {
		c, size, err := l.read(ctx, f)
		if err != nil {
			return Report{}, err
		}
		if c.rec.fault != "" {
			pass.add(f.path, "%s", c.rec.fault)
			rep.Files--
		}
		if !c.same && !c.gone {
			rep.Changed++
		}
		if err := w.add(ctx, c, size); err != nil {
			return Report{}, err
		}
		l.opt.Progress(i+1, len(todo))
	}
	if err := w.flush(ctx); err != nil {
		return Report{}, err
	}
	rep.Passed = pass.all()
	return rep, nil
}

// writer gathers changes, so that the index is held only briefly for each lot
// and another process can get at it in between.
type writer struct {
	l     *Library
	total int
	lot   []change
	bytes int
}

func (w *writer) add(ctx context.Context, c change, size int) error {
	w.lot = append(w.lot, c)
	w.bytes += size
	if len(w.lot) >= batchDocs || w.bytes >= batchBytes {
		return w.flush(ctx)
	}
	return nil
}

func (w *writer) flush(ctx context.Context) error {
	if len(w.lot) == 0 {
		return nil
	}
	if err := w.l.ix.apply(ctx, w.lot); err != nil {
		return fmt.Errorf("writing the library's index: %w", err)
	}
	w.lot, w.bytes = nil, 0
	return nil
}

// read turns a file into what the index needs. A document that cannot be read
// is noted with the reason; an error means that the whole work is to stop.
func (l *Library) read(ctx context.Context, f file) (change, int, error) {
	c := change{path: f.path, rec: record{seen: l.opt.Clock().UnixNano()}}
	data, info, err := l.readFile(f.path)
	if err != nil {
		c.rec.size, c.rec.mtime, c.rec.fault = f.size, f.mtime, oneLine(cause(err).Error())
		return c, 0, ctx.Err()
	}
	sum := sha256.Sum256(data)
	c.rec.size, c.rec.mtime, c.rec.hash = info.Size(), info.ModTime().UnixNano(), hex.EncodeToString(sum[:])
	if old, ok, err := l.ix.record(ctx, f.path); err != nil {
		return c, 0, err
	} else if ok && old.hash == c.rec.hash {
		c.same, c.rec.fault = true, old.fault
		return c, 0, nil
	}
	doc, err := l.opt.Reader.Text(ctx, f.path, data)
	if err != nil {
		c.rec.fault = reason(f.path, err)
		return c, 0, ctx.Err()
	}
	c.places = places(doc)
	return c, len(doc.Markdown), nil
}

// reason says why a document cannot be read, without its name.
func reason(name string, err error) string {
	var u *document.UnsupportedError
	if errors.As(err, &u) {
		return "it is a " + u.Type
	}
	return oneLine(strings.TrimPrefix(err.Error(), name+": "))
}

// places cuts a document at its headings, and long sections further.
func places(doc document.Doc) []place {
	sections := document.Outline(doc.Markdown)
	first := len(doc.Markdown)
	if len(sections) > 0 {
		first = sections[0].Start
	}
	out := pieces(nil, place{title: doc.Title}, doc.Markdown[:first])
	var trail []document.Section
	for i, s := range sections {
		for len(trail) > 0 && trail[len(trail)-1].Level >= s.Level {
			trail = trail[:len(trail)-1]
		}
		trail = append(trail, s)
		p := place{title: doc.Title, anchor: s.Anchor, heading: trailOf(trail, doc.Title)}
		if i == 0 && s.Title == doc.Title {
			p.anchor = "" // the document itself
		}
		out = pieces(out, p, doc.Markdown[s.Body:s.End])
	}
	if len(out) == 0 {
		out = []place{{title: doc.Title}}
	}
	return out
}

// trailOf joins the headings that lead to a section, without the title.
func trailOf(trail []document.Section, title string) string {
	var parts []string
	for i, s := range trail {
		if i == 0 && s.Title == title {
			continue
		}
		parts = append(parts, s.Title)
	}
	return strings.Join(parts, " > ")
}

// pieces cuts a section's text at blank lines, else at lines, into places.
func pieces(out []place, p place, text string) []place {
	text = strings.TrimSpace(text)
	if text == "" {
		if p.heading != "" {
			out = append(out, p)
		}
		return out
	}
	for text != "" {
		n := len(text)
		if n > placeBytes {
			n = placeBytes
			for n > 0 && !utf8.RuneStart(text[n]) {
				n--
			}
			if i := strings.LastIndex(text[:n], "\n\n"); i > n/3 {
				n = i
			} else if i := strings.LastIndexByte(text[:n], '\n'); i > n/3 {
				n = i
			} else if i := strings.LastIndexByte(text[:n], ' '); i > n/3 {
				n = i
			}
		}
		p.body = text[:n]
		out = append(out, p)
		text = strings.TrimSpace(text[n:])
	}
	return out
}

func oneLine(s string) string { return short(strings.Join(strings.Fields(s), " ")) }
