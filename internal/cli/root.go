// Package cli is the command line: commands, flags, what is printed. Results go
// to standard output, everything else to standard error.
package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"towpath/internal/app"
	"towpath/internal/engine"
)

// Env is the program's surroundings.
type Env struct {
	In       *os.File
	Out, Err io.Writer
	Environ  []string // NAME=value
	Dir      string   // the current folder
	Clock    func() time.Time
	Random   io.Reader // for secrets
}

// System gives the surroundings of this process.
func System() (Env, error) {
	dir, err := os.Getwd()
	if err != nil {
		return Env{}, fmt.Errorf("finding the current folder: %w", err)
	}
	return Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Dir: dir, Clock: time.Now, Random: rand.Reader}, nil
}

// cli is one run of the program.
type cli struct {
	env   Env
	plain bool
	flags map[string]string // settings that flags set
}

// errSaid ends the program with a code after everything was said.
type errSaid struct{ code int }

func (e errSaid) Error() string { return fmt.Sprintf("exit %d", e.code) }

// ExitCode is the exit code of the program.
func (e errSaid) ExitCode() int { return e.code }

// usageError is a command line that cannot be understood.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// ExitCode is 2, as for everything about usage and contracts.
func (e usageError) ExitCode() int { return engine.CodeUsage }

// Main runs the command line and gives the exit code.
func Main(ctx context.Context, args []string, env Env) int {
	results := &keeper{w: env.Out}
	env.Out = results
	c := &cli{env: env, flags: map[string]string{}}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = results.failed()
	}
	if err == nil {
		return 0
	}
	var said errSaid
	if !errors.As(err, &said) {
		fmt.Fprintln(env.Err, c.fit(env.Err, c.errStyle().red("towpath:")+" "+sentence(err)))
	}
	return engine.ExitCode(err)
}

// sentence gives an error as it is shown, without control characters.
func sentence(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(clean(l), " ")
	}
	return strings.Join(lines, "\n")
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "towpath",
		Short: "Run agent workflows kept as folders and Markdown, with a person at the gates",
		Long: `towpath runs agent workflows that are kept as plain folders and Markdown.

A workspace holds numbered stages. Each stage has a contract, CONTEXT.md, that
names what it reads, which tools it may use, what it does and what it writes.
run does the next stage, writes its result as an ordinary file, and stops at a
gate so that you can read and edit it. The same command then goes on.

Exit codes: 0 done or at a gate, 1 error, 2 usage or contract, 3 a loop gave up,
4 waits for a person, 5 the checks are broken, 6 the workspace is locked,
7 paused until a stated time, 130 interrupted.`,
		Example: `  towpath init my-course       write an example workspace
  towpath run my-course        run its first stage, then stop at the gate
  towpath run my-course        go on with the next stage`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return c.welcome(cmd) },
	}
	root.PersistentFlags().BoolVar(&c.plain, "plain", false, "no colours and no lines that are written over")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
	c.addGroups(root)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", "Flags.FlagUsagesWrapped 80"))
	for _, sub := range root.Commands() {
		tidy(sub)
	}
	return root
}

// addGroups adds every command, in the groups in which help lists them.
func (c *cli) addGroups(root *cobra.Command) {
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"make", "Make a workspace:", []*cobra.Command{c.initCommand(), c.newCommand()}},
		{"run", "Run it:", []*cobra.Command{c.runCommand(), c.approveCommand(), c.rejectCommand(), c.answerCommand(), c.chatCommand()}},
		{"look", "Look at it:", []*cobra.Command{c.statusCommand(), c.probeCommand(), c.diffCommand(), c.lintCommand(), c.graphCommand()}},
		{"with", "What it runs with:", []*cobra.Command{
			c.modelsCommand(), c.toolsCommand(), c.configCommand(), c.trustCommand(), c.doctorCommand()}},
		{"program", "The program itself:", []*cobra.Command{c.versionCommand(), c.completionCommand(root)}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range g.commands {
			cmd.GroupID = g.id
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommandGroupID("program")
}

// tidy makes wrong arguments usage errors in every command below cmd.
func tidy(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if errors.As(err, new(usageError)) {
				return err // it says itself what to do
			}
			if err != nil {
				return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		tidy(sub)
	}
}

// welcome says what can be done here, for a person who typed towpath alone.
func (c *cli) welcome(cmd *cobra.Command) error {
	out := c.env.Out
	found, err := app.Discover(c.env.Dir)
	if err != nil {
		return err
	}
	switch len(found) {
	case 0:
		fmt.Fprint(out, `towpath runs agent workflows kept as folders and Markdown.

There is no workspace here. Make one and run it:

  towpath init my-course     write an example workspace
  towpath run my-course      run its first stage
  towpath models             see which models you have

towpath --help lists every command.
`)
	case 1:
		c.print(out, "Workspace: %s\n\n", found[0])
		if err := c.printStatus(cmd.Context(), found[0]); err != nil {
			return err
		}
		at := arg(found[0])
		fmt.Fprintln(out)
		c.table([][]string{
			{"  towpath run" + at, "go on with the next stage"},
			{"  towpath probe STAGE" + at, "see what a stage would be sent"},
			{"  towpath lint" + at, "check the contracts"},
		})
		fmt.Fprintln(out, "\ntowpath --help lists every command.")
	default:
		fmt.Fprint(out, "Workspaces here:\n\n")
		for _, w := range found {
			c.print(out, "  %s\n", w)
		}
		c.print(out, "\n  towpath status%s\n  towpath run%s\n\ntowpath --help lists every command.\n", arg(found[0]), arg(found[0]))
	}
	return nil
}

// arg gives a path as it is typed after a command: nothing for the current folder.
func arg(path string) string {
	if path == "." || strings.HasPrefix(path, "..") {
		return ""
	}
	return " " + quoted(path)
}

func (c *cli) getenv(name string) string {
	for i := len(c.env.Environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(c.env.Environ[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}
