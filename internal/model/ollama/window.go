package ollama

import (
	"context"
	"fmt"

	"towpath/internal/model"
	"towpath/internal/model/endpoint"
	"towpath/internal/prompt"
)

// leastWindow is the smallest window that is asked for, in tokens. Larger ones
// are its doublings, since every other size makes the server load the model anew.
const leastWindow = 2048

// growths bounds how often a window is doubled for one call where the model's own
// window is unknown.
const growths = 3

// window is what is asked for, and how far it can grow.
type window struct {
	size int
	most int // 0 is unknown
	left int // doublings, where most is unknown
}

// windowFor gives the window for a call that needs so many tokens: the next
// doubling, never smaller than one that was asked for before.
func (c *Client) windowFor(name string, s shown, need int) window {
	most := s.window
	if c.cfg.MaxWindow > 0 && (most == 0 || c.cfg.MaxWindow < most) {
		most = c.cfg.MaxWindow
	}
	w := window{most: most, left: growths}
	w.size = c.raise(name, step(need, most), most)
	return w
}

// step gives the smallest doubling that holds need, within most.
func step(need, most int) int {
	size := leastWindow
	for size < need && size < 1<<30 {
		size *= 2
	}
	if most > 0 {
		size = min(size, most)
	}
	return size
}

// raise notes the window and gives the largest noted so far.
func (c *Client) raise(name string, size, most int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	size = max(size, c.windows[name])
	if most > 0 {
		size = min(size, most)
	}
	c.windows[name] = size
	return size
}

// want notes that later calls need more than size.
func (c *Client) want(name string, size int) {
	c.mu.Lock()
	most := c.shown[name].window
	c.mu.Unlock()
	if c.cfg.MaxWindow > 0 && (most == 0 || c.cfg.MaxWindow < most) {
		most = c.cfg.MaxWindow
	}
	c.raise(name, step(size, most), most)
}

// grow gives the next larger window after one that was too small for need.
func (c *Client) grow(name string, w window, need int) (window, bool) {
	if w.most > 0 && w.size >= w.most || w.most == 0 && w.left == 0 {
		return w, false
	}
	w.left--
	size := c.raise(name, step(need, w.most), w.most)
	grew := size > w.size
	w.size = size
	return w, grew
}

// estimate is about how many tokens the prompt has.
func estimate(b chatRequest) int {
	n := 0
	for _, m := range b.Messages {
		n += 4 + prompt.Estimate(m.Content)
		for _, call := range m.ToolCalls {
			n += 8 + prompt.Estimate(call.Function.Name) + prompt.Estimate(string(call.Function.Arguments))
		}
	}
	for _, t := range b.Tools {
		n += 8 + prompt.Estimate(t.Function.Name) + prompt.Estimate(t.Function.Description) + prompt.Estimate(string(t.Function.Parameters))
	}
	return n
}

// whole reports a prompt that the server cut although it was told not to: older
// servers do not know the field, and some give a smaller window than was asked
// for. A count that is low for another reason, as where the server leaves out
// what it had cached, is no cut.
func (m *served) whole(ctx context.Context, last chatLine, body chatRequest) error {
	about := estimate(body)
	cut := endpoint.CutPrompt(last.Prompt, about, body.Options.Window)
	given := body.Options.Window
	if !cut && last.Prompt > 0 && last.Prompt < about-about/5 {
		if real := m.givenWindow(ctx); real > 0 && about > real+real/4 {
			cut, given = true, real
		}
	}
	if !cut {
		return nil
	}
	return &model.Error{Kind: model.KindOverflow, Model: m.id(), URL: m.client.URL(), Prompt: about, Window: given,
		Message: fmt.Sprintf("the server cut the prompt: it read %d tokens of about %d, with a window of %d", last.Prompt, about, given),
		Mend:    "shorten the largest inputs, take a model with a larger window, or update Ollama"}
}

// givenWindow asks what window the loaded model really has; 0 is unknown.
func (m *served) givenWindow(ctx context.Context) int {
	var running tagList
	if m.client.end.JSON(ctx, "/api/ps", nil, &running) != nil {
		return 0
	}
	for _, r := range running.Models {
		if sameName(r.Name, m.name) {
			return r.Window
		}
	}
	return 0
}
