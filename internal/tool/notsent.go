package tool

// NotSentError is a call that never reached its tool: its server could not be
// started or reached. Nothing was done, so nobody has to look.
type NotSentError struct{ Err error }

// Error is the cause.
func (e *NotSentError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *NotSentError) Unwrap() error { return e.Err }
