package tool

import "context"

// Absent stands for an optional server that cannot be used: the lines that
// grant its tools are passed over with a warning that says why.
func Absent(name string, why error) Server { return absent{name, why} }

type absent struct {
	name string
	why  error
}

// Name is the server's name.
func (a absent) Name() string { return a.name }

// Tools fails with the reason.
func (a absent) Tools(context.Context) ([]Tool, error) { return nil, a.why }

// Close has nothing to do.
func (absent) Close() error { return nil }
