package local

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"towpath/internal/model"
	"towpath/internal/model/endpoint"
	"towpath/internal/model/local/child"
	"towpath/internal/model/local/engine"
	"towpath/internal/model/openai"
)

// Provider gives the models that run on this machine.
type Provider struct {
	cfg     Config
	catalog catalog
	only    []string       // for Serve: models that the child may load
	plain   *openai.Client // talks to the child
	safe    *openai.Client // the same, and asks for no grammar

	mu     sync.Mutex
	child  *process
	closed bool
}

// New makes a Provider. It starts nothing and reads nothing.
func New(cfg Config) *Provider {
	fill := func(d *time.Duration, or time.Duration) {
		if *d <= 0 {
			*d = or
		}
	}
	fill(&cfg.Start, 30*time.Second)
	fill(&cfg.First, 5*time.Minute)
	fill(&cfg.Idle, 2*time.Minute)
	fill(&cfg.Total, time.Hour)
	p := &Provider{cfg: cfg, catalog: known()}
	p.plain = openai.New(p.client(nil))
	p.safe = openai.New(p.client(map[string]string{child.SafeHeader: "1"}))
	return p
}

func (p *Provider) client(headers map[string]string) openai.Config {
	return openai.Config{
		Provider: strings.TrimSuffix(Prefix, "/"),
		BaseURL:  "http://local/v1",
		Headers:  headers,
		Timeouts: endpoint.Timeouts{FirstByte: p.cfg.First, Idle: p.cfg.Idle, Total: p.cfg.Total},
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			p.mu.Lock()
			c := p.child
			p.mu.Unlock()
			if c == nil {
				return nil, errors.New("the model's process is not running")
			}
			return c.dial(ctx)
		},
	}
}

// Supported says why models cannot run on this machine; nil if they can.
func Supported() error {
	if err := engine.Supported(); err != nil {
		return err
	}
	_, err := known().here()
	return err
}

// ensure gives the running child, starting one if there is none.
func (p *Provider) ensure(ctx context.Context) (c *process, fresh bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, errors.New("the provider of local models is closed")
	}
	if p.child != nil && !p.child.gone(0) {
		return p.child, false, nil
	}
	st, err := openStore(p.cfg.CacheDir)
	if err != nil {
		return nil, false, err
	}
	c, err = launch{command: p.cfg.Command, cache: strings.TrimSuffix(st.dir, "/local"), threads: p.cfg.Threads, only: p.only}.start()
	if err != nil {
		return nil, false, err
	}
	if err := c.wait(ctx, p.cfg.Start); err != nil {
		c.close()
		return nil, false, err
	}
	p.child = c
	return c, true, nil
}

// Close ends the child and waits for it. Calls in flight fail.
func (p *Provider) Close() error {
	p.mu.Lock()
	c := p.child
	p.closed, p.child = true, nil
	p.mu.Unlock()
	if c != nil {
		c.close()
	}
	return nil
}

// List gives the models that are pulled and usable, without starting the
// child.
func (p *Provider) List(ctx context.Context) ([]model.Info, error) {
	entries, err := Known(p.cfg.CacheDir)
	if err != nil {
		return nil, err
	}
	var out []model.Info
	for _, e := range entries {
		if !e.Pulled {
			continue
		}
		out = append(out, info(e.Name, e.Window, e.Bytes))
	}
	return out, nil
}

// info describes a model. Tools, schemas and a required call are the grammar's
// doing, so every model has them.
func info(name string, window int, bytes int64) model.Info {
	yes, no := true, false
	return model.Info{ID: Prefix + name, Window: window, Tools: &yes, Schema: &yes, Images: &no, Thinking: &no,
		Required: true, Bytes: bytes}
}

// Known lists what can be pulled and what of it is there.
func Known(cacheDir string) ([]Entry, error) {
	st, err := openStore(cacheDir)
	if err != nil {
		return nil, err
	}
	return st.entries(known()), nil
}
