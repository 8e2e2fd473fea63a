package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"towpath/internal/journal"
	"towpath/internal/model"
	"towpath/internal/tool"
	"towpath/internal/toolbox/browser"
	"towpath/internal/toolbox/library"
	"towpath/internal/toolbox/search"
	"towpath/internal/workspace"
)

// servers gives tool servers by name. It is safe for several goroutines.
type servers struct {
	app *App
	mu  sync.Mutex
	lib *library.Library
	run map[string]tool.Server // built-in ones, kept from stage to stage

	warm  warm
	tried map[string]listed // servers that were started to see that they can be
}

func newServers(a *App) *servers {
	return &servers{app: a, run: map[string]tool.Server{}, tried: map[string]listed{}}
}

// kept is a built-in server that outlives the stage: it holds what was read in
// this run.
type kept struct{ tool.Server }

// Close leaves the server running.
func (kept) Close() error { return nil }

func (s *servers) close() error {
	s.cool("")
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, srv := range s.run {
		errs = append(errs, srv.Close())
	}
	if s.lib != nil {
		errs = append(errs, s.lib.Close())
	}
	return errors.Join(errs...)
}

// Names lists every server that is configured or built in.
func (s *servers) Names() []string {
	names := []string{search.ServerName, browser.ServerName}
	for name := range s.app.Settings.Servers {
		names = append(names, name)
	}
	names = append(names, s.app.inertServers()...)
	slices.Sort(names)
	return slices.Compact(names)
}

// builtin gives the built-in server that goes by the name; "" where the name is
// that of a server which a command or an address brings.
func (s *servers) builtin(name string) (string, error) {
	if cfg, ok := s.app.Settings.Servers[name]; ok && cfg.Builtin != "" {
		name = cfg.Builtin
	} else if ok || slices.Contains(s.app.inertServers(), name) {
		return "", nil
	}
	switch name {
	case search.ServerName, browser.ServerName:
		return name, nil
	}
	return "", refuse("there is no tool server %q; the servers are %s", name, strings.Join(s.Names(), ", "))
}

// Check says whether the named servers could be started, and have what the stage
// is granted, by starting those that it cannot do without.
func (s *servers) Check(ctx context.Context, st *workspace.Stage, names []string) error {
	var external []string
	for _, name := range names {
		b, err := s.builtin(name)
		if err != nil {
			return err
		}
		if b == "" {
			external = append(external, name)
			continue
		}
		lib, err := s.library()
		if err != nil {
			return err
		}
		if lib == nil {
			s.app.models.tellOnce(st.Name + " may search and read, and no library is set: its calls will answer with an error; " +
				"name a folder of your documents in towpath.toml ([search] library = \"library\"), or with TOWPATH_SEARCH_LIBRARY")
		}
	}
	return s.try(ctx, st, external)
}

// Open starts the named servers. Those that were started before an error are
// given too, to be closed.
func (s *servers) Open(ctx context.Context, st *workspace.Stage, names []string) ([]tool.Server, error) {
	s.cool(st.Name)
	var out []tool.Server
	for _, name := range names {
		b, err := s.builtin(name)
		if err != nil {
			return out, err
		}
		var srv tool.Server
		if b == "" {
			srv, err = s.openExternal(ctx, st, name)
		} else if srv, err = s.server(name); err == nil {
			srv = kept{srv}
		}
		if err != nil {
			return out, err
		}
		out = append(out, srv)
	}
	return out, nil
}

// Known gives the tools of a server that is built in.
func (s *servers) Known(name string) ([]tool.Spec, bool) {
	b, err := s.builtin(name)
	if err != nil || b == "" {
		return nil, false
	}
	var srv tool.Server
	switch b {
	case search.ServerName:
		srv = search.NewServer()
	default:
		srv = browser.NewServer(browser.Config{})
	}
	tools, err := srv.Tools(context.Background())
	if err != nil {
		return nil, false
	}
	specs := make([]tool.Spec, 0, len(tools))
	for _, t := range tools {
		spec := t.Spec()
		spec.Server = name
		specs = append(specs, spec)
	}
	return specs, true
}

func (s *servers) server(name string) (tool.Server, error) {
	b, err := s.builtin(name)
	if err != nil {
		return nil, err
	}
	lib, err := s.library()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if srv, ok := s.run[name]; ok {
		return srv, nil
	}
	var backends []search.Backend
	cfg := browser.Config{Models: s.reader, Seed: s.seed}
	if lib != nil { // without one the tools say themselves what is missing
		backends = append(backends, search.OfLibrary(lib))
		cfg.Fetcher = browser.OfLibrary(lib)
	}
	var srv tool.Server
	switch b {
	case search.ServerName:
		srv = search.NewServer(backends...)
	default:
		srv = browser.NewServer(cfg)
	}
	if b != name {
		srv = renamed{srv, name}
	}
	s.run[name] = srv
	return srv, nil
}

// renamed is a built-in server under a name of the user's.
type renamed struct {
	tool.Server
	name string
}

// Name is the user's name for the server.
func (r renamed) Name() string { return r.name }

// library opens the folder of the user's documents; nil where none is set.
func (s *servers) library() (*library.Library, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lib != nil {
		return s.lib, nil
	}
	set := s.app.Settings
	if err := set.Need("search.library"); err != nil {
		return nil, err
	}
	if set.Search.Library == "" {
		return nil, nil
	}
	lib, err := library.Open(library.Options{
		Folder: set.Search.Library, Cache: filepath.Join(s.app.cache, "library"), Reader: s.app.reader,
		Progress: s.indexing,
	})
	if err != nil {
		return nil, err
	}
	s.lib = lib
	return lib, nil
}

func (s *servers) indexing(done, total int) {
	s.app.tell(journal.Waiting, fmt.Sprintf("reading the library into its index, %d of %d documents", done, total))
}

// reader gives the model that a reading tool (extract, summarize) reads with.
func (s *servers) reader(ctx context.Context, tool string) (model.Model, model.Info, error) {
	names := []string{browser.ServerName + "." + tool, browser.ServerName}
	if scope, ok := journal.From(ctx); ok && scope.Stage != "" {
		names = append(names, scope.Stage)
	}
	ch, err := s.app.models.choose(ctx, false, names...)
	return ch.Model, ch.Info, err
}

// seed is the recording's; otherwise the run's name serves.
func (s *servers) seed(context.Context) string { return s.app.models.seed() }

// ListTools gives the tools of every server, starting those that are not built
// in, and a note for each server whose tools cannot be had.
func (a *App) ListTools(ctx context.Context) (specs []tool.Spec, notes []string) {
	byName := map[string][]tool.Spec{}
	var external []string
	for _, name := range a.servers.Names() {
		if known, ok := a.servers.Known(name); ok {
			byName[name] = known
		} else {
			external = append(external, name)
		}
	}
	listed, errs := a.servers.listExternal(ctx, external)
	for _, name := range a.servers.Names() {
		specs = append(append(specs, byName[name]...), listed[name]...)
		if err := errs[name]; err != nil {
			notes = append(notes, err.Error())
		}
	}
	return specs, notes
}

// named gives a server for one call.
func (s *servers) named(name string) (tool.Server, error) {
	b, err := s.builtin(name)
	if err != nil {
		return nil, err
	}
	if b == "" {
		return s.external(name)
	}
	srv, err := s.server(name)
	return kept{srv}, err
}

// CallTool runs one tool without a model.
func (a *App) CallTool(ctx context.Context, server, name, args string) (tool.Result, error) {
	srv, err := a.servers.named(server)
	if err != nil {
		return tool.Result{}, err
	}
	defer srv.Close()
	tools, err := srv.Tools(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	var names []string
	for _, t := range tools {
		spec := t.Spec()
		if spec.Name != name {
			names = append(names, spec.Name)
			continue
		}
		var valid json.RawMessage
		if valid, err = tool.Validate(spec, args); err != nil {
			return tool.Result{}, err
		}
		return t.Call(ctx, valid)
	}
	return tool.Result{}, refuse("the server %s has no tool %q; it has %s", server, name, strings.Join(names, ", "))
}
