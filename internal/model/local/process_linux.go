package local

import (
	"os/exec"
	"syscall"
)

// apart sees to it that the child ends with this program however that ends,
// and that a Ctrl-C in the terminal is left to this program.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
