// Package openai talks to every server that speaks OpenAI's chat protocol.
package openai

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"towpath/internal/model"
	"towpath/internal/model/endpoint"
)

// Config says where a server is and how it is used.
type Config struct {
	Provider  string            // first part of the model's id, such as "groq"
	BaseURL   string            // with the version path, such as https://api.openai.com/v1
	Key       string            // sent as a bearer token; "" sends none
	KeyFrom   string            // where the key comes from (an environment variable), for error texts
	Headers   map[string]string // sent with each request, never to another host
	MaxWindow int               // tokens; the window where the server does not state one; 0 is unknown
	Timeouts  endpoint.Timeouts
	Clock     func() time.Time                                                  // nil is time.Now
	Dial      func(ctx context.Context, network, addr string) (net.Conn, error) // nil is the network; a child process's socket goes here
}

// Client is one server. Safe for use by several goroutines. It remembers which
// fields the server refused, and the windows that its refusals stated.
type Client struct {
	cfg Config
	end *endpoint.Endpoint

	mu      sync.Mutex
	refused map[string]refusedFields // by model
	windows map[string]int           // learned from refusals, by model
}

// New makes a client. It contacts nothing.
func New(cfg Config) *Client {
	header := map[string]string{}
	if cfg.Key != "" {
		header["Authorization"] = "Bearer " + cfg.Key
	}
	for k, v := range cfg.Headers {
		header[k] = v
	}
	return &Client{
		cfg: cfg,
		end: endpoint.New(endpoint.Config{BaseURL: cfg.BaseURL, Header: header, Timeouts: cfg.Timeouts,
			Clock: cfg.Clock, Dial: cfg.Dial}),
		refused: map[string]refusedFields{},
		windows: map[string]int{},
	}
}

// URL is the server's address.
func (c *Client) URL() string { return c.end.URL() }

// Model is a model of the server, by its name there. The result is also a
// model.Describer.
func (c *Client) Model(name string) model.Model { return &served{client: c, name: name} }

// served is one model of a server.
type served struct {
	client *Client
	name   string
}

func (m *served) id() string { return m.client.id(m.name) }

func (c *Client) id(name string) string {
	if c.cfg.Provider == "" {
		return name
	}
	return c.cfg.Provider + "/" + name
}

// asked is what error texts say of a call.
func (c *Client) asked(name string, tools bool) endpoint.Asked {
	a := endpoint.Asked{Name: name, Tools: tools, KeyAt: c.cfg.KeyFrom, Pull: "check the name: `towpath models` lists what this server has"}
	if name != "" {
		a.ID = c.id(name)
	}
	if c.end.Local() {
		a.Pull = "load it in the server, or check the name: `towpath models` lists what this server has"
	}
	return a
}

// mend says how a known server is started, where it does not answer.
func (c *Client) mend(err error) error {
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.KindUnreachable || !strings.Contains(e.Mend, "start it") {
		return err
	}
	switch c.cfg.Provider {
	case "llamacpp":
		e.Mend = "start it with `llama-server -m MODEL.gguf --jinja`, or check the address"
	case "lmstudio":
		e.Mend = "start the server in LM Studio (`lms server start`), or check the address"
	default:
		if !c.end.Local() {
			e.Mend = "check the network and the address"
		}
	}
	return e
}

// wireModel is one entry of /models, with the fields that different servers add.
type wireModel struct {
	ID        string `json:"id"`
	Length    int    `json:"context_length"` // OpenRouter
	Window    int    `json:"context_window"` // Groq
	MaxLen    int    `json:"max_model_len"`  // vLLM
	MaxLength int    `json:"max_context_length"`
	Loaded    int    `json:"loaded_context_length"` // LM Studio
	State     string `json:"state"`                 // LM Studio
	Meta      struct {
		Given   int   `json:"n_ctx"` // llama.cpp
		Trained int   `json:"n_ctx_train"`
		Size    int64 `json:"size"`
	} `json:"meta"`
	Parameters   []string `json:"supported_parameters"` // OpenRouter
	Architecture struct {
		Input []string `json:"input_modalities"`
	} `json:"architecture"`
	Capabilities []string `json:"capabilities"`
}

func (w wireModel) window() int {
	for _, n := range []int{w.Loaded, w.MaxLen, w.Meta.Given, w.Length, w.Window, w.MaxLength, w.Meta.Trained} {
		if n > 0 {
			return n
		}
	}
	return 0
}

func (c *Client) info(w wireModel) model.Info {
	info := model.Info{ID: c.id(w.ID), URL: c.URL(), Window: w.window(), Bytes: w.Meta.Size, Loaded: w.State == "loaded", Required: true}
	c.mu.Lock()
	if n := c.windows[w.ID]; n > 0 {
		info.Window = n
	}
	no := c.refused[w.ID]
	info.Required = !no.toolChoice && !no.ignoresChoice
	c.mu.Unlock()
	if info.Window == 0 || c.cfg.MaxWindow > 0 && c.cfg.MaxWindow < info.Window {
		info.Window = c.cfg.MaxWindow
	}
	is := func(list []string, any ...string) *bool {
		if len(list) == 0 {
			return nil
		}
		yes := false
		for _, l := range list {
			for _, a := range any {
				yes = yes || l == a
			}
		}
		return &yes
	}
	info.Tools = is(w.Parameters, "tools")
	info.Schema = is(w.Parameters, "structured_outputs", "response_format")
	info.Thinking = is(w.Parameters, "reasoning", "include_reasoning")
	info.Images = is(w.Architecture.Input, "image")
	if info.Tools == nil {
		info.Tools = is(w.Capabilities, "tool_use", "tools")
	}
	return info
}

// models asks for the list of models.
func (c *Client) models(ctx context.Context) ([]wireModel, error) {
	var list struct {
		Data []wireModel `json:"data"`
	}
	err := c.end.JSON(ctx, "/models", nil, &list)
	var refused *endpoint.Refusal
	if errors.As(err, &refused) {
		return nil, c.end.Classify(refused, c.asked("", false))
	}
	if err != nil {
		return nil, c.mend(err)
	}
	return list.Data, nil
}

// List gives the models that the server names.
func (c *Client) List(ctx context.Context) ([]model.Info, error) {
	found, err := c.models(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]model.Info, len(found))
	for i, w := range found {
		list[i] = c.info(w)
	}
	return list, nil
}

// Describe says what the model is. The error says that the server does not
// answer, refuses the key, or does not have the model. A server without a list
// leaves everything unknown.
func (m *served) Describe(ctx context.Context) (model.Info, error) {
	c := m.client
	found, err := c.models(ctx)
	if k := model.KindOf(err); k == model.KindProtocol || k == model.KindRequest {
		if status := statusOf(err); status == 404 || status == 405 || status == 501 || status == 400 {
			return c.info(wireModel{ID: m.name}), nil
		}
	}
	if err != nil {
		return model.Info{}, err
	}
	w, ok := m.pick(found)
	if !ok {
		return model.Info{}, m.missing(found)
	}
	w.ID = m.name
	info := c.info(w)
	m.enrich(ctx, &info)
	return info, nil
}

func statusOf(err error) int {
	var e *model.Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// pick finds the model in the server's list, by its name or by a name that can
// only mean it. A server that names nothing, or only a file, has what it has.
func (m *served) pick(found []wireModel) (wireModel, bool) {
	for _, w := range found {
		if w.ID == m.name || strings.TrimPrefix(w.ID, "models/") == m.name {
			return w, true
		}
	}
	for _, w := range found {
		if endpoint.SameModel(m.name, w.ID) {
			return w, true
		}
	}
	if len(found) == 0 {
		return wireModel{}, true
	}
	if m.client.cfg.Provider == "llamacpp" && len(found) == 1 {
		return found[0], true
	}
	return wireModel{}, false
}

func (m *served) missing(found []wireModel) error {
	var names []string
	for _, w := range found {
		names = append(names, w.ID)
	}
	a := m.client.asked(m.name, false)
	if near := endpoint.Nearest(m.name, names); near != "" {
		a.Pull = "did you mean " + near + "? " + a.Pull
	} else if len(names) <= 8 {
		a.Pull = "it has " + strings.Join(names, ", ")
	}
	return &model.Error{Kind: model.KindNoModel, Model: m.id(), URL: m.client.URL(),
		Message: fmt.Sprintf("%s does not have the model %q", m.client.URL(), m.name), Mend: a.Pull}
}

// enrich asks two local servers for what their list does not say.
func (m *served) enrich(ctx context.Context, info *model.Info) {
	server := m.client.end.ServerOnly()
	yes := true
	switch m.client.cfg.Provider {
	case "llamacpp":
		var props struct {
			Default struct {
				Window int `json:"n_ctx"`
			} `json:"default_generation_settings"`
		}
		if server.JSON(ctx, "/props", nil, &props) == nil && props.Default.Window > 0 {
			info.Window = props.Default.Window
		}
		info.Loaded, info.Schema = true, &yes
	case "lmstudio":
		var list struct{ Data []wireModel }
		if server.JSON(ctx, "/api/v0/models", nil, &list) != nil {
			return
		}
		for _, w := range list.Data {
			if w.ID == m.name {
				id := info.ID
				*info = m.client.info(w)
				info.ID, info.Schema = id, &yes
			}
		}
	}
	if most := m.client.cfg.MaxWindow; most > 0 && info.Window > most {
		info.Window = most
	}
}
