// Package search is the tool server search-server: one tool, search, over the
// backends that are configured, in order.
//
// A server and its backends are safe for use by several goroutines.
package search

import (
	"context"

	"towpath/internal/tool"
	"towpath/internal/toolbox/library"
)

// ServerName is the server's name in contracts.
const ServerName = "search-server"

// Result is one thing that a search found.
type Result struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
	Engine  string `json:"engine"` // the backend's name, with its own engine where it tells
	Partial bool   `json:"-"`      // it has some of the words only
}

// Backend answers queries. It is safe for use by several goroutines.
type Backend interface {
	Name() string
	// Search gives at most max results, best first. None is no error.
	// library.ErrEmptyQuery says that the query has no words.
	Search(ctx context.Context, query string, max int) ([]Result, error)
}

// OfLibrary makes a library a Backend with the name "library". The caller
// closes the library.
func OfLibrary(l *library.Library) Backend { return libraryBackend{l} }

type libraryBackend struct{ library *library.Library }

func (b libraryBackend) Name() string { return "library" }

func (b libraryBackend) Search(ctx context.Context, query string, max int) ([]Result, error) {
	hits, err := b.library.Search(ctx, query, max)
	if err != nil {
		return nil, err
	}
	out := make([]Result, 0, len(hits))
	for _, h := range hits {
		out = append(out, Result{Title: h.Title, URL: h.Address, Snippet: h.Snippet, Engine: b.Name(), Partial: !h.All})
	}
	return out, nil
}

// NewServer gives the tool server over backends: the first that answers is
// used. It does not close them.
func NewServer(backends ...Backend) tool.Server { return &server{backends: backends} }

type server struct{ backends []Backend }

func (s *server) Name() string { return ServerName }

func (s *server) Tools(context.Context) ([]tool.Tool, error) {
	return []tool.Tool{&searchTool{backends: s.backends}}, nil
}

func (s *server) Close() error { return nil }
