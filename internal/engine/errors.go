package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"towpath/internal/agent"
	"towpath/internal/model"
	"towpath/internal/tool"
)

// The exit codes are part of the interface: scripts and other programs act on
// them.
const (
	CodeDone        = 0   // done, or at a gate that the same command passes
	CodeError       = 1   // something failed
	CodeUsage       = 2   // the command or a contract is wrong
	CodeSurrender   = 3   // a loop gave up
	CodePerson      = 4   // a person has to decide
	CodeVerifier    = 5   // the checks are broken or uncalibrated
	CodeLocked      = 6   // another run holds the workspace, or it cannot be locked
	CodePaused      = 7   // paused until a stated time
	CodeInterrupted = 130 // Ctrl-C or SIGTERM
)

// Error is why the engine did not do what was asked: one sentence with its
// cause, what to do about it, and the exit code of the program. It is found
// with errors.As, also through the method ExitCode.
type Error struct {
	Code  int
	How   string    // the kind of end, as in journal.Exited.How
	Err   error     // the cause; its text is the sentence
	Mend  string    // what to do about it, "" if the cause says it
	Until time.Time // of CodePaused
}

// Error gives cause and mend as one sentence.
func (e *Error) Error() string {
	if e.Mend == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + "; " + e.Mend
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// ExitCode is the exit code of the program.
func (e *Error) ExitCode() int { return e.Code }

// ExitCode gives the exit code for err: that of the first error in its chain
// that has one, else 130 for an ended context and 1 for everything else.
func ExitCode(err error) int {
	var coded interface{ ExitCode() int }
	switch {
	case err == nil:
		return CodeDone
	case errors.As(err, &coded):
		return coded.ExitCode()
	case errors.Is(err, context.Canceled):
		return CodeInterrupted
	}
	return CodeError
}

func usage(mend, format string, args ...any) *Error {
	return &Error{Code: CodeUsage, How: HowRefused, Err: fmt.Errorf(format, args...), Mend: mend}
}

func failed(mend, format string, args ...any) *Error {
	return &Error{Code: CodeError, How: HowFailed, Err: fmt.Errorf(format, args...), Mend: mend}
}

// classify gives any error of a run its kind of end and its exit code. What was
// classified already stays as it is.
func classify(ctx context.Context, err error) *Error {
	if e, ok := err.(*Error); ok {
		return e
	}
	var (
		ours    *Error
		items   *ItemsError
		coded   interface{ ExitCode() int }
		unknown *tool.UnknownCallError
		leave   *agent.LeaveError
	)
	until, paused := model.PausedUntil(err)
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()), errors.Is(err, context.Canceled):
		return &Error{Code: CodeInterrupted, How: HowInterrupted, Err: errors.New("interrupted; nothing was written"), Mend: "run the same command to go on"}
	case errors.As(err, &unknown):
		return &Error{Code: CodePerson, How: HowUnknownCall, Err: err}
	case errors.As(err, &leave):
		return &Error{Code: CodePerson, How: HowHandOff, Err: err}
	case paused:
		return &Error{Code: CodePaused, How: HowPaused, Err: err, Until: until, Mend: "paused until " + stamp(until) + ": run the same command then"}
	case errors.As(err, &items):
		mend := "run the same command to try again"
		if items.kept() {
			mend = "run the same command to make the ones that are missing; the others are kept"
		}
		return &Error{Code: CodeError, How: HowFailed, Err: err, Mend: mend}
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &coded) && coded.ExitCode() == CodeLocked:
		return &Error{Code: CodeLocked, How: HowLocked, Err: err}
	case errors.As(err, &coded):
		return &Error{Code: coded.ExitCode(), How: HowFailed, Err: err}
	}
	return &Error{Code: CodeError, How: HowFailed, Err: err}
}
