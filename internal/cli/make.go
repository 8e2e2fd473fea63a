package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"towpath/internal/app"
	"towpath/internal/starter"
)

func (c *cli) initCommand() *cobra.Command {
	var template string
	var beside bool
	var about []string
	for _, t := range starter.Templates() {
		about = append(about, fmt.Sprintf("  %-8s %s", t.Name, t.Summary))
	}
	cmd := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Write a workspace from a template",
		Long: `init writes a workspace into FOLDER, the current folder unless named. It never
writes over a file.

Templates:
` + strings.Join(about, "\n") + `

With --services it writes, instead of a workspace, what Docker needs to run
SearXNG (search) and camofox-browser (pages that need a browser) here.`,
		Example: `  towpath init my-course
  towpath init --template blank my-work
  towpath init --services my-course`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := first(args)
			if dir == "" {
				dir = "."
			}
			if beside {
				if cmd.Flags().Changed("template") {
					return usageError{errors.New("--services writes no workspace; leave --template out, or run towpath init twice")}
				}
				return c.writeServices(dir)
			}
			if err := starter.Write(c.path(dir), template); err != nil {
				if errors.Is(err, starter.ErrNotEmpty) {
					return err
				}
				return usageError{err}
			}
			c.print(c.env.Out, "wrote the workspace %s\n", dir)
			c.print(c.env.Err, "\nput your own idea into %s, then:\n  towpath run%s\n",
				filepath.Join(dir, "pipeline", firstStage(template), "input.md"), arg(dir))
			return nil
		},
	}
	cmd.Flags().StringVar(&template, "template", "course", "which `TEMPLATE` to write")
	cmd.Flags().BoolVar(&beside, "services", false, "write a compose file with SearXNG and camofox-browser")
	_ = cmd.RegisterFlagCompletionFunc("template", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, t := range starter.Templates() {
			names = append(names, t.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

// writeServices writes the servers that run beside the program, and says how they
// are started.
func (c *cli) writeServices(dir string) error {
	done, err := starter.WriteServices(c.path(dir), c.env.Random)
	if err != nil {
		return err
	}
	for _, name := range done.Made {
		c.print(c.env.Out, "wrote %s\n", filepath.Join(dir, filepath.FromSlash(name)))
	}
	for _, name := range done.Kept {
		c.print(c.env.Err, "%s is already there and was left as it is\n", filepath.Join(dir, filepath.FromSlash(name)))
	}
	c.print(c.env.Err, "\nstart them, and see whether they are ready:\n  docker compose -f %s up -d\n  towpath doctor\n",
		quoted(filepath.Join(dir, filepath.FromSlash(starter.ComposeFile))))
	return nil
}

func firstStage(template string) string {
	if template == "blank" {
		return "01-draft"
	}
	return "01-scope"
}

func (c *cli) newCommand() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "new NAME --from WORKSPACE",
		Short: "Copy a workspace for a second product",
		Long: `new copies a workspace without its outputs and history. Contracts, routing and
reference files stay the same to the byte; change the copy's audience.md and
input.md.`,
		Example: "  towpath new --from my-course another-course",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if from == "" {
				return usageError{errors.New("say which workspace to copy; add --from WORKSPACE")}
			}
			if info, err := os.Stat(c.path(from)); err != nil || !info.IsDir() {
				return usageError{fmt.Errorf("there is no folder %s to copy; name a workspace's folder after --from", from)}
			}
			n, err := app.Copy(c.path(from), c.path(args[0]))
			if err != nil {
				return err
			}
			c.print(c.env.Out, "wrote the workspace %s, %s\n", args[0], plural(n, "file"))
			return nil
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the `WORKSPACE` to copy")
	_ = cmd.RegisterFlagCompletionFunc("from", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return c.workspaces(), cobra.ShellCompDirectiveDefault
	})
	return cmd
}

func (c *cli) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.env.Dir, p)
}
