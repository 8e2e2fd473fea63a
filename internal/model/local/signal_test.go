//go:build linux

package local

import (
	"os"
	"syscall"
	"testing"
)

// stopProcess makes a process hang.
func stopProcess(t testing.TB, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}
