// Package browser is the tool server browser-server: readers that each give a
// small slice of a document and never the whole of it: fetch_snippet,
// fetch_urls, fetch_structure, extract and summarize.
//
// A server is safe for use by several goroutines. Within a run it fetches each
// document once and makes each summary once. Results hold text from outside
// and say so (Untrusted); who hands them to a model fences them. What is sent
// to a model from here is fenced here.
package browser

import (
	"context"
	"errors"
	"strings"

	"towpath/internal/document"
	"towpath/internal/journal"
	"towpath/internal/model"
	"towpath/internal/tool"
	"towpath/internal/toolbox/library"
)

// ServerName is the server's name in contracts.
const ServerName = "browser-server"

// Page is a document as fetched.
type Page struct {
	Address  string // the address really read, canonical, without fragment
	Title    string
	Markdown string
	Kind     string // as in document.Doc
	Cut      string // what was left out of Markdown, "" if nothing
}

// Fetcher gets a document by its address, which has no fragment. An error's
// text is shown to the model, so it says what to do.
type Fetcher interface {
	Fetch(ctx context.Context, address string) (Page, error)
}

// Config is what the server needs.
type Config struct {
	Fetcher Fetcher
	// Models gives the model that the tool of that name, extract or summarize,
	// reads with. It is asked at each call. nil: those two tools answer with an
	// error that says so.
	Models func(ctx context.Context, tool string) (model.Model, model.Info, error)
	// Seed makes the fences around documents in prompts reproducible: the id of
	// the run, or of the recording that is replayed. nil, or an empty answer:
	// the run that the context's journal scope names.
	Seed func(ctx context.Context) string
	// ChunkTokens and TotalTokens bound what a model is given of a document: in
	// one call, and in all calls of one use of a tool. 0: by the model, less for
	// one that runs on this machine.
	ChunkTokens, TotalTokens int
}

// NewServer gives the tool server. It does not close the Fetcher.
func NewServer(cfg Config) tool.Server { return &server{cfg: cfg, cache: newCache()} }

type server struct {
	cfg   Config
	cache *cache
}

func (s *server) Name() string { return ServerName }

func (s *server) Tools(context.Context) ([]tool.Tool, error) {
	return []tool.Tool{
		&reader{s, snippetSpec(), s.snippet},
		&reader{s, urlsSpec(), s.urls},
		&reader{s, structureSpec(), s.structure},
		&reader{s, extractSpec(), s.extract},
		&reader{s, summarizeSpec(), s.summarize},
	}, nil
}

func (s *server) Close() error { return nil }

// seed names the run that a call belongs to, "" outside of one.
func (s *server) seed(ctx context.Context) string {
	if s.cfg.Seed != nil {
		if seed := s.cfg.Seed(ctx); seed != "" {
			return seed
		}
	}
	return runName(ctx)
}

func runName(ctx context.Context) string {
	if scope, ok := journal.From(ctx); ok {
		return scope.Run.Name()
	}
	return ""
}

// view is a page with the place in it that was asked for.
type view struct {
	Page
	anchor   string // of the heading that was asked for, "" if none
	noAnchor string // heading that was asked for and is not there
}

// page fetches a document, once a run, and finds the heading that the address
// names.
func (s *server) page(ctx context.Context, address string) (view, error) {
	if s.cfg.Fetcher == nil {
		return view{}, errors.New("there is nothing to read from: no library is set; name a folder of documents in towpath.toml")
	}
	base, anchor := split(address)
	got, err := s.cache.do(runName(ctx), "page\x00"+base, func() (any, error) {
		return s.cfg.Fetcher.Fetch(ctx, base)
	})
	if err != nil {
		return view{}, err
	}
	v := view{Page: got.(Page)}
	if anchor == "" {
		return v, nil
	}
	if sec, _, ok := document.Find(document.Outline(v.Markdown), anchor); ok {
		v.anchor = sec.Anchor
	} else {
		v.noAnchor = anchor
	}
	return v, nil
}

// split parts an address from its fragment.
func split(address string) (base, anchor string) {
	if at, err := library.ParseAddress(address); err == nil {
		return library.Address{Path: at.Path}.String(), at.Anchor
	}
	base, anchor, _ = strings.Cut(strings.TrimSpace(address), "#")
	return base, anchor
}
