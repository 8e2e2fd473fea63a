// Package ollama talks to an Ollama server in its native protocol, which alone
// lets the client set the context window and forbid silent truncation.
package ollama

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"sync"
	"time"

	"towpath/internal/model"
	"towpath/internal/model/endpoint"
)

// Config says where the server is and how it is used.
type Config struct {
	Host      string // in any form that OLLAMA_HOST takes; "" is 127.0.0.1:11434
	KeepAlive string // how long the server keeps a model loaded, such as "10m"; "" leaves it to the server
	MaxWindow int    // tokens; caps the window that is asked for; 0 is the model's own
	Timeouts  endpoint.Timeouts
	Clock     func() time.Time // nil is time.Now
}

// Client is one Ollama server. Safe for use by several goroutines. It remembers
// the window asked for per model, which never shrinks.
type Client struct {
	cfg Config
	end *endpoint.Endpoint

	mu      sync.Mutex
	shown   map[string]shown
	windows map[string]int // asked for so far
}

// New makes a client. It contacts nothing.
func New(cfg Config) *Client {
	return &Client{
		cfg:     cfg,
		end:     endpoint.New(endpoint.Config{BaseURL: hostURL(cfg.Host), Timeouts: cfg.Timeouts, Clock: cfg.Clock}),
		shown:   map[string]shown{},
		windows: map[string]int{},
	}
}

// URL is the server's address.
func (c *Client) URL() string { return c.end.URL() }

// Model is a model of the server, by its name there, such as "qwen3.5:9b". The
// result is also a model.Describer.
func (c *Client) Model(name string) model.Model { return &served{client: c, name: name} }

// served is one model of a server.
type served struct {
	client *Client
	name   string
}

func (m *served) id() string { return "ollama/" + m.name }

// shown is what the server says of a model.
type shown struct {
	window  int
	caps    map[string]bool
	hasCaps bool // older servers do not list capabilities
}

// can says whether the model has a capability; nil is unknown.
func (s shown) can(capability string) *bool {
	if !s.hasCaps {
		return nil
	}
	yes := s.caps[capability]
	return &yes
}

// Version asks the server for its version: the cheapest way to learn whether one
// answers.
func (c *Client) Version(ctx context.Context) (string, error) {
	var v struct{ Version string }
	if err := c.ask(ctx, "/api/version", nil, &v, ""); err != nil {
		return "", err
	}
	return v.Version, nil
}

// ask sends a question that no model has to answer.
func (c *Client) ask(ctx context.Context, path string, in, out any, name string) error {
	err := c.end.JSON(ctx, path, in, out)
	var refused *endpoint.Refusal
	if errors.As(err, &refused) {
		return c.refusal(ctx, refused, name, false)
	}
	return mend(err)
}

// mend says how Ollama is started, where it does not answer.
func mend(err error) error {
	var e *model.Error
	if errors.As(err, &e) && e.Kind == model.KindUnreachable && e.Status == 0 && strings.Contains(e.Mend, "start it") {
		e.Mend = "start it with `ollama serve`, or set OLLAMA_HOST"
	}
	return err
}

// refusal gives a refusal its kind, and a missing model its nearest neighbour.
func (c *Client) refusal(ctx context.Context, r *endpoint.Refusal, name string, tools bool) error {
	id := ""
	if name != "" {
		id = "ollama/" + name
	}
	err := c.end.Classify(r, endpoint.Asked{ID: id, Name: name, Tools: tools, KeyAt: "Ollama (`ollama signin`)", Pull: "run `ollama pull " + name + "`"})
	if err.Kind == model.KindNoModel {
		var tags tagList
		if c.end.JSON(ctx, "/api/tags", nil, &tags) == nil {
			err.Mend += tags.hint(name)
		}
	}
	return err
}

// tagList is the answer of /api/tags and /api/ps.
type tagList struct {
	Models []struct {
		Name     string    `json:"name"`
		Model    string    `json:"model"`
		Size     int64     `json:"size"`
		Modified time.Time `json:"modified_at"`
		Window   int       `json:"context_length"`
	} `json:"models"`
}

func (l tagList) names() []string {
	var names []string
	for _, m := range l.Models {
		names = append(names, m.Name)
	}
	return names
}

// hint says what can be used instead of a model that is not there.
func (l tagList) hint(name string) string {
	if near := endpoint.Nearest(name, l.names()); near != "" {
		return ", or use " + near
	}
	if names := l.names(); len(names) > 0 {
		return ", or use one of " + strings.Join(names[:min(len(names), 5)], ", ")
	}
	return ""
}

// show asks what a model is, once. A server that cannot say leaves it unknown.
func (c *Client) show(ctx context.Context, name string) (shown, error) {
	c.mu.Lock()
	s, ok := c.shown[name]
	c.mu.Unlock()
	if ok {
		return s, nil
	}
	var answer struct {
		Capabilities []string       `json:"capabilities"`
		Info         map[string]any `json:"model_info"`
	}
	err := c.ask(ctx, "/api/show", map[string]string{"model": name}, &answer, name)
	switch model.KindOf(err) {
	case model.KindProtocol, model.KindRequest, model.KindOverloaded, model.KindCrashed:
		return shown{}, nil
	}
	if err != nil {
		return shown{}, err
	}
	s = shown{window: trainedWindow(answer.Info), hasCaps: answer.Capabilities != nil, caps: map[string]bool{}}
	for _, k := range answer.Capabilities {
		s.caps[k] = true
	}
	c.mu.Lock()
	c.shown[name] = s
	c.mu.Unlock()
	return s, nil
}

// trainedWindow reads <architecture>.context_length.
func trainedWindow(info map[string]any) int {
	arch, _ := info["general.architecture"].(string)
	if n := tokens(info[arch+".context_length"]); n > 0 {
		return n
	}
	least := 0
	for k, v := range info {
		if n := tokens(v); n > 0 && strings.HasSuffix(k, ".context_length") && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// tokens is a window as a server states it; 0 is one that cannot be meant, and
// counts as not stated.
func tokens(v any) int {
	if n, ok := v.(float64); ok && n >= 1 && n <= 1<<31-1 {
		return int(n)
	}
	return 0
}

// Describe says what the model is. The error says that the server does not
// answer or does not have the model.
func (m *served) Describe(ctx context.Context) (model.Info, error) {
	s, err := m.client.show(ctx, m.name)
	if err != nil {
		return model.Info{}, err
	}
	info := m.client.info(m.name, s)
	var running tagList
	if m.client.end.JSON(ctx, "/api/ps", nil, &running) == nil {
		for _, r := range running.Models {
			info.Loaded = info.Loaded || sameName(r.Name, m.name)
		}
	}
	return info, nil
}

func (c *Client) info(name string, s shown) model.Info {
	yes := true
	window := s.window
	if c.cfg.MaxWindow > 0 && (window == 0 || c.cfg.MaxWindow < window) {
		window = c.cfg.MaxWindow
	}
	return model.Info{ID: "ollama/" + name, URL: c.URL(), Window: window,
		Tools: s.can("tools"), Images: s.can("vision"), Thinking: s.can("thinking"), Schema: &yes,
		Embeds: s.hasCaps && s.caps["embedding"] && !s.caps["completion"]}
}

// List gives the models that the server has, newest first, with what is known of
// each. It asks the server for each model's capabilities.
func (c *Client) List(ctx context.Context) ([]model.Info, error) {
	var tags, running tagList
	if err := c.ask(ctx, "/api/tags", nil, &tags, ""); err != nil {
		return nil, err
	}
	loaded := map[string]bool{}
	if c.end.JSON(ctx, "/api/ps", nil, &running) == nil {
		for _, n := range running.names() {
			loaded[n] = true
		}
	}
	sort.SliceStable(tags.Models, func(i, j int) bool { return tags.Models[i].Modified.After(tags.Models[j].Modified) })
	list := make([]model.Info, len(tags.Models))
	var wait sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i, t := range tags.Models {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			s, err := c.show(ctx, t.Name)
			if err != nil {
				s = shown{}
			}
			list[i] = c.info(t.Name, s)
			list[i].Loaded, list[i].Bytes = loaded[t.Name], t.Size
		})
	}
	wait.Wait()
	return list, ctx.Err()
}

// sameName compares names as Ollama does: without a tag it is ":latest".
func sameName(a, b string) bool {
	full := func(s string) string {
		s = strings.TrimPrefix(strings.TrimPrefix(s, "registry.ollama.ai/"), "library/")
		if !strings.Contains(s[strings.LastIndexByte(s, '/')+1:], ":") {
			s += ":latest"
		}
		return strings.ToLower(s)
	}
	return full(a) == full(b)
}

// noTools is the error of a model that cannot call tools.
func (m *served) noTools(n int) error {
	return &model.Error{Kind: model.KindNoTools, Model: m.id(), URL: m.client.URL(), Status: http.StatusBadRequest,
		Message: fmt.Sprintf("this model cannot call tools, and %d were offered", n),
		Mend:    "take a model with the capability \"tools\" (`towpath models` lists them), or write `none` under Tools in the contract"}
}
