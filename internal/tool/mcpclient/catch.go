package mcpclient

import (
	"context"
	"encoding/json"
	"sync"
)

// catch keeps the result of one request as the server wrote it: the order of a
// schema's fields, large numbers and kinds of content that the SDK does not know
// are in there still. It travels with the request's context to the transport.
type catch struct {
	mu  sync.Mutex
	raw json.RawMessage
}

type catchKey struct{}

// catching gives a context whose request's result is caught.
func catching(ctx context.Context) (context.Context, *catch) {
	c := &catch{}
	return context.WithValue(ctx, catchKey{}, c), c
}

// caught gives the catch that a context carries; nil for none.
func caught(ctx context.Context) *catch {
	c, _ := ctx.Value(catchKey{}).(*catch)
	return c
}

func (c *catch) put(raw json.RawMessage) {
	if c == nil || raw == nil {
		return
	}
	c.mu.Lock()
	c.raw = raw
	c.mu.Unlock()
}

func (c *catch) get() json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw
}
