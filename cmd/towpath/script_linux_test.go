package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// unprivileged runs a command without the capabilities that let root pass over
// permissions. For a plain user it changes nothing.
func unprivileged(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("name a command")
	}
	runtime.LockOSThread()
	if os.Geteuid() == 0 {
		for _, c := range []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH} {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
				return err
			}
		}
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ())
}

func mayMount() bool { return os.Geteuid() == 0 }

func mountSmall(dir, kb string) (func(), error) {
	if err := unix.Mount("towpath-test", dir, "tmpfs", 0, "mode=755,size="+kb+"k"); err != nil {
		return nil, err
	}
	return func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }, nil
}
