// Package browser is the tool server browser-server: readers that each give a
// small slice of a document and never the whole of it: fetch_snippet,
// fetch_urls, fetch_structure, extract and summarize.
//
// A server is safe for use by several goroutines. It keeps the documents and
// summaries of a run, so that each is made once.
package browser

import (
	"context"

	"towpath/internal/model"
	"towpath/internal/tool"
	"towpath/internal/toolbox/library"
)

// ServerName is the server's name in contracts.
const ServerName = "browser-server"

// Page is a document as fetched.
type Page struct {
	Address  string // the address really read, canonical, without fragment
	Anchor   string // heading that was asked for, "" if none
	Title    string
	Markdown string
	Kind     string // as in document.Doc
	Cut      string // what was left out, "" if nothing
}

// Fetcher gets a document by its address. An error's text is shown to the
// model, so it says what to do.
type Fetcher interface {
	Fetch(ctx context.Context, address string) (Page, error)
}

// OfLibrary makes a library a Fetcher.
func OfLibrary(l *library.Library) Fetcher { return libraryFetcher{l} }

type libraryFetcher struct{ library *library.Library }

func (f libraryFetcher) Fetch(ctx context.Context, address string) (Page, error) {
	return Page{}, nil
}

// Config is what the server needs.
type Config struct {
	Fetcher Fetcher
	// Models gives the model that extract and summarize read with. It is asked
	// at each call. nil: those two tools answer with an error that says so.
	Models func(ctx context.Context) (model.Model, model.Info, error)
	// Seed makes the fences around documents reproducible: the run's id, or
	// that of the recording that is replayed. nil, or an empty answer: the run
	// that the context's journal scope names.
	Seed func(ctx context.Context) string
}

// NewServer gives the tool server. It does not close the Fetcher.
func NewServer(cfg Config) tool.Server { return &server{cfg: cfg} }

type server struct{ cfg Config }

func (s *server) Name() string { return ServerName }

func (s *server) Tools(ctx context.Context) ([]tool.Tool, error) { return nil, nil }

func (s *server) Close() error { return nil }
