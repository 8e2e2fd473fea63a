package app

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"towpath/internal/engine"
	"towpath/internal/journal"
	"towpath/internal/model"
	"towpath/internal/model/endpoint"
	"towpath/internal/model/local"
	"towpath/internal/model/ollama"
	"towpath/internal/model/openai"
	"towpath/internal/model/replay"
	"towpath/internal/settings"
	"towpath/internal/workspace"
)

// catalog gives models by name and chooses one where none is named. It is safe
// for several goroutines.
type catalog struct {
	settings *settings.Settings
	opt      Options
	cache    string
	stages   []*workspace.Stage

	recorder *replay.Recorder
	replayed *replay.Model

	mu      sync.Mutex
	named   *replay.Model // the first recording that was named as a model
	local   *local.Provider
	clients map[string]client       // by provider, or by model id where its settings differ
	slots   map[string]*model.Slots // by provider
	models  map[string]wired        // by id
	auto    map[bool]choice         // chosen without a name; the key: must call tools
	told    map[string]bool         // notices that were given
}

// client is a provider that was set up.
type client interface {
	Model(name string) model.Model
	List(ctx context.Context) ([]model.Info, error)
}

// wired is a model as it is called, and what says what it is: without retries and
// recording.
type wired struct{ call, about model.Model }

// choice is a model and why it was taken.
type choice struct{ id, why string }

func newCatalog(s *settings.Settings, opt Options, cache string) *catalog {
	return &catalog{settings: s, opt: opt, cache: cache, clients: map[string]client{}, slots: map[string]*model.Slots{},
		models: map[string]wired{}, auto: map[bool]choice{}, told: map[string]bool{}}
}

func (c *catalog) openRecording() (err error) {
	switch {
	case c.opt.Replay != "":
		c.replayed, err = replay.Open(c.opt.Replay)
	case c.opt.Record != "":
		c.recorder, err = replay.Record(c.opt.Record, fmt.Sprintf("%016x", rand.Uint64()), "")
	}
	return err
}

// seed is what everything random in prompts is made from while a recording is
// made or replayed; "" leaves it to the run.
func (c *catalog) seed() string {
	switch {
	case c.replayed != nil:
		return c.replayed.Seed()
	case c.recorder != nil:
		return c.recorder.Seed()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.named != nil {
		return c.named.Seed()
	}
	return ""
}

func (c *catalog) secrets() []string { return c.settings.Secrets() }

func (c *catalog) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	if c.local != nil {
		errs = append(errs, c.local.Close())
	}
	if c.recorder != nil {
		errs = append(errs, c.recorder.Close())
	}
	return errors.Join(errs...)
}

// Choose gives the model for a stage, ready to be called.
func (c *catalog) Choose(ctx context.Context, st *workspace.Stage, purpose string) (engine.Chosen, error) {
	names := []string{st.Name}
	if purpose != "" && purpose != "turn" {
		names = []string{purpose, st.Name}
	}
	return c.choose(ctx, len(st.Contract.Tools) > 0 && purpose == "turn", names...)
}

func (c *catalog) choose(ctx context.Context, tools bool, names ...string) (engine.Chosen, error) {
	if c.replayed != nil {
		info, err := c.replayed.Describe(ctx)
		return engine.Chosen{Model: model.Journaled(c.replayed, info.ID), Info: info, MaxReply: c.settings.Reply, Seed: c.seed()}, err
	}
	if err := c.settings.NeedModel(names...); err != nil {
		return engine.Chosen{}, err
	}
	id, origin := c.settings.ModelFor(names...)
	if c.elsewhere(id, origin) {
		c.tellOnce(fmt.Sprintf("model %s: named in %s; the workspace's text goes to its server", id, origin))
	}
	if id == "" {
		ch, err := c.choice(ctx, tools)
		if err != nil {
			return engine.Chosen{}, err
		}
		id = ch.id
		c.tellOnce(fmt.Sprintf("model %s: %s; set another with --model, TOWPATH_MODEL or model in towpath.toml", ch.id, ch.why))
	}
	return c.ready(ctx, id, tools)
}

// elsewhere reports that a workspace's file, and not the user, chose a model on
// another machine.
func (c *catalog) elsewhere(id, origin string) bool {
	provider, _, _ := strings.Cut(id, "/")
	at, err := url.Parse(c.settings.Providers[provider].URL)
	if err != nil || at.Host == "" || c.settings.Project == "" || !strings.HasPrefix(origin, c.settings.Project+":") {
		return false
	}
	ip := net.ParseIP(at.Hostname())
	return at.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// ready gives the model of that name once its server has said that it is there.
func (c *catalog) ready(ctx context.Context, id string, tools bool) (engine.Chosen, error) {
	m, err := c.model(id)
	if err != nil {
		return engine.Chosen{}, err
	}
	info, err := c.describe(ctx, id, m.about)
	if err != nil {
		return engine.Chosen{}, err
	}
	if info.Embeds {
		return engine.Chosen{}, &model.Error{Kind: model.KindNoModel, Model: id, URL: info.URL,
			Message: "the model only makes vectors for search and cannot answer",
			Mend:    "name another one; towpath models lists them"}
	}
	if tools && info.Tools != nil && !*info.Tools {
		return engine.Chosen{}, &model.Error{Kind: model.KindNoTools, Model: id, URL: info.URL,
			Message: "the model cannot call tools, and this stage has some",
			Mend:    "name another model with --model, or for this stage alone under [use] in towpath.toml"}
	}
	p := c.settings.Params(id)
	return engine.Chosen{Model: m.call, Info: info, MaxReply: p.Reply, Temp: p.Temperature, Thinking: p.Think != nil && *p.Think, Seed: c.seed()}, nil
}

// describe asks the model's server what it is; settings come before its answer.
func (c *catalog) describe(ctx context.Context, id string, m model.Model) (model.Info, error) {
	info := model.Info{ID: id}
	if d, ok := m.(model.Describer); ok {
		var err error
		if info, err = d.Describe(ctx); err != nil {
			return info, err
		}
	}
	c.override(id, &info)
	if c.recorder != nil {
		return info, c.recorder.Knows(info)
	}
	return info, nil
}

func (c *catalog) override(id string, info *model.Info) {
	p := c.settings.Params(id)
	info.ID = id
	if p.Tools != nil {
		info.Tools = p.Tools
	}
	if p.Window > 0 && (info.Window == 0 || p.Window < info.Window) {
		info.Window = p.Window
	}
}

// Known gives what is known of a stage's model without asking any server.
func (c *catalog) Known(st *workspace.Stage) model.Info {
	var info model.Info
	id, _ := c.settings.ModelFor(st.Name)
	if id == "" {
		return info
	}
	c.override(id, &info)
	if name, ok := strings.CutPrefix(id, local.Prefix); ok {
		if entries, err := local.Known(c.cache); err == nil {
			for _, e := range entries {
				if e.Name == name && (info.Window == 0 || e.Window < info.Window) {
					info.Window = e.Window
				}
			}
		}
	}
	return info
}

// reply gives the tokens that are kept for a reply of a stage's model.
func (c *catalog) reply(st *workspace.Stage) int {
	id, _ := c.settings.ModelFor(st.Name)
	if id == "" {
		return c.settings.Reply
	}
	return c.settings.Params(id).Reply
}

// model gives a model by its name, wired: retries outside, then the record,
// then what holds it to a tool call, then the bound on calls at one time.
func (c *catalog) model(id string) (wired, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, ok := c.models[id]; ok {
		return m, nil
	}
	provider, name, ok := strings.Cut(id, "/")
	if !ok || provider == "" || name == "" {
		return wired{}, refuse("%q is not a model's name; write provider/model, such as ollama/qwen3.5:9b or local/%s", id, local.DefaultModel)
	}
	if provider == "replay" {
		m, err := replay.Open(name)
		if err != nil {
			return wired{}, err
		}
		if c.named == nil {
			c.named = m
		}
		c.models[id] = wired{model.Journaled(m, id), m}
		return c.models[id], nil
	}
	cl, slots, err := c.clientOf(provider, id)
	if err != nil {
		return wired{}, err
	}
	if n := c.settings.Models[id].Parallel; n > 0 {
		slots = model.NewSlots(n)
	}
	policy := model.RetryPolicy{
		Cap: c.settings.Limits.Wait, Loading: c.settings.Params(id).Timeouts.FirstByte, Random: rand.Float64, Now: c.opt.Clock,
	}
	if provider == "local" {
		policy.Crashes = 1 // its provider starts the child again and repeats the call itself
	}
	held := model.Forced(slots.Limit(cl.Model(name))) // it says of itself that it honours a choice of tool
	m := model.Retry(model.Journaled(held, id), policy)
	if c.recorder != nil {
		m = c.recorder.Wrap(m)
	}
	c.models[id] = wired{m, held}
	return c.models[id], nil
}

// clientOf gives the client for one model: its provider's, or one of its own
// where the model's settings differ in what a client is made with. The bound on
// calls at a time stays the provider's. The caller holds mu.
func (c *catalog) clientOf(provider, id string) (client, *model.Slots, error) {
	cl, slots, err := c.client(provider)
	p := c.settings.Params(id)
	if err != nil || provider == "local" || p.Timeouts == c.settings.Timeouts && p.Window == c.settings.Window {
		return cl, slots, err
	}
	if own, ok := c.clients[id]; ok {
		return own, slots, nil
	}
	own, err := c.newClient(provider, p)
	if err != nil {
		return nil, nil, err
	}
	c.clients[id] = own
	return own, slots, nil
}

// client sets a provider up. The caller holds mu.
func (c *catalog) client(provider string) (client, *model.Slots, error) {
	if cl, ok := c.clients[provider]; ok {
		return cl, c.slots[provider], nil
	}
	cl, err := c.newClient(provider, settings.Params{Timeouts: c.settings.Timeouts, Window: c.settings.Window})
	if err != nil {
		return nil, nil, err
	}
	n := c.settings.Providers[provider].Parallel
	if n == 0 {
		n = defaultParallel(provider)
	}
	c.clients[provider], c.slots[provider] = cl, model.NewSlots(n)
	return cl, c.slots[provider], nil
}

func defaultParallel(provider string) int {
	switch provider {
	case "ollama", "local", "llamacpp", "lmstudio":
		return 1
	}
	return 4
}

func (c *catalog) newClient(provider string, params settings.Params) (client, error) {
	if err := c.settings.Need("providers." + provider); err != nil {
		return nil, err
	}
	t := params.Timeouts
	if provider == "local" {
		if c.local == nil {
			c.local = local.New(local.Config{CacheDir: c.cache, First: t.FirstByte, Idle: t.Idle, Total: t.Total})
		}
		return c.local, nil
	}
	timeouts := endpoint.Timeouts{Connect: t.Connect, FirstByte: t.FirstByte, Idle: t.Idle, Total: t.Total}
	p, ok := c.settings.Providers[provider]
	if !ok {
		return nil, refuse("there is no provider %q; the providers are %s", provider, strings.Join(c.providers(), ", "))
	}
	if p.Kind == "ollama" {
		return ollama.New(ollama.Config{Host: p.URL, MaxWindow: params.Window, Timeouts: timeouts, Clock: c.opt.Clock}), nil
	}
	headers := map[string]string{}
	for k, v := range p.Headers {
		headers[k] = v.Reveal()
	}
	key, err := p.Key()
	if err != nil {
		return nil, err
	}
	from := p.KeyEnv
	if from == "" {
		from = p.KeyFile
	}
	return openai.New(openai.Config{
		Provider: provider, BaseURL: p.URL, Key: key.Reveal(), KeyFrom: from, Headers: headers, MaxWindow: params.Window,
		Timeouts: timeouts, Clock: c.opt.Clock,
	}), nil
}

func (c *catalog) providers() []string {
	names := []string{"local", "replay"}
	for name := range c.settings.Providers {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (c *catalog) tellOnce(text string) {
	c.mu.Lock()
	seen := c.told[text]
	c.told[text] = true
	c.mu.Unlock()
	if !seen && c.opt.Observe != nil {
		c.opt.Observe(journal.Event{V: journal.Version, Time: c.opt.Clock(), Type: journal.Notice, Note: text})
	}
}

// patience is how long a server on this machine may take to say what it has
// when nobody named a model.
const patience = 3 * time.Second

// choice takes a model where none is named: what a running Ollama has, else a
// local model that was pulled.
func (c *catalog) choice(ctx context.Context, tools bool) (choice, error) {
	c.mu.Lock()
	ch, ok := c.auto[tools]
	c.mu.Unlock()
	if ok {
		return ch, nil
	}
	ch, err := c.findModel(ctx, tools)
	if err != nil {
		return choice{}, err
	}
	c.mu.Lock()
	c.auto[tools] = ch
	c.mu.Unlock()
	return ch, nil
}

func (c *catalog) findModel(ctx context.Context, tools bool) (choice, error) {
	c.mu.Lock()
	cl, _, err := c.client("ollama")
	c.mu.Unlock()
	if err != nil {
		return choice{}, err
	}
	asked, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	said := "no Ollama answers"
	if infos, err := cl.List(asked); err == nil {
		if info, why := c.fittest(infos, tools); info.ID != "" {
			return choice{info.ID, why}, nil
		}
		said = "the running Ollama has no model for this"
		if tools && len(infos) > 0 {
			said = "none of Ollama's models can call tools"
		}
	}
	if ctx.Err() != nil {
		return choice{}, ctx.Err()
	}
	entries, err := local.Known(c.cache)
	if err != nil {
		return choice{}, err
	}
	best := ""
	for _, e := range entries {
		if e.Pulled && (best == "" || e.Name == local.DefaultModel) {
			best = e.Name
		}
	}
	if best != "" {
		return choice{local.Prefix + best, "no model is named, and " + said}, nil
	}
	return choice{}, &model.Error{Kind: model.KindNoModel,
		Message: "no model is named, " + said + ", and no local model was pulled",
		Mend: "do one of three: start Ollama and pull a model there (ollama pull qwen3.5:9b); or fetch a small one with " +
			"towpath models pull " + local.DefaultModel + "; or name one with a key, such as --model groq/llama-3.3-70b-versatile with GROQ_API_KEY set"}
}

// fittest takes the model that the workspace suggests, else a loaded one, else
// the newest (infos come newest first), among those that can do what is needed.
func (c *catalog) fittest(infos []model.Info, tools bool) (model.Info, string) {
	able := slices.DeleteFunc(slices.Clone(infos), func(i model.Info) bool {
		return i.Embeds || tools && i.Tools != nil && !*i.Tools
	})
	for _, want := range c.settings.Suggest {
		for _, i := range able {
			if i.ID == want || i.ID == "ollama/"+want {
				return i, "no model is named, Ollama has it, and the workspace suggests it"
			}
		}
	}
	for _, i := range able {
		if i.Loaded {
			return i, "no model is named, and Ollama has it loaded"
		}
	}
	if len(able) > 0 {
		return able[0], "no model is named, and it is the newest that Ollama has"
	}
	return model.Info{}, ""
}
