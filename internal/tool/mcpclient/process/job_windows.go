package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

const pathSeparators = `/\`

// platform is what a Process needs on Windows: a job that ends with its last
// handle, which is this program's.
type platform struct {
	cmd *exec.Cmd
	job windows.Handle
}

// launch starts the program in a job of its own.
func (p *Process) launch(s Spec, path string, in, out *os.File) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("making a job: %w", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		windows.CloseHandle(job)
		return fmt.Errorf("setting up a job: %w", err)
	}
	cmd := exec.Command(path, s.Args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".bat", ".cmd":
		line, err := batchLine(path, s.Args)
		if err != nil {
			windows.CloseHandle(job)
			return err
		}
		shell := filepath.Join(value(s.Env, "SystemRoot"), "System32", "cmd.exe")
		cmd = exec.Command(shell)
		cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true, CmdLine: line}
	}
	cmd.Env, cmd.Dir = s.Env, s.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, s.Stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		windows.CloseHandle(job)
		return err
	}
	if h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid)); err == nil {
		_ = windows.AssignProcessToJobObject(job, h)
		windows.CloseHandle(h)
	}
	p.plat = platform{cmd, job}
	go func() {
		p.err = cmd.Wait()
		windows.CloseHandle(job)
		close(p.ended)
	}()
	return nil
}

// end ends everything in the job.
func (p *Process) end() { _ = windows.TerminateJobObject(p.plat.job, 1) }

// kill ends the program itself.
func (p *Process) kill() { _ = p.plat.cmd.Process.Kill() }

// Guard is not needed here.
func Guard([]string) int { return 2 }
