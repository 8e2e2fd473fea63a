//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

const pathSeparators = "/"

// platform is what a Process needs on Unix.
type platform struct {
	guard    *exec.Cmd
	lifeline *os.File
}

// launch starts the guard, which starts the program.
func (p *Process) launch(s Spec, path string, in, out *os.File) error {
	if os.Getenv(guarding) != "" {
		return errors.New("a guard starts nothing but its own program: main has to call process.Guard")
	}
	command := s.Guard
	if len(command) == 0 {
		self, err := ownBinary()
		if err != nil {
			return fmt.Errorf("finding this program: %w", err)
		}
		command = []string{self, GuardArg}
	}
	lifeR, lifeW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer lifeR.Close()
	args := append(append(command[1:len(command):len(command)], path), s.Args...)
	cmd := exec.Command(command[0], args...)
	if len(s.Guard) == 0 {
		cmd.Args[0] = os.Args[0]
	}
	cmd.Env, cmd.Dir = append(s.Env[:len(s.Env):len(s.Env)], guarding+"=1"), s.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, s.Stderr
	cmd.ExtraFiles = []*os.File{lifeR}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		lifeW.Close()
		return err
	}
	p.plat = platform{cmd, lifeW}
	go func() {
		err := cmd.Wait()
		if errors.Is(err, exec.ErrWaitDelay) {
			err = nil
		}
		p.err = err
		lifeW.Close()
		close(p.ended)
	}()
	return nil
}

// guarding is set for a guard. A binary that does not know GuardArg would start
// itself again and again; this ends that at the first time.
const guarding = "TOWPATH_GUARDING"

// end lets the guard end everything.
func (p *Process) end() { p.plat.lifeline.Close() }

// kill ends the guard, for one that hangs.
func (p *Process) kill() { p.plat.guard.Process.Kill() }

// lifelineFD is the guard's end of the pipe from its parent.
const lifelineFD = 3

// Guard is the guard's whole life. args are the program's path and arguments.
// It gives the exit code.
func Guard(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "this is for the program's own use")
		return 2
	}
	os.Unsetenv(guarding)
	syscall.CloseOnExec(lifelineFD)
	lifeline := os.NewFile(lifelineFD, "lifeline")
	told := make(chan os.Signal, 4)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE)
	adopt()
	runtime.LockOSThread() // where the system ends a child with its parent, it means the thread
	cmd := exec.Command(args[0])
	cmd.Args = args
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = apart()
	signal.Reset(syscall.SIGPIPE)
	err := cmd.Start()
	signal.Ignore(syscall.SIGPIPE)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s cannot be started: %s\n", args[0], reason(err))
		return 127
	}
	os.Stdin.Close()
	os.Stdout.Close()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		var b [1]byte
		for {
			if n, err := lifeline.Read(b[:]); n == 0 && err != nil {
				return
			}
		}
	}()
	ended := make(chan int, 1)
	go func() { ended <- code(cmd.Wait()) }()
	group := cmd.Process.Pid
	select {
	case status := <-ended:
		sweep(group)
		return status
	case <-closed:
	case <-told:
	}
	return finish(group, ended)
}

// finish ends a program that still runs: politely, then by force.
func finish(group int, ended <-chan int) int {
	signalAll(group, syscall.SIGTERM)
	late := time.NewTimer(politely)
	defer late.Stop()
	status := 128 + int(syscall.SIGKILL)
	select {
	case status = <-ended:
	case <-late.C:
		syscall.Kill(-group, syscall.SIGKILL)
		status = <-ended
	}
	sweep(group)
	return status
}

// signalAll signals the program's group and whoever else descends from it.
func signalAll(group int, sig syscall.Signal) {
	syscall.Kill(-group, sig)
	for _, pid := range descendants() {
		if pid != group {
			syscall.Kill(pid, sig)
		}
	}
}

// sweep ends what the program left behind. It is called after the program
// itself was waited for, so that every child that is found here was adopted.
func sweep(group int) {
	const most = 5 * time.Second
	pause := time.Millisecond
	for began := time.Now(); time.Since(began) < most; {
		syscall.Kill(-group, syscall.SIGKILL)
		left := descendants()
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if reap() && len(left) == 0 {
			return
		}
		time.Sleep(pause)
		pause = min(2*pause, 50*time.Millisecond)
	}
}

// reap waits for children that ended, and reports that none is left.
func reap() bool {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return true
		case pid == 0:
			return false
		}
	}
}

func code(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return 1
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return exit.ExitCode()
}
