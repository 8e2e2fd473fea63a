package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"towpath/internal/app"
	"towpath/internal/settings"
)

func (c *cli) configCommand() *cobra.Command {
	var asJSON, keys bool
	cmd := &cobra.Command{
		Use:   "config [WORKSPACE]",
		Short: "Show the settings that are in force, and where each comes from",
		Long: `config shows what is in force: flags, then TOWPATH_ variables, then the nearest
towpath.toml, then your own file, then defaults. Secrets are hidden. A value of
a workspace that is not trusted is shown with what it waits for.`,
		Example: `  towpath config my-course
  towpath config --keys`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: c.atWorkspace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if keys {
				return c.printKeys(asJSON)
			}
			open := app.Here
			if len(args) > 0 {
				open = app.Open
			}
			a, err := open(cmd.Context(), c.options(first(args)))
			if err != nil {
				return err
			}
			defer a.Close()
			values := a.Settings.Values()
			if asJSON {
				return c.printJSON(values)
			}
			var rows [][]string
			for _, v := range values {
				origin := v.Origin
				if v.Note != "" {
					origin += ", " + v.Note
				}
				rows = append(rows, []string{v.Key, v.Value, origin})
			}
			c.table(rows)
			for _, w := range a.Settings.Warnings {
				fmt.Fprintln(c.env.Err, clean(w))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&keys, "keys", false, "list everything that can be set")
	return cmd
}

func (c *cli) printKeys(asJSON bool) error {
	list := settings.Keys()
	if asJSON {
		return c.printJSON(list)
	}
	for _, k := range list {
		s := fmt.Sprintf("%s (%s", c.outStyle().bold(k.Name), k.Type)
		if k.Default != "" {
			s += ", default " + k.Default
		}
		if k.Env() != "" {
			s += ", " + k.Env()
		}
		fmt.Fprintf(c.env.Out, "%s)\n    %s\n", s, k.Meaning)
	}
	return nil
}

func (c *cli) trustCommand() *cobra.Command {
	var yes, revoke bool
	cmd := &cobra.Command{
		Use:   "trust [WORKSPACE]",
		Short: "Let a workspace's own settings start programs and name addresses",
		Long: `A workspace that you cloned can be read and linted, but what it sets is inert
where it could start a program, send text or a key somewhere, or write outside,
until you say trust. trust shows the files with their hashes and what they set.
A change of one of them asks again.`,
		Example:           "  towpath trust my-course --yes",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: c.atWorkspace,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), first(args), func(a *app.App) error { return c.trust(a, yes, revoke) })
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "trust what is shown, without asking")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "take trust back")
	return cmd
}

func (c *cli) trust(a *app.App, yes, revoke bool) error {
	s, out := a.Settings, c.env.Out
	if revoke {
		if err := s.Revoke(); err != nil {
			return err
		}
		fmt.Fprintln(out, "the workspace is not trusted any more")
		return nil
	}
	switch s.TrustState {
	case settings.TrustNothing:
		fmt.Fprintln(out, "nothing in this workspace needs trust")
		return nil
	case settings.Trusted:
		fmt.Fprintln(out, "the workspace is trusted as it is")
		return nil
	}
	c.print(out, "%s\n\n", s.Subject.Dir)
	for _, f := range s.Subject.Files {
		fmt.Fprintf(out, "  %s  %s\n", f.Hash, clean(f.Path))
	}
	fmt.Fprintln(out)
	for _, i := range s.Inert {
		line := fmt.Sprintf("line %d: ", i.Line)
		fmt.Fprintf(out, "  %s%s\n", line, c.beside(2+len(line), fmt.Sprintf("%s = %s: %s", clean(i.Key), clean(i.Value), clean(i.Why))))
	}
	if !yes && len(s.Inert) == 0 {
		fmt.Fprintln(out, "nothing in these files waits for trust: they are in force as they are")
		return nil
	}
	if !yes {
		if !c.attended() {
			return usageError{errors.New("read the files above, then run towpath trust --yes")}
		}
		if !c.ask("\ntrust these files as they are now?") {
			return errSaid{1}
		}
	}
	if err := s.Trust(c.env.Clock()); err != nil {
		return err
	}
	fmt.Fprintln(out, "trusted; a change of these files asks again")
	return nil
}

// ask puts a question that is answered by y or n; everything else is no.
func (c *cli) ask(question string) bool {
	fmt.Fprintf(c.env.Err, "%s [y/N] ", question)
	var answer string
	if _, err := fmt.Fscanln(c.env.In, &answer); err != nil {
		return false
	}
	return answer == "y" || answer == "Y" || answer == "yes"
}
