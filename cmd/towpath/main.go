// Command towpath runs agent workflows kept as plain folders and Markdown.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"towpath/internal/cli"
	"towpath/internal/engine"
	"towpath/internal/model/local"
	"towpath/internal/tool/mcpclient/process"
)

func main() { os.Exit(run()) }

func run() int {
	if len(os.Args) > 1 && os.Args[1] == local.ChildArg {
		return local.ChildMain(os.Args[2:])
	}
	if len(os.Args) > 1 && os.Args[1] == process.GuardArg {
		return process.Guard(os.Args[2:])
	}
	env, err := cli.System()
	if err != nil {
		fmt.Fprintln(os.Stderr, "towpath:", err)
		return engine.CodeError
	}
	// The first signal ends the run cleanly; a second one ends the program.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(engine.CodeInterrupted)
	}()
	return cli.Main(ctx, os.Args[1:], env)
}
