package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"towpath/internal/app"
	"towpath/internal/engine"
	"towpath/internal/journal"
)

func (c *cli) runCommand() *cobra.Command {
	var opt engine.Options
	var input, model, record, replay string
	var verify []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "run [WORKSPACE]",
		Short: "Run the next stage, then stop at its gate",
		Long: `run finds the first stage whose outputs are not there, runs it, says where the
result is, and stops at the gate. Read and edit the result, then run the same
command to go on.

Exit codes: 0 done or at a gate, 1 error, 2 usage or contract, 3 a loop gave up,
4 waits for a person, 6 the workspace is locked, 7 paused until a stated time,
130 interrupted.`,
		Example: `  towpath run my-course
  towpath run my-course --all --model ollama/qwen3.5:9b
  towpath run my-course --input "A short course on regular expressions"
  towpath run my-course --again 03-outline`,
		Args: c.workspaceAlone,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("input") {
				opt.Input = &input
			}
			if len(verify) > 0 {
				return usageError{errors.New("--verify is not run by this version: checks come with verified loops; run without it")}
			}
			if model != "" {
				c.flags["model"] = model
			}
			if record != "" && replay != "" {
				return usageError{errors.New("--record and --replay exclude each other; use one of them")}
			}
			return c.run(cmd.Context(), first(args), opt, asJSON, record, replay)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opt.All, "all", false, "go on through stop gates to the end; a gate that needs approval still stops")
	f.StringVar(&opt.Until, "until", "", "go on through stop gates up to this `STAGE`")
	f.StringVar(&opt.Stage, "stage", "", "run this `STAGE` alone")
	f.StringVar(&opt.Again, "again", "", "run this `STAGE` again; its old output is kept in history")
	f.BoolVar(&opt.Stale, "stale", false, "run stale stages again, and what depends on them, but no output that you edited")
	f.StringVar(&input, "input", "", "write this `TEXT` as the first stage's input.md; the old one is kept in history")
	f.StringVar(&model, "model", "", "the `MODEL` for every stage, such as ollama/qwen3.5:9b")
	f.StringArrayVar(&verify, "verify", nil, "more checks for this run, from `FILE`; refused by this version")
	f.BoolVar(&opt.DryRun, "dry-run", false, "say what would run; write and contact nothing")
	f.StringVar(&record, "record", "", "write every model call to `FILE`, for replay")
	f.StringVar(&replay, "replay", "", "answer every model call from `FILE`, which --record wrote")
	f.BoolVar(&asJSON, "json", false, "print a line of JSON for each event; the last says how it ended")
	cmd.ValidArgsFunction = c.atWorkspace
	for _, name := range []string{"until", "stage", "again"} {
		_ = cmd.RegisterFlagCompletionFunc(name, c.stageFlag)
	}
	_ = cmd.RegisterFlagCompletionFunc("model", c.modelFlag)
	return cmd
}

// workspaceAlone refuses a stage where run takes a workspace, in words that say
// how a stage is named.
func (c *cli) workspaceAlone(_ *cobra.Command, args []string) error {
	stage := ""
	switch len(args) {
	case 0:
		return nil
	case 1:
		if _, err := os.Stat(c.inDir(args[0])); err == nil || !c.isStage(args[0]) {
			return nil
		}
		stage = args[0]
	default:
		stage = "STAGE"
	}
	return fmt.Errorf("run takes a workspace, and does its next stage; for one stage alone write towpath run --stage %s", stage)
}

// isStage reports whether the workspace here has a stage that goes by the name.
func (c *cli) isStage(name string) bool {
	stages, err := app.Stages(c.options(""))
	return err == nil && slices.ContainsFunc(stages, func(s string) bool {
		number, short, _ := strings.Cut(s, "-")
		return s == name || short == name || number == name || strings.TrimLeft(number, "0") == name
	})
}

func (c *cli) inDir(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.env.Dir, p)
}

func (c *cli) run(ctx context.Context, path string, opt engine.Options, asJSON bool, record, replay string) error {
	aopt := c.options(path)
	aopt.Record, aopt.Replay = record, replay
	var events *jsonEvents
	var show *progress
	switch {
	case asJSON:
		events = newJSONEvents(c.env.Out)
		aopt.Observe = events.observe
	case !opt.DryRun:
		show = newProgress(c.env.Err, c.terminal(c.env.Err), wide(c.env.Err), c.errStyle(), c.env.Clock)
		defer show.Close()
		aopt.Observe = show.observe
	}
	a, err := app.Open(ctx, aopt)
	if err != nil {
		if asJSON {
			events.observe(c.failedEvent(err))
		}
		return err
	}
	defer a.Close()
	if opt.DryRun {
		return c.dryRun(a, opt, asJSON)
	}
	if show != nil {
		show.places(a.ShownOutput, func(s string) string { return c.typed(a, s) })
		c.warnings(a)
	}
	exit, err := a.Engine.Run(ctx, opt)
	if show != nil {
		show.Close()
	}
	if cerr := a.Close(); err == nil && cerr != nil {
		err = cerr
	}
	if asJSON {
		if err == nil {
			err = events.err
		}
	} else if err == nil {
		fmt.Fprintln(c.env.Out, c.fit(c.env.Out, c.ending(a, exit)))
	}
	if err == nil && exit.Code != 0 {
		return errSaid{exit.Code}
	}
	return c.locate(a, err)
}

// failedEvent is the last event of a run that did not begin.
func (c *cli) failedEvent(err error) journal.Event {
	e := journal.Exited{How: engine.HowFailed, Code: engine.ExitCode(err), Reason: err.Error()}
	if e.Code == engine.CodeUsage {
		e.How = engine.HowRefused
	}
	return journal.Event{V: journal.Version, Time: c.env.Clock().UTC(), Type: journal.Exit, Exit: &e}
}

func (c *cli) dryRun(a *app.App, opt engine.Options, asJSON bool) error {
	plan, err := a.Engine.Plan(opt)
	if err != nil {
		return c.locate(a, err)
	}
	if asJSON {
		return c.printJSON(plan)
	}
	rows := make([][]string, 0, len(plan))
	for _, p := range plan {
		rows = append(rows, []string{"[" + p.Action + "]", p.Stage, p.Why})
	}
	c.table(rows)
	return nil
}

// options are those of every command that opens a workspace.
func (c *cli) options(path string) app.Options {
	return app.Options{
		Path: path, WorkDir: c.env.Dir, Environ: c.env.Environ, Flags: c.flags,
		Clock: c.env.Clock, Attended: c.attended(), Version: version(),
	}
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
