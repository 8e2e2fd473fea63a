// Package app is the single place where the system is wired: the command line,
// the tests and every other front end build their parts here, so that limits,
// redaction, journalling and settings cannot be missing from one of them.
//
// An App belongs to one goroutine; its parts say themselves what they bear.
package app

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"towpath/internal/agent"
	"towpath/internal/document"
	"towpath/internal/durable"
	"towpath/internal/engine"
	"towpath/internal/journal"
	"towpath/internal/lint"
	"towpath/internal/model/local"
	"towpath/internal/settings"
	"towpath/internal/workspace"
)

// Options are the surroundings of an App.
type Options struct {
	Path     string            // the workspace's folder; "" finds the one at or below WorkDir
	WorkDir  string            // the current folder
	Environ  []string          // NAME=value
	Flags    map[string]string // settings that flags set
	Clock    func() time.Time
	Observe  func(journal.Event) // told of everything that happens; may be nil
	Attended bool                // a person watches
	Version  string              // of the program
	Record   string              // file to record model calls to, "" for none
	Replay   string              // file to answer model calls from, "" for none
}

// App is the wired system. Tree, Workspace and Engine are nil without a
// workspace.
type App struct {
	Settings  *settings.Settings
	Tree      *durable.Tree
	Dir       string // tree path of the workspace
	Workspace *workspace.Workspace
	Engine    *engine.Engine

	opt     Options
	cache   string
	reader  *document.Reader
	models  *catalog
	servers *servers
	closed  bool
}

// Open wires the system for one workspace.
func Open(ctx context.Context, opt Options) (*App, error) {
	dir, err := find(opt)
	if err != nil {
		return nil, err
	}
	return open(ctx, opt, dir)
}

// Here wires the system for the workspace at the current folder, or for none
// where there is not exactly one.
func Here(ctx context.Context, opt Options) (*App, error) {
	found, err := Discover(opt.WorkDir)
	if err == nil && len(found) == 1 {
		return open(ctx, opt, filepath.Join(opt.WorkDir, found[0]))
	}
	return Bare(ctx, opt)
}

// Bare wires what needs no workspace.
func Bare(ctx context.Context, opt Options) (*App, error) { return open(ctx, opt, "") }

// Discover gives the workspaces at or below a folder, as paths from it.
func Discover(dir string) ([]string, error) {
	tree, at, err := durable.OpenTree(dir)
	if err != nil {
		return nil, err
	}
	found, err := workspace.Discover(tree.FS(), at)
	if err != nil {
		return nil, err
	}
	for i, f := range found {
		rel, err := filepath.Rel(filepath.FromSlash(at), filepath.FromSlash(f))
		if err != nil {
			return nil, fmt.Errorf("looking for workspaces: %w", err)
		}
		found[i] = rel
	}
	return found, nil
}

// find gives the folder of the workspace that opt means.
func find(opt Options) (string, error) {
	if opt.Path != "" {
		if filepath.IsAbs(opt.Path) {
			return opt.Path, nil
		}
		return filepath.Join(opt.WorkDir, opt.Path), nil
	}
	found, err := Discover(opt.WorkDir)
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 0:
		return "", refuse("there is no workspace here; name its folder, or make one with towpath init")
	case 1:
		return filepath.Join(opt.WorkDir, found[0]), nil
	}
	return "", refuse("there are several workspaces here; name one of %s", strings.Join(found, ", "))
}

func refuse(format string, args ...any) error {
	return &engine.Error{Code: engine.CodeUsage, How: engine.HowRefused, Err: fmt.Errorf(format, args...)}
}

func open(ctx context.Context, opt Options, dir string) (_ *App, err error) {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	a := &App{opt: opt}
	defer func() {
		if err != nil {
			_ = a.Close()
		}
	}()
	if a.Settings, err = settings.Load(settings.Options{
		Workspace: dir, Flags: opt.Flags, Environ: opt.Environ, Dir: opt.WorkDir,
	}); err != nil {
		return nil, err
	}
	if a.cache, err = cacheDir(opt.Environ); err != nil {
		return nil, err
	}
	a.reader = document.NewReader(document.Options{Cache: filepath.Join(a.cache, "documents")})
	a.models = newCatalog(a.Settings, opt, a.cache)
	a.servers = newServers(a)
	if err := a.models.openRecording(); err != nil {
		return nil, err
	}
	if dir == "" {
		return a, nil
	}
	return a, a.openWorkspace(dir)
}

func (a *App) openWorkspace(dir string) (err error) {
	if a.Tree, a.Dir, err = durable.OpenTree(dir); err != nil {
		return err
	}
	a.Workspace, err = workspace.Load(a.Tree.FS(), a.Dir, workspace.Options{Synonyms: a.Settings.Headings, Vars: a.Settings.Vars})
	if err != nil {
		return err
	}
	a.models.stages = a.Workspace.Stages
	a.Engine = engine.New(engine.Config{
		Tree: a.Tree, Dir: a.Dir, Workspace: a.Workspace,
		Models: a.models, Servers: a.servers,
		Vars: a.Settings.Vars,
		Limits: agent.Limits{
			ToolCalls: a.Settings.Limits.ToolCalls, Time: a.Settings.Limits.Time, Tokens: a.Settings.Limits.Tokens,
		},
		Secrets: a.models.secrets(), Clock: a.opt.Clock, Observe: a.opt.Observe,
		Actor: actor(a.opt.Environ), Attended: a.opt.Attended, Version: a.opt.Version,
		MayWrite: func(p string) bool { return a.Settings.MayWrite(filepath.Join(a.Tree.Root(), filepath.FromSlash(p))) },
		Project:  a.project,
	})
	return nil
}

// project turns a file that is not text into text.
func (a *App) project(name string, data []byte) (string, error) {
	doc, err := a.reader.Text(context.Background(), path.Base(name), data)
	return doc.Markdown, err
}

// Close ends what was started. It may be called twice.
func (a *App) Close() error {
	if a.closed {
		return nil
	}
	a.closed = true
	var errs []error
	if a.servers != nil {
		errs = append(errs, a.servers.close())
	}
	if a.models != nil {
		errs = append(errs, a.models.close())
	}
	if a.reader != nil {
		errs = append(errs, a.reader.Close())
	}
	return errors.Join(errs...)
}

// Lint gives every problem of the workspace.
func (a *App) Lint() []workspace.Problem {
	known := map[string][]string{}
	for _, name := range a.servers.Names() {
		known[name] = nil
		if specs, ok := a.servers.Known(name); ok {
			names := make([]string, 0, len(specs))
			for _, s := range specs {
				names = append(names, s.Name)
			}
			known[name] = names
		}
	}
	return lint.Run(a.Tree.FS(), a.Workspace, lint.Options{Servers: known, Vars: a.Settings.Vars, Project: a.project})
}

// ShownPath gives a tree path as a person at the current folder would type it.
func (a *App) ShownPath(treePath string) string {
	abs := filepath.Join(a.Tree.Root(), filepath.FromSlash(treePath))
	if rel, err := filepath.Rel(a.opt.WorkDir, abs); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return abs
}

// tell shows a person something that is no part of the record.
func (a *App) tell(kind journal.Type, text string) {
	if a.opt.Observe != nil {
		a.opt.Observe(journal.Event{V: journal.Version, Time: a.opt.Clock(), Type: kind, Note: text})
	}
}

func cacheDir(environ []string) (string, error) {
	if dir := getenv(environ, "TOWPATH_CACHE"); dir != "" {
		return dir, nil
	}
	return local.DefaultCacheDir()
}

func actor(environ []string) string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	for _, name := range []string{"USER", "USERNAME"} {
		if v := getenv(environ, name); v != "" {
			return v
		}
	}
	return "unknown"
}

func getenv(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}
