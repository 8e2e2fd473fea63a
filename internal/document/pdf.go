package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

const (
	pdfWorkers     = 2       // PDFs read side by side
	pdfMemoryPages = 8 << 10 // of 64 KiB: 512 MiB for each
	pdfWait        = 30 * time.Second
)

// pdfEngine is PDFium as WebAssembly: it sees no file, no network and no
// environment. Compiling it takes about two seconds, loading the compiled form
// from the cache a twentieth of one; interpreting starts at once and is slower
// afterwards.
type pdfEngine struct {
	cache     string
	interpret bool

	mu     sync.Mutex
	pool   pdfium.Pool
	closed bool
}

func (e *pdfEngine) instance(ctx context.Context) (pdfium.Pdfium, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errors.New("the reader is closed")
	}
	if e.pool == nil {
		pool, err := e.start()
		if err != nil {
			return nil, fmt.Errorf("starting the PDF engine: %w", err)
		}
		e.pool = pool
	}
	wait, cancel := context.WithTimeout(ctx, pdfWait)
	defer cancel()
	return e.pool.GetInstanceWithContext(wait)
}

func (e *pdfEngine) start() (pdfium.Pool, error) {
	rc := wazero.NewRuntimeConfig()
	if e.interpret {
		rc = wazero.NewRuntimeConfigInterpreter()
	}
	rc = rc.WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithCloseOnContextDone(true).WithMemoryLimitPages(pdfMemoryPages)
	if e.cache != "" && os.MkdirAll(e.cache, 0o700) == nil {
		if c, err := wazero.NewCompilationCacheWithDir(e.cache); err == nil {
			rc = rc.WithCompilationCache(c) // without it, starting is slow and nothing else
		}
	}
	return webassembly.Init(webassembly.Config{
		MaxIdle: 0, MaxTotal: pdfWorkers, RuntimeConfig: rc,
		FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard,
	})
}

func (e *pdfEngine) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.pool == nil {
		return nil
	}
	err := e.pool.Close()
	e.pool = nil
	return err
}

// readPDF gives the text of a PDF, with headings where the letters are larger.
func (r *Reader) readPDF(ctx context.Context, data []byte) (Doc, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opt.PDFTime)
	defer cancel()
	inst, err := r.pdf.instance(ctx)
	if err != nil {
		return Doc{}, err
	}
	// A call into the engine cannot be interrupted but by ending its worker.
	type answer struct {
		doc Doc
		err error
	}
	done := make(chan answer, 1)
	go func() {
		doc, err := readPages(ctx, inst, data, r.opt)
		done <- answer{doc, err}
	}()
	select {
	case a := <-done:
		_ = inst.Close()
		return a.doc, a.err
	case <-ctx.Done():
		_ = inst.Kill()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return Doc{}, fmt.Errorf("reading the PDF took longer than %v; split it", r.opt.PDFTime)
		}
		return Doc{}, ctx.Err()
	}
}

func readPages(ctx context.Context, inst pdfium.Pdfium, data []byte, opt Options) (doc Doc, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading the PDF: %v", p)
		}
	}()
	opened, err := inst.OpenDocument(&requests.OpenDocument{FileReader: bytes.NewReader(data), FileReaderSize: int64(len(data))})
	switch {
	case errors.Is(err, pdferrors.ErrPassword):
		return Doc{}, errors.New("the PDF is locked by a password; save an open copy of it")
	case err != nil:
		return Doc{}, fmt.Errorf("the PDF is damaged: %w", err)
	}
	count, err := inst.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: opened.Document})
	if err != nil {
		return Doc{}, fmt.Errorf("the PDF is damaged: %w", err)
	}
	doc = Doc{Kind: KindPDF, Title: metaTitle(inst, opened.Document)}
	var set pdfText
	read := min(count.PageCount, opt.MaxPages)
	for i := range read {
		if err := ctx.Err(); err != nil {
			return Doc{}, err
		}
		if set.bytes > opt.MaxText {
			read = i
			break
		}
		if err := set.add(inst, requests.Page{ByIndex: &requests.PageByIndex{Document: opened.Document, Index: i}}); err != nil {
			return Doc{}, fmt.Errorf("page %d of the PDF cannot be read: %w", i+1, err)
		}
	}
	if read < count.PageCount {
		doc.Cut = fmt.Sprintf("only the first %d of %d pages are given", read, count.PageCount)
	}
	doc.Markdown = set.markdown()
	if strings.TrimSpace(doc.Markdown) == "" {
		return Doc{}, errors.New("the PDF has no text, only pictures of pages; run text recognition (OCR) on it first")
	}
	if doc.Title == "" {
		doc.Title = firstHeading(doc.Markdown)
	}
	return doc, nil
}

func metaTitle(inst pdfium.Pdfium, doc references.FPDF_DOCUMENT) string {
	meta, err := inst.GetMetaData(&requests.GetMetaData{Document: doc, Tags: &[]string{"Title"}})
	if err != nil {
		return ""
	}
	for _, t := range meta.Tags {
		v := strings.TrimSpace(strings.Trim(t.Value, "\x00"))
		if t.Tag == "Title" && !strings.EqualFold(v, "untitled") && !fileName(v) {
			return v
		}
	}
	return ""
}

// fileName says that a title is only the name of the file that a PDF was made
// from.
func fileName(title string) bool {
	e := path.Ext(title)
	return strings.ContainsAny(title, "\\/") || len(e) > 1 && len(e) <= 5 && !strings.ContainsAny(e, " 0123456789")
}
