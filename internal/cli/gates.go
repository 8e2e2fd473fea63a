package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"towpath/internal/app"
	"towpath/internal/engine"
	"towpath/internal/journal"
	"towpath/internal/workspace"
)

// onStage is a command on one stage: NAME STAGE [WORKSPACE].
func (c *cli) onStage(cmd *cobra.Command, do func(ctx context.Context, a *app.App, stage string) error) *cobra.Command {
	cmd.Args = stageAnd(1, cobra.RangeArgs(1, 2))
	cmd.ValidArgsFunction = c.atStage()
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.with(cmd.Context(), first(args[1:]), func(a *app.App) error {
			err := do(cmd.Context(), a, args[0])
			var none *workspace.StageError
			if len(args) == 1 && errors.As(err, &none) && filepath.Clean(args[0]) == filepath.Clean(a.Shown) {
				return usageError{fmt.Errorf("%s is the workspace; name the stage before it, one of %s", args[0], strings.Join(none.Among, ", "))}
			}
			return err
		})
	}
	return cmd
}

// stageAnd refuses a command line without its stage in words of its own.
func stageAnd(n int, check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) >= n:
			return check(cmd, args)
		case len(args) == 0:
			return errors.New("say which stage: its number, name or folder")
		}
		return errors.New("say done, repeat or skip after the stage")
	}
}

// with opens a workspace for one command.
func (c *cli) with(ctx context.Context, path string, do func(a *app.App) error) error {
	a, err := app.Open(ctx, c.options(path))
	if err != nil {
		return err
	}
	err = c.locate(a, do(a))
	if cerr := a.Close(); err == nil {
		err = cerr
	}
	return err
}

func (c *cli) approveCommand() *cobra.Command {
	return c.onStage(&cobra.Command{
		Use:   "approve STAGE [WORKSPACE]",
		Short: "Approve a stage's output, so that run may go on",
		Long: `approve records that you read the stage's output and agree with it as it is now.
Editing the output later opens the gate again.`,
		Example: "  towpath approve 03-outline my-course",
	}, func(_ context.Context, a *app.App, stage string) error {
		d, err := a.Engine.Approve(stage)
		if err != nil {
			return err
		}
		c.sayDecision(a, "approved", stage, d)
		return nil
	})
}

func (c *cli) rejectCommand() *cobra.Command {
	var reason string
	cmd := c.onStage(&cobra.Command{
		Use:   "reject STAGE [WORKSPACE] --reason TEXT",
		Short: "Send a stage's output back, with your reason",
		Long: `reject moves the stage's output into history. The next run of the stage is shown
it, and your reason.`,
		Example: `  towpath reject 03-outline my-course --reason "merge modules 2 and 3"`,
	}, func(_ context.Context, a *app.App, stage string) error {
		if strings.TrimSpace(reason) == "" {
			return usageError{errors.New(`a rejection needs a reason for the next run; add --reason "what is wrong"`)}
		}
		d, err := a.Engine.Reject(stage, reason)
		if err != nil {
			return err
		}
		c.sayDecision(a, "rejected", stage, d)
		return nil
	})
	cmd.Flags().StringVar(&reason, "reason", "", "what is wrong, in `TEXT` that the next run is shown")
	return cmd
}

func (c *cli) answerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "answer STAGE done|repeat|skip [WORKSPACE]",
		Short: "Say what became of a tool call that was started and not confirmed",
		Long: `When a run is cut off in the middle of a tool call that may have effects, nobody
but you can know whether it took effect. Look, then answer:

  done     it took effect; go on
  repeat   it did not; call it again
  skip     go on without it`,
		Example: "  towpath answer 02-research done my-course",
		Args:    stageAnd(2, cobra.RangeArgs(2, 3)),

		ValidArgsFunction: c.atStage("done", "repeat", "skip"),
		RunE: func(cmd *cobra.Command, args []string) error {
			answer := engine.Answer(args[1])
			switch answer {
			case engine.AnswerDone, engine.AnswerRepeat, engine.AnswerSkip:
			default:
				return usageError{fmt.Errorf("%q is not an answer; say done, repeat or skip", args[1])}
			}
			return c.with(cmd.Context(), first(args[2:]), func(a *app.App) error {
				d, err := a.Engine.Answer(args[0], answer)
				if err != nil {
					return err
				}
				c.sayDecision(a, "answered", args[0], d)
				return nil
			})
		},
	}
}

func (c *cli) diffCommand() *cobra.Command {
	return c.onStage(&cobra.Command{
		Use:     "diff STAGE [WORKSPACE]",
		Short:   "Show what a person changed since the model wrote a stage's output",
		Example: "  towpath diff 03-outline my-course",
	}, func(_ context.Context, a *app.App, stage string) error {
		d, err := a.Engine.Diff(stage)
		if err != nil {
			return err
		}
		if d == "" {
			fmt.Fprintln(c.env.Err, "nothing was changed since the model wrote it")
			return nil
		}
		c.printRaw(c.env.Out, d)
		return nil
	})
}

func (c *cli) sayDecision(a *app.App, what, stage string, d journal.Decided) {
	if st, err := a.Workspace.Stage(stage); err == nil {
		stage = st.Name
	}
	s := stage + ": " + what
	if d.Edited {
		s += ", as you edited it"
	}
	if d.Answer != "" {
		s += ": " + d.Answer
	}
	c.print(c.env.Out, "%s\n", s)
}
