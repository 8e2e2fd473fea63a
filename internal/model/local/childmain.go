package local

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"towpath/internal/model/local/child"
)

// ChildMain is the whole of the child process; it gives the exit code. It ends
// when its standard input closes.
func ChildMain(args []string) int {
	if err := childMain(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func childMain(args []string) error {
	flags := flag.NewFlagSet(ChildArg, flag.ContinueOnError)
	socket := flags.String("socket", "", "path of the socket")
	cache := flags.String("cache", "", "cache folder")
	threads := flags.Int("threads", 0, "threads for computing")
	only := flags.String("only", "", "models that may be served, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *socket == "" {
		return errors.New("this is the program's own helper; it is not started by hand")
	}
	st, err := openStore(*cache)
	if err != nil {
		return err
	}
	c := known()
	lib, err := c.here()
	if err != nil {
		return err
	}
	// The parent deals with Ctrl-C, and ends this process.
	signal.Ignore(os.Interrupt, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	go func() {
		defer os.Exit(0) // native code in the middle of its work is not waited for
		closed := make(chan struct{})
		go func() {
			io.Copy(io.Discard, os.Stdin)
			close(closed)
		}()
		select {
		case <-closed:
		case <-told:
		}
		cancel()
		// A parent that was killed left its folder behind.
		os.Remove(*socket)
		os.Remove(filepath.Dir(*socket))
	}()
	l, err := net.Listen("unix", *socket)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", *socket, err)
	}
	if err := os.Chmod(*socket, 0o600); err != nil {
		return err
	}
	cfg := child.Config{Library: st.libDir(lib), Threads: *threads, Resolve: st.resolver(c, *only), Names: st.served(c, *only),
		Ready: func() { fmt.Println("ready") }}
	return child.Serve(ctx, l, cfg)
}

// resolver finds the files of models. With only, no other model is found.
func (s store) resolver(c catalog, only string) func(string) (string, error) {
	return func(name string) (string, error) {
		name = strings.TrimPrefix(name, Prefix)
		if only != "" && !slices.Contains(strings.Split(only, ","), name) {
			return "", fmt.Errorf("the model %q is not served here; served are %s", name, only)
		}
		path, _, err := s.resolve(c, name)
		return path, err
	}
}

// served lists the models for clients that ask.
func (s store) served(c catalog, only string) []string {
	if only != "" {
		return strings.Split(only, ",")
	}
	var out []string
	for _, w := range c.models {
		if _, err := os.Stat(s.weights(w)); err == nil {
			out = append(out, w.name)
		}
	}
	return out
}
