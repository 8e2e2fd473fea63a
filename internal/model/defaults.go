package model

import "strings"

// What a request asks for where it says nothing.
const (
	DefaultTemperature = 0.1
	DefaultMaxOutput   = 2048 // tokens
)

// Output is the number of tokens that the reply may have.
func (r Request) Output() int {
	if r.MaxOutput > 0 {
		return r.MaxOutput
	}
	return DefaultMaxOutput
}

// WithDefaults fills in temperature and length of the reply.
func (r Request) WithDefaults() Request {
	if r.Temperature == nil {
		t := DefaultTemperature
		r.Temperature = &t
	}
	r.MaxOutput = r.Output()
	return r
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// bounded cuts s to about n bytes, at a rune, and says so.
func bounded(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "\n[cut]"
}
