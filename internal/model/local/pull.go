package local

import (
	"context"
	"time"
)

// PullOptions are the choices of Pull.
type PullOptions struct {
	CacheDir string             // DefaultCacheDir if empty
	Progress func(PullProgress) // may be nil; called by one goroutine at a time
}

// PullProgress says how far a pull is.
type PullProgress struct {
	What  string // what is fetched, checked or waited for, for a person
	From  string // the place it comes from
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

// Pull fetches the library and the weights of a model that is known by name,
// from the first place that has them, and checks sizes and SHA-256. What is
// there already is not fetched again. An interrupted Pull goes on where it
// stopped; two at once wait for each other.
func Pull(ctx context.Context, name string, opt PullOptions) (PullResult, error) {
	return PullResult{}, nil
}

// Entry is a model that is known by name or was found in the cache.
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

// Known lists what can be pulled and what of it is there.
func Known(cacheDir string) ([]Entry, error) { return nil, nil }
