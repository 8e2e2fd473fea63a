package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"towpath/internal/app"
	"towpath/internal/engine"
	"towpath/internal/lint"
	"towpath/internal/workspace"
)

func (c *cli) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [WORKSPACE]",
		Short: "Say where every stage stands",
		Long: `status reads the files: a stage is done when every output that it declares is
there and not empty. The history adds what was edited, what is stale because an
input or the contract changed, and what failed.`,
		Example:           "  towpath status my-course",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: c.atWorkspace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !asJSON {
				return c.printStatus(cmd.Context(), first(args))
			}
			return c.with(cmd.Context(), first(args), func(a *app.App) error {
				st, err := a.Engine.Status()
				if err != nil {
					return err
				}
				return c.printJSON(st)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *cli) printStatus(ctx context.Context, path string) error {
	return c.with(ctx, path, func(a *app.App) error {
		stages, err := a.Engine.Status()
		if err != nil {
			return err
		}
		rows := make([][]string, 0, len(stages))
		for _, s := range stages {
			rows = append(rows, []string{s.Stage, c.stateOf(s), strings.Join(each(s.Outputs, a.ShownOutput), ", ")})
		}
		c.table(rows)
		for _, s := range stages {
			s.Undeclared, s.Changed = each(s.Undeclared, a.ShownOutput), each(s.Changed, a.ShownOutput)
			s.Problems = each(s.Problems, func(p string) string { return c.placed(a, p) })
			s.Reason, s.Mend = c.placed(a, s.Reason), c.typed(a, s.Mend)
			c.explain(s)
		}
		return nil
	})
}

func each(list []string, f func(string) string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = f(s)
	}
	return out
}

func (c *cli) stateOf(s engine.StageStatus) string {
	st := c.outStyle()
	text := strings.ReplaceAll(string(s.State), "_", " ")
	switch s.State {
	case engine.Done:
		text = st.green(text)
	case engine.AtGate, engine.Running:
		text = st.yellow(text)
	case engine.Failed, engine.Blocked, engine.Surrendered:
		text = st.red(text)
	}
	for _, m := range []struct {
		on   bool
		name string
	}{{s.Edited, "edited"}, {s.Stale, "stale"}, {s.Incomplete, "incomplete"}} {
		if m.on {
			text += ", " + m.name
		}
	}
	return text
}

// explain prints what a table row has no room for.
func (c *cli) explain(s engine.StageStatus) {
	out := c.env.Out
	say := func(text string) { fmt.Fprintln(out, c.fit(out, s.Stage+": "+clean(text))) }
	if s.Reason != "" {
		why := s.Reason
		if s.Mend != "" {
			why += "; " + s.Mend
		}
		say(why)
	}
	if s.Stale && len(s.Changed) > 0 {
		say("changed since: " + strings.Join(s.Changed, ", "))
	}
	for _, p := range s.Problems {
		say(p)
	}
	if len(s.Undeclared) > 0 {
		say("not declared by the contract: " + strings.Join(s.Undeclared, ", "))
	}
}

func (c *cli) probeCommand() *cobra.Command {
	var item int
	var asJSON, full bool
	cmd := c.onStage(&cobra.Command{
		Use:   "probe STAGE [WORKSPACE]",
		Short: "Show what a stage would send to the model",
		Long: `probe builds the context of a stage and shows each file's share of it, the tools
that would be offered, and the model's window. It calls no model and contacts no
server. Token counts are estimates.`,
		Example: `  towpath probe 04-draft my-course
  towpath probe 04-draft my-course --item 2 --full`,
	}, func(_ context.Context, a *app.App, stage string) error {
		if item < 0 {
			return usageError{fmt.Errorf("--item counts from 1; %d is not an item", item)}
		}
		r, err := a.Engine.Probe(stage, item)
		if err != nil {
			return err
		}
		switch {
		case asJSON:
			return c.printJSON(r)
		case full:
			c.printRaw(c.env.Out, "--- system\n"+r.Context.System+"\n--- user\n"+r.Context.User+"\n")
			return nil
		}
		c.printProbe(r)
		return nil
	})
	cmd.Flags().IntVar(&item, "item", 0, "the context of item `N` of a for-each; the first unless set")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&full, "full", false, "print the text that would be sent")
	return cmd
}

func (c *cli) printProbe(r *engine.ProbeResult) {
	out := c.env.Out
	rows := [][]string{{"LAYER", "FILE", "BYTES", "TOKENS", ""}}
	for _, p := range r.Context.Parts {
		name := p.Path
		if p.Section != "" {
			name += "#" + p.Section
		}
		if p.Pending != "" {
			rows = append(rows, []string{fmt.Sprint(int(p.Layer)), name, "-", "-", "not there yet: made by " + p.Pending})
			continue
		}
		rows = append(rows, []string{fmt.Sprint(int(p.Layer)), name, thousands(p.Bytes), thousands(p.Tokens), ""})
	}
	c.table(rows)
	c.print(out, "\ncontext: about %s tokens\n", thousands(r.Context.Tokens))
	if len(r.Tools) > 0 {
		names := make([]string, 0, len(r.Tools))
		for _, t := range r.Tools {
			names = append(names, t.Server+"_"+t.Name)
		}
		c.print(out, "tools:   %s, about %s tokens\n", strings.Join(names, ", "), thousands(r.ToolTokens))
	}
	if len(r.Unknown) > 0 {
		c.print(out, "tools of these servers are known once they were started: %s\n", strings.Join(r.Unknown, ", "))
	}
	if r.Item != nil {
		c.print(out, "item:    %d of %d, %s (%s)\n", r.Item.N, len(r.Items.Items), r.Item.Title, r.Items.How)
		for _, it := range r.Items.Items {
			c.print(out, "         %d. %s\n", it.N, it.Title)
		}
		for _, p := range r.Items.Passed {
			c.print(out, "         passed over: %s\n", p)
		}
	}
	if r.Pending != "" {
		c.print(out, "items:   %s\n", r.Pending)
	}
	m := r.Model.ID
	if m == "" {
		m = "chosen when it runs"
	}
	window := "window not known before it runs"
	if r.Model.Window > 0 {
		window = "window " + thousands(r.Model.Window) + " tokens"
	}
	c.print(out, "model:   %s, %s, %s tokens kept for the reply\n", m, window, thousands(r.Reply))
}

func (c *cli) lintCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "lint [WORKSPACE]",
		Short: "Check every contract, without a model",
		Long: `lint reads every contract and prints one line for each problem:
file:line: problem, and how to mend it. It exits 2 if there is an error;
warnings alone exit 0.`,
		Example:           "  towpath lint my-course",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: c.atWorkspace,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), first(args), func(a *app.App) error {
				return c.lint(a.Lint(), asJSON, a.ShownPath)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *cli) lint(problems []workspace.Problem, asJSON bool, shown func(string) string) error {
	errs := 0
	for i := range problems {
		problems[i].File = shown(problems[i].File)
		if problems[i].Severity == workspace.Error {
			errs++
		}
	}
	if asJSON {
		if problems == nil {
			problems = []workspace.Problem{}
		}
		if err := c.printJSON(problems); err != nil {
			return err
		}
	} else {
		c.lintLines(problems, errs)
	}
	if errs > 0 {
		return errSaid{engine.CodeUsage}
	}
	return nil
}

func (c *cli) lintLines(problems []workspace.Problem, errs int) {
	out, st := c.env.Out, c.outStyle()
	for _, p := range problems {
		if p.Severity == workspace.Error {
			fmt.Fprintln(out, clean(p.Error()))
		}
	}
	if warnings := len(problems) - errs; warnings > 0 {
		if errs > 0 {
			fmt.Fprintln(out)
		}
		for _, p := range problems {
			if p.Severity != workspace.Error {
				fmt.Fprintf(out, "%s %s\n", st.yellow("warning:"), clean(p.Error()))
			}
		}
	}
	if len(problems) == 0 {
		fmt.Fprintln(c.env.Err, "no problems")
		return
	}
	fmt.Fprintf(c.env.Err, "%s, %s\n", plural(errs, "error"), plural(len(problems)-errs, "warning"))
}

func (c *cli) graphCommand() *cobra.Command {
	var mermaid, asJSON bool
	cmd := &cobra.Command{
		Use:               "graph [WORKSPACE]",
		Short:             "Draw the stages and what flows between them",
		Example:           "  towpath graph my-course --mermaid",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: c.atWorkspace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if mermaid && asJSON {
				return usageError{errors.New("--mermaid and --json exclude each other; use one of them")}
			}
			return c.with(cmd.Context(), first(args), func(a *app.App) error {
				g := lint.Draw(a.Tree.FS(), a.Workspace)
				switch {
				case asJSON:
					return c.printJSON(g)
				case mermaid:
					c.print(c.env.Out, "%s", g.Mermaid())
				default:
					c.print(c.env.Out, "%s", g.Text())
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&mermaid, "mermaid", false, "print a Mermaid flowchart")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *cli) printJSON(v any) error {
	enc := json.NewEncoder(c.env.Out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// table prints rows in columns that fit their widest cell; the last is free.
func (c *cli) table(rows [][]string) {
	var widths []int
	st := c.outStyle()
	for _, r := range rows {
		for i, cell := range r {
			cell = strings.ReplaceAll(st.safe(cell), "\n", " ")
			r[i] = cell
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columnsOfText(bare(cell)))
		}
	}
	for _, r := range rows {
		var b strings.Builder
		for i, cell := range r {
			if i == len(r)-1 && i > 0 {
				b.WriteString(c.beside(columnsOfText(bare(b.String())), cell))
				break
			}
			b.WriteString(cell)
			if i < len(r)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-columnsOfText(bare(cell))+2))
			}
		}
		fmt.Fprintln(c.env.Out, strings.TrimRight(b.String(), " "))
	}
}
