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
	"io/fs"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	Shown     string // the workspace's folder as a person at the current folder types it
	Workspace *workspace.Workspace
	Engine    *engine.Engine

	opt     Options
	cache   string
	reader  *document.Reader
	models  *catalog
	servers *servers
	talks   *durable.Tree // where conversations outside of a workspace are kept; nil until then
	closed  bool
}

// Open wires the system for one workspace.
func Open(ctx context.Context, opt Options) (*App, error) {
	at, err := find(opt)
	if err != nil {
		return nil, err
	}
	return open(ctx, opt, at)
}

// Here wires the system for the workspace at the current folder, or for none
// where there is not exactly one.
func Here(ctx context.Context, opt Options) (*App, error) {
	found, err := Discover(opt.WorkDir)
	if err == nil && len(found) == 1 {
		return open(ctx, opt, place{filepath.Join(opt.WorkDir, found[0]), found[0]})
	}
	return Bare(ctx, opt)
}

// Bare wires what needs no workspace.
func Bare(ctx context.Context, opt Options) (*App, error) { return open(ctx, opt, place{}) }

// Stages names the stages of a workspace. Only its folder is read.
func Stages(opt Options) ([]string, error) {
	at, err := find(opt)
	if err != nil {
		return nil, err
	}
	tree, dir, err := durable.OpenTree(at.dir)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	w, err := workspace.Load(tree.FS(), dir, workspace.Options{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, st := range w.Stages {
		names = append(names, st.Name)
	}
	return names, nil
}

// Discover gives the workspaces at or below a folder, else the one that the
// folder lies in, as paths from it.
func Discover(dir string) ([]string, error) {
	tree, at, err := durable.OpenTree(dir)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
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
	if len(found) == 0 || len(found) == 1 && found[0] == "." {
		if ws, _, err := above(dir); err == nil && ws != "" {
			return []string{fromFolder(dir, ws)}, nil
		}
	}
	return found, nil
}

// above gives the workspace that a folder belongs to and the folder of its
// stages, both absolute with links resolved; "" if it belongs to none.
func above(dir string) (ws, stages string, err error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", "", err
	}
	root := durable.RepositoryRoot(real)
	if root == "" {
		root = filepath.VolumeName(real) + string(filepath.Separator)
	}
	tree, err := durable.OpenDir(root)
	if err != nil {
		return "", "", err
	}
	defer tree.Close()
	rel, err := filepath.Rel(root, real)
	if err != nil {
		return "", "", err
	}
	w, st := workspace.Above(tree.FS(), filepath.ToSlash(rel))
	if w == "" {
		return "", "", nil
	}
	return filepath.Join(root, filepath.FromSlash(w)), filepath.Join(root, filepath.FromSlash(st)), nil
}

// fromFolder gives an absolute path as it is opened from a folder.
func fromFolder(dir, abs string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(dir, abs)
	if err != nil || len(rel) > len(abs) {
		return abs
	}
	return rel
}

// place is a workspace's folder.
type place struct {
	dir   string // absolute; "" for none
	shown string // as a person at the current folder types it
}

// find gives the folder of the workspace that opt means.
func find(opt Options) (place, error) {
	if opt.Path != "" {
		return named(opt)
	}
	found, err := Discover(opt.WorkDir)
	if err != nil {
		return place{}, err
	}
	switch len(found) {
	case 0:
		return place{}, refuse("there is no workspace here; name its folder, or make one with towpath init")
	case 1:
		if filepath.IsAbs(found[0]) {
			return place{found[0], found[0]}, nil
		}
		return place{filepath.Join(opt.WorkDir, found[0]), found[0]}, nil
	}
	return place{}, refuse("there are several workspaces here; name one of %s", strings.Join(found, ", "))
}

// named gives the workspace that was typed. A folder among its stages means the
// workspace too.
func named(opt Options) (place, error) {
	dir := opt.Path
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(opt.WorkDir, dir)
	}
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return place{}, refuse("there is no folder %s; name a workspace's folder, or make one with towpath init", opt.Path)
	} else if err == nil && !info.IsDir() {
		return place{}, refuse("%s is a file; name the workspace's folder", opt.Path)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		if ws, stages, err := above(real); err == nil && ws != "" && ws != real && inside(stages, real) {
			return place{ws, fromFolder(opt.WorkDir, ws)}, nil
		}
	}
	return place{dir, filepath.Clean(opt.Path)}, nil
}

func refuse(format string, args ...any) error {
	return &engine.Error{Code: engine.CodeUsage, How: engine.HowRefused, Err: fmt.Errorf(format, args...)}
}

func open(ctx context.Context, opt Options, at place) (_ *App, err error) {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	opt.Observe = oneAtATime(opt.Observe)
	a := &App{opt: opt, Shown: at.shown}
	defer func() {
		if err != nil {
			_ = a.Close()
		}
	}()
	if a.Settings, err = settings.Load(settings.Options{
		Workspace: at.dir, Flags: opt.Flags, Environ: opt.Environ, Dir: opt.WorkDir,
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
	if at.dir == "" {
		return a, nil
	}
	return a, a.openWorkspace(at.dir)
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
		Most:    a.most(),
		Reply:   a.models.reply,
		Result:  a.Settings.Limits.ResultBytes,
		Secrets: a.models.secrets(), Clock: a.opt.Clock, Observe: a.opt.Observe,
		Actor: actor(a.opt.Environ), Attended: a.opt.Attended, Version: a.opt.Version,
		MayWrite: func(p string) bool { return a.Settings.MayWrite(filepath.Join(a.Tree.Root(), filepath.FromSlash(p))) },
		Project:  a.project,
	})
	return nil
}

// most are the limits that settings set, and not the defaults: a contract may
// not go beyond them.
func (a *App) most() agent.Limits {
	var l agent.Limits
	if a.Settings.Configured("limits.tool_calls") {
		l.ToolCalls = a.Settings.Limits.ToolCalls
	}
	if a.Settings.Configured("limits.time") {
		l.Time = a.Settings.Limits.Time
	}
	l.Tokens = a.Settings.Limits.Tokens
	return l
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
	if a.talks != nil {
		errs = append(errs, a.talks.Close())
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

// ShownPath gives a tree path as a person at the current folder can open it.
func (a *App) ShownPath(treePath string) string {
	inside, below := strings.CutPrefix(treePath, a.Dir+"/")
	switch {
	case a.Dir == "." || treePath == a.Dir:
		below, inside = true, strings.TrimPrefix(treePath, a.Dir)
		if a.Dir == "." {
			inside = treePath
		}
	}
	if below && !strings.HasPrefix(a.Shown, "..") {
		return filepath.Join(a.Shown, filepath.FromSlash(inside))
	}
	return fromFolder(a.opt.WorkDir, filepath.Join(a.Tree.Root(), filepath.FromSlash(treePath)))
}

// ShownOutput gives a path as the engine displays it, relative to the workspace
// or to the repository, as a person at the current folder can open it.
func (a *App) ShownOutput(display string) string {
	p := path.Join(a.Dir, display)
	if _, err := fs.Stat(a.Tree.FS(), p); err != nil {
		if _, err := fs.Stat(a.Tree.FS(), display); err == nil {
			p = display
		}
	}
	return a.ShownPath(p)
}

// Has reports whether a path as the engine displays it is there.
func (a *App) Has(display string) bool {
	for _, p := range []string{path.Join(a.Dir, display), display} {
		if _, err := fs.Stat(a.Tree.FS(), p); err == nil {
			return true
		}
	}
	return false
}

// oneAtATime lets servers tell what they have to tell while a run goes on.
func oneAtATime(observe func(journal.Event)) func(journal.Event) {
	if observe == nil {
		return nil
	}
	var mu sync.Mutex
	return func(e journal.Event) {
		mu.Lock()
		defer mu.Unlock()
		observe(e)
	}
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
