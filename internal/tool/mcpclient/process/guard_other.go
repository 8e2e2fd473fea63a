//go:build unix && !linux

package process

import (
	"os"
	"syscall"
)

func ownBinary() (string, error) { return os.Executable() }

// adopt is nothing here: this system gives orphans to its first process.
func adopt() {}

// apart gives the program a session of its own, whose group is ended as one.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// descendants are known as the program's group alone.
func descendants() []int { return nil }
