// Package process runs a program that speaks over its standard input and
// output, and sees to it that nothing of it stays behind: not when it is
// stopped, not when it dies, and not when this program is killed.
//
// On Unix the program runs under a guard: this same binary, started with
// GuardArg, which holds a pipe from the parent. When the pipe closes, for
// whatever reason, or when the program ends, the guard ends everything that the
// program started. On Linux the guard also adopts processes that left their
// group or lost their parent. On Windows a job object does the guard's work.
//
// A Process is safe for use by several goroutines.
package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// GuardArg is the first argument that makes this binary a guard: main has to
// hand the rest to Guard before it does anything else.
const GuardArg = "__guard"

// Spec says what to start.
type Spec struct {
	Command string // name or path
	Args    []string
	Env     []string // the whole environment, NAME=value
	Dir     string   // working folder
	Stderr  io.Writer
	Guard   []string // command of the guard; nil is this binary with GuardArg
}

// Process is a running program.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser

	ended chan struct{}
	err   error // of Wait; read only after ended is closed
	plat  platform
	close sync.Once
}

// NotFoundError is a command that is not there.
type NotFoundError struct {
	Command string
	Err     error
}

// Error names the command and what to do.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("the command %q cannot be started: %s; install it, or give its whole path", e.Command, reason(e.Err))
}

// Unwrap gives the cause.
func (e *NotFoundError) Unwrap() error { return e.Err }

func reason(err error) string {
	var e *exec.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	if errors.Is(err, exec.ErrNotFound) {
		return "it is not in PATH"
	}
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// Start starts the program.
func Start(s Spec) (*Process, error) {
	path, err := find(s.Command, s.Dir, s.Env)
	if err != nil {
		return nil, &NotFoundError{s.Command, err}
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe to %s: %w", s.Command, err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a pipe from %s: %w", s.Command, err), inR.Close(), inW.Close())
	}
	p := &Process{Stdin: inW, Stdout: outR, ended: make(chan struct{})}
	err = p.launch(s, path, inR, outW)
	inR.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		outR.Close()
		return nil, fmt.Errorf("starting %s: %w", s.Command, err)
	}
	return p, nil
}

// Ended gives a channel that is closed once the program and everything that it
// started are gone.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// How says how the program ended, in a few words. It must have ended.
func (p *Process) How() string {
	<-p.ended
	var exit *exec.ExitError
	switch {
	case errors.As(p.err, &exit):
		if code := exit.ExitCode(); code > 128 && code < 128+65 {
			return fmt.Sprintf("it was ended by signal %d", code-128)
		}
		return exit.String()
	case p.err != nil:
		return p.err.Error()
	}
	return "it ended by itself"
}

// Stop ends the program: its input is closed, and after patience everything
// that is left is told to end and then killed. It returns when nothing is left.
func (p *Process) Stop(patience time.Duration) error {
	p.close.Do(func() { p.Stdin.Close() })
	if p.within(patience) {
		return nil
	}
	p.end()
	if p.within(endWithin) {
		return nil
	}
	p.kill()
	if p.within(time.Second) {
		return nil
	}
	return errors.New("it could not be ended")
}

func (p *Process) within(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.ended:
		return true
	case <-t.C:
		return false
	}
}

const (
	politely  = 2 * time.Second // from the wish to end to the force
	endWithin = 2*politely + time.Second
)
