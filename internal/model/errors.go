package model

import (
	"errors"
	"fmt"
	"time"
)

// Kind sorts the errors of a call by what can be done about them.
type Kind string

// The kinds of Error.
const (
	KindUnreachable Kind = "unreachable"      // no server at the address
	KindNoModel     Kind = "no_model"         // the server does not have the model
	KindNoTools     Kind = "no_tools"         // the model cannot call tools
	KindOverflow    Kind = "context_overflow" // prompt and reply do not fit the window
	KindRateLimited Kind = "rate_limited"     // asked too often; RetryAfter may be set
	KindQuota       Kind = "quota_exhausted"  // nothing left until Until
	KindOverloaded  Kind = "overloaded"       // the server is busy
	KindLoading     Kind = "loading"          // the server still loads the model
	KindAuth        Kind = "auth"             // the key is missing or refused
	KindRequest     Kind = "bad_request"      // the server refuses this request
	KindInterrupted Kind = "interrupted"      // the reply broke off
	KindTimeout     Kind = "timeout"          // first byte, idle or total time is over
	KindCrashed     Kind = "crashed"          // the local model's process died
	KindDegenerate  Kind = "degenerate"       // the reply repeats itself without end
	KindSchema      Kind = "schema"           // the reply does not satisfy the schema
	KindNotRecorded Kind = "not_recorded"     // replay has no such request
	KindProtocol    Kind = "protocol"         // the server's answer cannot be read
)

// Error is a failed call.
type Error struct {
	Kind       Kind
	Model      string // provider/model
	URL        string // of the server, without credentials
	Status     int    // HTTP status, 0 if none
	Message    string // what happened, one sentence, with the server's own words where they help
	Mend       string // what to do about it
	RetryAfter time.Duration
	Until      time.Time // when set, only patience is missing: the run pauses until then
	Prompt     int       // tokens, of KindOverflow, 0 if unknown
	Window     int       // tokens, of KindOverflow, 0 if unknown
	Raw        string    // the reply as it came, bounded, where it helps
	Err        error
}

// Error gives the message and the mend as one sentence.
func (e *Error) Error() string {
	s := e.Message
	if e.Model != "" {
		s = fmt.Sprintf("%s: %s", e.Model, s)
	}
	if e.Mend != "" {
		s += "; " + e.Mend
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf gives the kind of err, or "" if it is not an *Error.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}
