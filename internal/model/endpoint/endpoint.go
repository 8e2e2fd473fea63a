// Package endpoint is one HTTP address of a model server: how requests are sent
// to it, within which times and sizes, and what its refusals mean.
package endpoint

import "time"

// Timeouts bound a call by kind. A zero field is the default.
type Timeouts struct {
	Connect   time.Duration // until the connection stands, 10 s
	FirstByte time.Duration // until the first piece of the reply, 15 min: local models load and read long prompts
	Idle      time.Duration // between two pieces, 3 min
	Total     time.Duration // of the whole call, 60 min
}
