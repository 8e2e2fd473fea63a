//go:build unix

package line

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// resizes tells when the terminal's size changes.
func resizes() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}

// stopSelf stops the program, as Ctrl-Z does, until the shell calls it back.
func stopSelf() {
	back := make(chan os.Signal, 1)
	signal.Notify(back, syscall.SIGCONT)
	defer signal.Stop(back)
	if syscall.Kill(0, syscall.SIGTSTP) != nil {
		return
	}
	select {
	case <-back:
	case <-time.After(time.Second): // the shell cannot stop programs
	}
}
