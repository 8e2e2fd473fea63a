package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"towpath/internal/fakeserver"
	"towpath/internal/tool"
)

// quick are times that keep tests short.
var quick = Timeouts{Start: 20 * time.Second, Call: 10 * time.Second, Most: 30 * time.Second, Stop: 500 * time.Millisecond, Probe: time.Second}

// own is the test program itself.
func own(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// scripted makes a server of a script over pipes; it ends with the test.
func scripted(t testing.TB, s fakeserver.Tools, edit ...func(*Config)) *Server {
	t.Helper()
	return server(t, append([]func(*Config){func(c *Config) {
		c.Command, c.Args = own(t), []string{scriptedArg, scriptOf(t, s)}
	}}, edit...)...)
}

func scriptOf(t testing.TB, s fakeserver.Tools) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func server(t testing.TB, edit ...func(*Config)) *Server {
	t.Helper()
	cfg := Config{Name: "box", Env: Environment(os.Environ(), nil), Dir: t.TempDir(), Timeouts: quick, Version: "1"}
	for _, e := range edit {
		e(&cfg)
	}
	s := New(cfg)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the server: %v", err)
		}
	})
	return s
}

// tools lists the tools by name.
func tools(t testing.TB, s *Server) map[string]tool.Tool {
	t.Helper()
	list, err := s.Tools(t.Context())
	if err != nil {
		t.Fatalf("listing the tools: %v", err)
	}
	out := map[string]tool.Tool{}
	for _, one := range list {
		out[one.Spec().Name] = one
	}
	return out
}

// do calls a tool that has to answer.
func do(t testing.TB, s *Server, name, args string) tool.Result {
	t.Helper()
	res, err := attempt(t.Context(), s, name, args)
	if err != nil {
		t.Fatalf("calling %s: %v", name, err)
	}
	return res
}

// attempt calls a tool, as a run does that listed the tools before.
func attempt(ctx context.Context, s *Server, name, args string) (tool.Result, error) {
	one := &remote{s, described{Spec: tool.Spec{Server: s.Name(), Name: name}}}
	return one.Call(ctx, json.RawMessage(args))
}

// notes collects what a server has to tell.
type notes struct {
	mu   sync.Mutex
	text []string
}

func (n *notes) add(s string) {
	n.mu.Lock()
	n.text = append(n.text, s)
	n.mu.Unlock()
}

func (n *notes) all() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.text, "\n")
}

// until waits for something that happens by itself.
func until(t testing.TB, what string, patience time.Duration, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); !is(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s did not come about within %s", what, patience)
		}
	}
}

// marked lists the processes whose environment holds the mark.
func marked(mark string) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(env, []byte("MARK="+mark)) {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		if bytes.Contains(stat, []byte(") Z ")) {
			continue
		}
		cmd, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		found = append(found, filepath.Base(dir)+" "+string(bytes.ReplaceAll(cmd, []byte{0}, []byte(" "))))
	}
	return found
}

func markOf(t testing.TB) string {
	return fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), os.Getpid())
}

// family is a server that leaves everything behind that it can: a child in its
// group, one that does not listen, one in a session of its own, one whose
// parent is gone, and itself when its input closes.
func family(self, mark string) func(*Config) {
	return func(c *Config) {
		c.Command = "sh"
		c.Args = []string{"-c", `sleep 600 &
sh -c 'trap "" TERM HUP INT; while :; do sleep 1; done' &
setsid sleep 600 &
sh -c 'setsid sh -c "trap \"\" TERM; sleep 600; :" >/dev/null 2>&1 </dev/null &'
exec "$0" ` + scriptedArg + ` '{"IgnoresEnd":true}'`, self}
		c.Env = append(c.Env, "MARK="+mark)
	}
}

// hold starts a server and waits to be killed.
func hold(mark string) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cfg := Config{Name: "held", Env: Environment(os.Environ(), nil), Dir: os.TempDir(), Timeouts: quick}
	family(self, mark)(&cfg)
	if err := New(cfg).Start(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	select {}
}

// freePort gives a port on which nobody listens.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
