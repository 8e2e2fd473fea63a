// Command measure holds what make bench measures: each figure against its
// floor, in the same run, by turns (A B A B), as medians. It prints tables and
// judges nothing; docs/measurements.md says what the figures mean. Nothing
// here is part of the program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"strings"

	"towpath/internal/tool/mcpclient/process"
)

// bench is one run of the measurements.
type bench struct {
	ctx     context.Context
	root    string // of the checkout
	dir     string // for everything that is written; removed at the end
	towpath string // the program
	empty   string // a program that does nothing, or waits for its input to end
	quick   bool   // few turns, to try the measurements themselves
}

// measurement makes the rows of one figure.
type measurement struct {
	name string
	run  func(*bench) (table, error)
}

func measurements() []measurement {
	return []measurement{
		{"start", startUp},
		{"stage", stageCost},
		{"context", contextCost},
		{"waiting", waitingRuns},
		{"items", itemsShared},
		{"tools", toolCalls},
	}
}

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case process.GuardArg:
			os.Exit(process.Guard(os.Args[2:]))
		case toolServerArg:
			_ = serveTools()
			return
		}
	}
	only := flag.String("only", "", "one of start, stage, context, waiting, items, tools")
	quick := flag.Bool("quick", false, "few turns")
	profile := flag.String("profile", "", "write a CPU profile of this process to a file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	stopProfile, err := startProfile(*profile)
	if err == nil {
		err = errors.Join(measure(ctx, *only, *quick), stopProfile())
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// startProfile is for finding the cause of a figure.
func startProfile(file string) (stop func() error, err error) {
	if file == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { pprof.StopCPUProfile(); return f.Close() }, nil
}

func measure(ctx context.Context, only string, quick bool) error {
	b := &bench{ctx: ctx, quick: quick}
	var err error
	if b.root, err = os.Getwd(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(b.root, "bin"), 0o755); err != nil {
		return err
	}
	// Beside the checkout's files and not among the system's temporary ones,
	// which may lie in memory, where flushing costs nothing.
	if b.dir, err = os.MkdirTemp(filepath.Join(b.root, "bin"), "measure-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if err := b.build(); err != nil {
		return err
	}
	ran := false
	for _, m := range measurements() {
		if only != "" && m.name != only {
			continue
		}
		ran = true
		t, err := m.run(b)
		if err != nil {
			return fmt.Errorf("measuring %s: %w", m.name, err)
		}
		fmt.Println(t)
	}
	if !ran {
		return fmt.Errorf("there is no measurement %q", only)
	}
	return nil
}

// build makes the two programs.
func (b *bench) build() error {
	b.towpath, b.empty = filepath.Join(b.dir, "towpath"), filepath.Join(b.dir, "empty")
	for to, from := range map[string]string{b.towpath: "./cmd/towpath", b.empty: "./internal/measure/empty"} {
		cmd := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-o", to, from)
		cmd.Dir = b.root
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", from, err, out)
		}
	}
	return nil
}

// turns is how often each side of a measurement is taken.
func (b *bench) turns(n int) int {
	if b.quick {
		return max(3, n/10)
	}
	return n
}

// environ is the environment of a program or an App that is measured: none of
// the user's settings, and the scripted server in place of a real one.
func (b *bench) environ(extra ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "TOWPATH_") && !strings.HasPrefix(kv, "OLLAMA_") && !strings.HasPrefix(kv, "XDG_CONFIG_HOME=") {
			env = append(env, kv)
		}
	}
	return append(append(env, "XDG_CONFIG_HOME="+b.dir), extra...)
}
