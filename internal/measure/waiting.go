package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"towpath/internal/app"
	"towpath/internal/engine"
	"towpath/internal/fakeserver"
)

// waitingRuns reads how much memory runs hold while they wait for a model
// server that says nothing: as processes of their own, and within one process.
func waitingRuns(b *bench) (table, error) {
	const n = 20
	hold := make(chan struct{})
	server, err := fakeserver.Start(fakeserver.Script{Replies: []fakeserver.Reply{{Text: objectives, Times: -1, Hold: hold}}})
	if err != nil {
		return table{}, err
	}
	defer server.Close()
	dirs := make([]string, 2*n)
	for i := range dirs {
		if dirs[i], err = b.course(fmt.Sprintf("waiting-%d", i)); err != nil {
			return table{}, err
		}
	}
	environ := b.environ("OLLAMA_HOST="+server.URL, "TOWPATH_MODEL=ollama/test")

	own, idle, err := b.children(server, dirs[:n], environ)
	if err != nil {
		return table{}, err
	}
	heap, err := b.together(server, dirs[n:], environ, hold)
	if err != nil {
		return table{}, err
	}
	t := table{title: fmt.Sprintf("Memory of a run that waits for a model server (%d at one time)", n)}
	if len(own) > 0 {
		t.rows = append(t.rows,
			row{"a process, all that is resident", mib(median(pick(own, rss))), mib(median(pick(idle, rss))), times(against(own, idle, rss)), ""},
			row{"a process, what it shares with none", mib(median(pick(own, private))), mib(median(pick(idle, private))), times(against(own, idle, private)), ""},
		)
	} else {
		t.notes = append(t.notes, "the memory of processes can be read on Linux only")
	}
	t.rows = append(t.rows, row{"a run within one process", mib(heap), "", "", ""})
	return t, nil
}

// memory is what a process holds, in KiB.
type memory struct{ rss, private int }

func rss(m memory) int     { return m.rss }
func private(m memory) int { return m.private }

func pick(all []memory, f func(memory) int) []int {
	var out []int
	for _, m := range all {
		out = append(out, f(m))
	}
	return out
}

func against(a, b []memory, f func(memory) int) float64 {
	return float64(median(pick(a, f))) / float64(max(1, median(pick(b, f))))
}

func mib(kib int) string { return fmt.Sprintf("%.2f MiB", float64(kib)/1024) }

// children starts a run in every folder and as many idle empty programs, reads
// their memory when all wait, and ends them.
func (b *bench) children(server *fakeserver.Server, dirs, environ []string) (own, idle []memory, err error) {
	var started []*exec.Cmd
	defer func() {
		for _, cmd := range started {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	start := func(path string, args ...string) (int, error) {
		cmd := exec.CommandContext(b.ctx, path, args...)
		cmd.Env = environ
		if _, err := cmd.StdinPipe(); err != nil { // open until the process is ended
			return 0, err
		}
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		started = append(started, cmd)
		return cmd.Process.Pid, nil
	}
	before := len(server.Chats())
	var runs, empties []int
	for _, dir := range dirs {
		for _, p := range []struct {
			pids *[]int
			args []string
		}{{&runs, []string{b.towpath, "run", dir, "--again", "01-scope"}}, {&empties, []string{b.empty, "wait"}}} {
			pid, err := start(p.args[0], p.args[1:]...)
			if err != nil {
				return nil, nil, err
			}
			*p.pids = append(*p.pids, pid)
		}
	}
	if err := b.arrived(server, before+len(dirs)); err != nil {
		return nil, nil, err
	}
	for i := range runs {
		m, err := memoryOf(runs[i])
		if errors.Is(err, os.ErrNotExist) && runtime.GOOS != "linux" {
			return nil, nil, nil
		}
		e, eerr := memoryOf(empties[i])
		if err := errors.Join(err, eerr); err != nil {
			return nil, nil, err
		}
		own, idle = append(own, m), append(idle, e)
	}
	return own, idle, nil
}

// arrived waits until n chat calls wait at the server.
func (b *bench) arrived(server *fakeserver.Server, n int) error {
	deadline := time.Now().Add(time.Minute)
	for len(server.Chats()) < n {
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d runs reached the model server within a minute", len(server.Chats()), n)
		}
		select {
		case <-b.ctx.Done():
			return b.ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

func memoryOf(pid int) (memory, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return memory{}, err
	}
	var m memory
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.Atoi(f[1])
		switch f[0] {
		case "Rss:":
			m.rss = kib
		case "Private_Clean:", "Private_Dirty:":
			m.private += kib
		}
	}
	return m, nil
}

// together starts a run in every folder within this process and gives what
// each adds to heap and stacks, in KiB, its side of the connection included;
// the server's own share, which is in this process too, is taken off by
// holding as many bare calls first.
func (b *bench) together(server *fakeserver.Server, dirs, environ []string, hold chan struct{}) (int, error) {
	before := inUse()
	ended := make(chan error)
	arrived := len(server.Chats())
	for range dirs {
		go func() { ended <- bareCall(server.URL) }()
	}
	if err := b.arrived(server, arrived+len(dirs)); err != nil {
		return 0, err
	}
	calls := inUse() - before

	var apps []*app.App
	defer func() {
		for _, a := range apps {
			_ = a.Close()
		}
	}()
	middle := inUse()
	for _, dir := range dirs {
		a, err := app.Open(b.ctx, app.Options{Path: dir, WorkDir: b.dir, Environ: environ})
		if err != nil {
			return 0, err
		}
		apps = append(apps, a)
		go func() {
			_, err := a.Engine.Run(b.ctx, engine.Options{Again: "01-scope"})
			ended <- err
		}()
	}
	if err := b.arrived(server, arrived+2*len(dirs)); err != nil {
		return 0, err
	}
	runs := inUse() - middle
	close(hold)
	var errs []error
	for range 2 * len(dirs) {
		errs = append(errs, <-ended)
	}
	return (runs - calls) / len(dirs), errors.Join(errs...)
}

func bareCall(url string) error {
	body := `{"model":"test","messages":[{"role":"user","content":"Wait."}]}`
	res, err := http.Post(url+"/api/chat", "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return errors.Join(err, res.Body.Close())
}

// inUse is what lives on heap and stacks, in KiB.
func inUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int((m.HeapAlloc + m.StackInuse) / 1024)
}
