package process

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownBinary is this program also where its file was replaced since.
func ownBinary() (string, error) { return "/proc/self/exe", nil }

// adopt makes this process the parent of whoever below it loses theirs.
func adopt() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// apart gives the program a session of its own, which ends with the guard.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// descendants lists the processes below this one.
func descendants() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if parent, dead := parentOf(name); parent > 0 && !dead {
			children[parent] = append(children[parent], pid)
		}
	}
	var all []int
	for next := []int{os.Getpid()}; len(next) > 0; next = next[1:] {
		all = append(all, children[next[0]]...)
		next = append(next, children[next[0]]...)
	}
	return all
}

// parentOf reads a process's parent, and whether it is dead and only not yet
// waited for.
func parentOf(pid string) (parent int, dead bool) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, false
	}
	_, rest, ok := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(" "))
	fields := bytes.Fields(rest)
	if !ok || len(fields) < 2 {
		return 0, false
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	return parent, len(fields[0]) == 1 && fields[0][0] == 'Z'
}
