package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"towpath/internal/model"
	"towpath/internal/model/endpoint"
	"towpath/internal/model/local/gguf"
)

// Model gives the model of that name: one that is known by name, or a path
// that ends in .gguf. The name may begin with Prefix. The result is also a
// model.Describer. Nothing is read before it is used.
func (p *Provider) Model(name string) model.Model {
	return &localModel{p: p, name: strings.TrimPrefix(name, Prefix)}
}

// localModel is one model of a Provider.
type localModel struct {
	p    *Provider
	name string
}

// Describe says what the model is, from the head of its file.
func (m *localModel) Describe(context.Context) (model.Info, error) {
	path, head, err := m.check()
	if err != nil {
		return model.Info{}, err
	}
	stat, err := os.Stat(path)
	if err != nil {
		return model.Info{}, m.failed(model.KindNoModel, err.Error(), "", err)
	}
	out := info(m.name, head.Window, stat.Size())
	m.p.mu.Lock()
	out.Loaded = m.p.child != nil
	m.p.mu.Unlock()
	return out, nil
}

// check finds the model's file and checks library and file.
func (m *localModel) check() (string, gguf.Header, error) {
	var none gguf.Header
	if err := Supported(); err != nil {
		return "", none, m.failed(model.KindUnreachable, err.Error(), "", err)
	}
	st, err := openStore(m.p.cfg.CacheDir)
	if err != nil {
		return "", none, m.failed(model.KindNoModel, err.Error(), "", err)
	}
	pull := m.name
	if _, ok := m.p.catalog.model(m.name); !ok {
		pull = SmallModel
	}
	path, head, err := st.resolve(m.p.catalog, m.name)
	if err == nil {
		var lib library
		if lib, err = m.p.catalog.here(); err == nil {
			err = st.checkLibrary(lib)
		}
	}
	var absent *notPulledError
	var sum *ChecksumError
	switch {
	case err == nil:
		return path, head, nil
	case errors.As(err, &absent) && absent.name == "library":
		return "", none, m.failed(model.KindNoModel, "the library that runs local models is not pulled", "run: towpath models pull "+pull, err)
	case errors.As(err, &absent):
		return "", none, m.failed(model.KindNoModel, "the model is not pulled", "run: towpath models pull "+m.name, err)
	case errors.As(err, &sum):
		return "", none, m.failed(model.KindNoModel, err.Error(), "", err)
	case errors.Is(err, gguf.ErrTruncated):
		return "", none, m.failed(model.KindNoModel, err.Error(), "get the file again", err)
	}
	return "", none, m.failed(model.KindNoModel, err.Error(), "", err)
}

func (m *localModel) failed(kind model.Kind, message, mend string, err error) error {
	return &model.Error{Kind: kind, Model: Prefix + m.name, Message: message, Mend: mend, Err: err}
}

// Call answers one call. A child that dies on the way is replaced and the call
// made once more; stream then gets the text from its beginning again, after a
// Delta that says so.
func (m *localModel) Call(ctx context.Context, req model.Request, stream func(model.Delta)) (model.Reply, error) {
	if _, _, err := m.check(); err != nil {
		return model.Reply{}, err
	}
	if stream == nil {
		stream = func(model.Delta) {}
	}
	for attempt := 1; ; attempt++ {
		c, fresh, err := m.p.ensure(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return model.Reply{}, ctx.Err()
			}
			return model.Reply{}, m.failed(model.KindCrashed, err.Error(), "", err)
		}
		if fresh {
			stream(model.Delta{Waiting: "loading " + m.name})
		}
		client := m.p.plain
		if attempt > 1 {
			client = m.p.safe
		}
		reply, err := client.Model(m.name).Call(ctx, req, stream)
		if err == nil || ctx.Err() != nil {
			return reply, err
		}
		died := m.dead(c, err)
		if !died {
			return model.Reply{}, m.sort(err)
		}
		if attempt > 1 || !m.p.open() {
			return model.Reply{}, m.failed(model.KindCrashed, "the process that runs the model died twice: "+c.lastWords(),
				"try another model, or a shorter prompt", err)
		}
		stream(model.Delta{Waiting: "the process that runs the model died; once more"})
	}
}

// dead reports whether the child died of this call. One that hangs is ended,
// and is no reason to try again.
func (m *localModel) dead(c *process, err error) bool {
	switch model.KindOf(err) {
	case model.KindTimeout:
		c.kill()
		<-c.ended
		return false
	case model.KindInterrupted, model.KindUnreachable, model.KindProtocol, "":
		return c.gone(2 * time.Second)
	}
	return c.gone(0)
}

func (p *Provider) open() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.closed
}

// sort gives the child's own kinds of error their kind.
func (m *localModel) sort(err error) error {
	var refusal *endpoint.Refusal
	var e *model.Error
	if !errors.As(err, &e) || !errors.As(err, &refusal) {
		return err
	}
	switch refusal.Type {
	case "degenerate_output":
		e.Kind, e.Message, e.Mend = model.KindDegenerate, refusal.Message, "try again, with another temperature or another model"
	case "model_load_error", "server_error":
		e.Kind, e.Message, e.Mend = model.KindRequest, fmt.Sprintf("the model cannot be used: %s", refusal.Message), ""
	}
	return err
}
