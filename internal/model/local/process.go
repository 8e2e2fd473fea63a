package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// process is a running child.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	dir    string // private folder with the socket
	socket string
	words  *tail
	ready  chan struct{} // closed once it listens
	ended  chan struct{} // closed once it is gone
	err    error         // why it ended; read only after ended is closed
}

// launch says how a child is started.
type launch struct {
	command []string // the program and its first arguments
	cache   string
	threads int
	only    []string // models that it may serve; any if empty
}

// start starts a child. It is not ready yet.
func (l launch) start() (*process, error) {
	command := l.command
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this program: %w", err)
		}
		command = []string{self, ChildArg}
	}
	dir, socket, err := socketPlace()
	if err != nil {
		return nil, err
	}
	args := append(append([]string(nil), command[1:]...), "-socket", socket, "-cache", l.cache, "-threads", strconv.Itoa(l.threads))
	if len(l.only) > 0 {
		args = append(args, "-only", strings.Join(l.only, ","))
	}
	p := &process{dir: dir, socket: socket, words: &tail{}, ready: make(chan struct{}), ended: make(chan struct{})}
	p.cmd = exec.Command(command[0], args...)
	p.cmd.Env = childEnv(os.Environ())
	p.cmd.Stdout = &onFirstLine{do: sync.OnceFunc(func() { close(p.ready) })}
	p.cmd.Stderr = p.words
	p.cmd.WaitDelay = 2 * time.Second
	apart(p.cmd)
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("start the model's process: %w", err)
	}
	return p, nil
}

// run starts the child and waits for its end, all on one thread: where the
// system ends a child with its parent, it means the thread that started it.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.err = p.cmd.Wait()
	os.RemoveAll(p.dir)
	close(p.ended)
}

// wait waits until the child listens.
func (p *process) wait(ctx context.Context, limit time.Duration) error {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-p.ready:
		return nil
	case <-p.ended:
		return fmt.Errorf("the model's process did not start: %s", p.lastWords())
	case <-late.C:
		p.kill()
		return fmt.Errorf("the model's process did not start within %s", limit)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// dial connects to the child.
func (p *process) dial(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", p.socket)
}

// gone reports whether the child has ended, waiting a moment for a child that
// just broke a connection.
func (p *process) gone(patience time.Duration) bool {
	select {
	case <-p.ended:
		return true
	default:
	}
	if patience <= 0 {
		return false
	}
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-p.ended:
		return true
	case <-t.C:
		return false
	}
}

// close ends the child: first by its standard input, then by force.
func (p *process) close() {
	p.stdin.Close()
	if !p.gone(3 * time.Second) {
		p.kill()
	}
	<-p.ended
}

func (p *process) kill() { p.cmd.Process.Kill() }

// lastWords says how the child ended and what it said last. The child must
// have ended.
func (p *process) lastWords() string {
	how := "it ended"
	var exit *exec.ExitError
	if errors.As(p.err, &exit) {
		how = exit.String()
	} else if p.err != nil {
		how = p.err.Error()
	}
	if said := p.words.last(600); said != "" {
		how += "; it said: " + said
	}
	return how
}

// socketPlace makes a private folder whose path leaves room for a socket: the
// system allows about 100 bytes.
func socketPlace() (dir, socket string, err error) {
	var errs []error
	for _, base := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"} {
		if base == "" {
			continue
		}
		dir, err := os.MkdirTemp(base, "towpath-")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		socket := filepath.Join(dir, "s")
		if len(socket) < 100 {
			return dir, socket, nil
		}
		os.Remove(dir)
		errs = append(errs, fmt.Errorf("%s is too long for a socket", dir))
	}
	return "", "", fmt.Errorf("make a private folder for a socket: %w; set TMPDIR to a short path", errors.Join(errs...))
}

// childEnv passes on only what the child needs. Keys of other providers are
// none of its business.
func childEnv(env []string) []string {
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "PATH", name == "HOME", name == "TMPDIR", name == "LANG", name == "GOCOVERDIR", name == "SystemRoot",
			strings.HasPrefix(name, "LC_"), strings.HasPrefix(name, "LD_"), strings.HasPrefix(name, "XDG_"),
			strings.HasPrefix(name, "GGML_"), strings.HasPrefix(name, "OMP_"):
			out = append(out, kv)
		}
	}
	return out
}

// onFirstLine acts once a whole line was written.
type onFirstLine struct{ do func() }

func (o *onFirstLine) Write(b []byte) (int, error) {
	if bytes.IndexByte(b, '\n') >= 0 {
		o.do()
	}
	return len(b), nil
}

// tail keeps the end of what was written.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// tailBytes bounds what is kept.
const tailBytes = 16 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - tailBytes; over > tailBytes {
		t.buf = append([]byte(nil), t.buf[over:]...)
	}
	return len(b), nil
}

// last gives the last words, at most so many bytes, on one line.
func (t *tail) last(most int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buf
	if len(b) > most {
		b = b[len(b)-most:]
		if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)-1 {
			b = b[i+1:]
		}
	}
	lines := strings.FieldsFunc(strings.ToValidUTF8(string(b), "\uFFFD"), func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines, " | ")
}
