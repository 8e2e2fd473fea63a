package app

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"towpath/internal/journal"
	"towpath/internal/settings"
	"towpath/internal/tool"
	"towpath/internal/tool/mcpclient"
	"towpath/internal/workspace"
)

// external makes the server of the name, not started yet, from what the user
// has set and trusts.
func (s *servers) external(name string) (*mcpclient.Server, error) {
	set := s.app.Settings
	if err := set.Need("servers." + quoted(name)); err != nil {
		return nil, err
	}
	cfg, ok := set.Servers[name]
	if !ok {
		return nil, refuse("there is no tool server %q; the servers are %s", name, strings.Join(s.Names(), ", "))
	}
	if len(cfg.Unset) > 0 {
		return nil, refuse("the server %s needs the variable %s, which is not set; set it in your environment, or change servers.%s in the settings",
			name, strings.Join(cfg.Unset, " and "), quoted(name))
	}
	env := map[string]string{}
	for k, v := range cfg.Env {
		env[k] = v.Reveal()
	}
	return mcpclient.New(mcpclient.Config{
		Name: name, Command: cfg.Command, Args: cfg.Args, URL: cfg.URL,
		Env: mcpclient.Environment(s.app.opt.Environ, env), Dir: s.app.folder(),
		Headers: func() (map[string]string, error) { return headersOf(cfg) },
		Timeouts: mcpclient.Timeouts{
			Start: cfg.StartTimeout, Call: cfg.CallTimeout, Most: cfg.CallLimit,
		},
		Hide: hider(set.Secrets()), Version: s.app.opt.Version,
		Note: func(text string) { s.app.tell(journal.Warning, text) },
	}), nil
}

// quoted is a server's name as a key of the settings has it.
func quoted(name string) string { return settings.KeyPart(name) }

// folder is where servers are started: the workspace's, or the current one.
func (a *App) folder() string {
	if a.Tree == nil {
		return a.opt.WorkDir
	}
	return filepath.Join(a.Tree.Root(), filepath.FromSlash(a.Dir))
}

// headersOf reads what is sent with every request to a server.
func headersOf(cfg settings.Server) (map[string]string, error) {
	out := map[string]string{}
	token, err := cfg.Token()
	if err != nil {
		return nil, err
	}
	if !token.IsZero() {
		out["Authorization"] = "Bearer " + token.Reveal()
	}
	for name, v := range cfg.Headers {
		out[name] = v.Reveal()
	}
	return out, nil
}

// hider takes secrets out of what servers say.
func hider(secrets []string) func(string) string {
	var pairs []string
	for _, secret := range slices.Backward(slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(a) - len(b) })) {
		if len(secret) >= 4 {
			pairs = append(pairs, secret, "(hidden)")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}

// warm are servers that were started to see that they can be, for the stage
// that is next to use them.
type warm struct {
	stage string
	by    map[string]*mcpclient.Server
}

// closeAll ends servers side by side.
func closeAll(list map[string]*mcpclient.Server) {
	done := make(chan struct{})
	for _, srv := range list {
		go func() {
			_ = srv.Close()
			done <- struct{}{}
		}()
	}
	for range list {
		<-done
	}
}

// try starts servers that a stage cannot do without and sees that they have the
// tools that its contract names; one that was tried for an earlier stage is not
// started again. They are kept for that stage where no other keeps any, since
// starting some takes long.
func (s *servers) try(ctx context.Context, st *workspace.Stage, names []string) error {
	started := map[string]*mcpclient.Server{}
	var failed error
	for _, name := range names {
		if !s.required(st, name) {
			continue
		}
		tried, ok := s.known(name)
		if !ok {
			srv, err := s.external(name)
			if err == nil {
				started[name] = srv
				tried.name = name
				tried.tools, err = srv.Tools(ctx)
			}
			if err != nil {
				failed = err
				break
			}
			s.remember(tried)
		}
		if failed = has(ctx, st, tried); failed != nil {
			break
		}
	}
	if failed != nil || !s.keepWarm(st.Name, started) {
		closeAll(started)
	}
	return failed
}

func (s *servers) known(name string) (listed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.tried[name]
	return l, ok
}

func (s *servers) remember(l listed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried[l.name] = l
}

// keepWarm keeps servers for a stage, unless another stage has some.
func (s *servers) keepWarm(stage string, list map[string]*mcpclient.Server) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.warm.by != nil || len(list) == 0 {
		return false
	}
	s.warm = warm{stage, list}
	return true
}

// listed is a server of which only the list of its tools is known.
type listed struct {
	name  string
	tools []tool.Tool
}

// Name is the server's name.
func (l listed) Name() string { return l.name }

// Tools are those that were listed.
func (l listed) Tools(context.Context) ([]tool.Tool, error) { return l.tools, nil }

// Close has nothing to do.
func (listed) Close() error { return nil }

// required reports whether the stage cannot do without the server.
func (s *servers) required(st *workspace.Stage, name string) bool {
	if !s.app.Settings.Servers[name].Optional {
		return true
	}
	return slices.ContainsFunc(st.Contract.Tools, func(g workspace.ToolGrant) bool { return g.Server == name && g.Required })
}

// has looks for the granted tools of one server.
func has(ctx context.Context, st *workspace.Stage, srv tool.Server) error {
	var grants []workspace.ToolGrant
	for _, g := range st.Contract.Tools {
		if g.Server == srv.Name() {
			grants = append(grants, g)
		}
	}
	_, err := tool.Open(ctx, grants, []tool.Server{srv})
	return err
}

// openExternal starts a server for a stage. One that is optional and cannot be
// started is given as absent.
func (s *servers) openExternal(ctx context.Context, st *workspace.Stage, name string) (tool.Server, error) {
	s.mu.Lock()
	srv := s.warm.by[name]
	if srv != nil && s.warm.stage == st.Name {
		delete(s.warm.by, name)
	} else {
		srv = nil
	}
	s.mu.Unlock()
	if srv != nil {
		return srv, nil
	}
	srv, err := s.external(name)
	if err == nil {
		if err = srv.Start(ctx); err == nil {
			return srv, nil
		}
		_ = srv.Close()
	}
	if ctx.Err() == nil && st != nil && !s.required(st, name) {
		return tool.Absent(name, err), nil
	}
	return nil, err
}

// cool ends the servers that were kept for another stage than this.
func (s *servers) cool(stage string) {
	s.mu.Lock()
	old := s.warm
	if old.stage == stage && len(old.by) > 0 {
		s.mu.Unlock()
		return
	}
	s.warm = warm{}
	s.mu.Unlock()
	closeAll(old.by)
}

// listExternal starts every server that is not built in, all at once, and lists
// its tools.
func (s *servers) listExternal(ctx context.Context, names []string) (specs map[string][]tool.Spec, errs map[string]error) {
	type answer struct {
		name  string
		specs []tool.Spec
		err   error
	}
	got := make(chan answer)
	for _, name := range names {
		go func() {
			specs, err := s.listOne(ctx, name)
			got <- answer{name, specs, err}
		}()
	}
	specs, errs = map[string][]tool.Spec{}, map[string]error{}
	for range names {
		l := <-got
		if specs[l.name] = l.specs; l.err != nil {
			errs[l.name] = l.err
		}
	}
	return specs, errs
}

func (s *servers) listOne(ctx context.Context, name string) ([]tool.Spec, error) {
	srv, err := s.external(name)
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	tools, err := srv.Tools(ctx)
	if err != nil {
		return nil, err
	}
	specs := make([]tool.Spec, len(tools))
	for i, t := range tools {
		specs[i] = t.Spec()
	}
	return specs, nil
}

// checkServers starts every server that is set, as a run would.
func (a *App) checkServers(ctx context.Context) []Finding {
	var names []string
	for _, name := range a.servers.Names() {
		if b, err := a.servers.builtin(name); err == nil && b == "" {
			names = append(names, name)
		}
	}
	specs, errs := a.servers.listExternal(ctx, names)
	var out []Finding
	for _, name := range names {
		f := Finding{"server " + name, Good, fmt.Sprintf("it starts, and has %d tools", len(specs[name])), ""}
		if err := errs[name]; err != nil {
			f.State, f.Text = Bad, err.Error()
			if a.Settings.Servers[name].Optional {
				f.State = Note
			}
		}
		out = append(out, f)
	}
	return out
}

// inertServers are the servers that the workspace sets and that wait for trust.
func (a *App) inertServers() []string {
	names := map[string]bool{}
	for _, i := range a.Settings.Inert {
		if name, ok := settings.ServerOf(i.Key); ok {
			names[name] = true
		}
	}
	return slices.Collect(maps.Keys(names))
}
