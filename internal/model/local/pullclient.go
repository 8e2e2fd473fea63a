package local

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// client is a package client of the user's.
type client struct {
	name string   // for a person
	argv []string // how it is started
}

// clients are tried in order.
func pips() []client {
	return []client{
		{"pip", []string{"pip3"}}, {"pip", []string{"pip"}},
		{"pip", []string{"python3", "-m", "pip"}}, {"pip", []string{"python", "-m", "pip"}},
	}
}

// run starts a client in a folder of its own and waits for it. watch is told
// now and then how many bytes the folder holds.
func (p *puller) run(ctx context.Context, c client, dir string, watch func(int64), args ...string) error {
	program, err := p.look(c.argv[0])
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, append(append([]string(nil), c.argv[1:]...), args...)...)
	cmd.Dir = dir
	cmd.Env = append(append([]string(nil), p.env...), "TMPDIR="+dir)
	cmd.WaitDelay = 5 * time.Second
	said := &tail{}
	cmd.Stdout, cmd.Stderr = said, said
	apart(cmd)
	done := make(chan error, 1)
	go p.own(cmd, done)
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if err != nil {
				return fmt.Errorf("%s failed (%w): %s", c.name, err, said.last(400))
			}
			return nil
		case <-tick.C:
			watch(sizeBelow(dir))
		}
	}
}

// own runs a command on a thread of its own, see process.run.
func (p *puller) own(cmd *exec.Cmd, done chan<- error) {
	runtime.LockOSThread()
	done <- cmd.Run()
}

// look finds a program on the PATH of the clients.
func (p *puller) look(name string) (string, error) {
	for _, kv := range p.env {
		path, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			if !filepath.IsAbs(dir) {
				continue
			}
			full := filepath.Join(dir, name)
			if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return full, nil
			}
		}
	}
	return "", &noClientError{name}
}

// noClientError says that a package client is not installed.
type noClientError struct{ name string }

func (e *noClientError) Error() string { return e.name + " is not installed" }

// sizeBelow adds up the files below a folder.
func sizeBelow(dir string) int64 {
	var sum int64
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // what just went away is not counted
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// onlyFile gives the one file in a folder whose name ends so.
func onlyFile(dir, suffix string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), suffix) {
			return filepath.Join(dir, e.Name()), nil
		}
	}
	return "", fmt.Errorf("it fetched no file that ends in %s", suffix)
}
