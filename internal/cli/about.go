package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"towpath/internal/app"
)

// Version is set by release builds; else the build's own facts are shown.
var Version = "" //nolint:gochecknoglobals // set by the linker

func version() string {
	if Version != "" {
		return Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			rev = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if rev == "" {
		return "development build"
	}
	return rev + dirty
}

func (c *cli) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  towpath version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return c.printJSON(map[string]string{"version": version(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
			}
			fmt.Fprintf(c.env.Out, "towpath %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *cli) completionCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish|powershell",
		Short:     "Print a completion script for a shell",
		Example:   "  source <(towpath completion bash)",
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE: func(_ *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(c.env.Out, true)
			case "zsh":
				return root.GenZshCompletion(c.env.Out)
			case "fish":
				return root.GenFishCompletion(c.env.Out, true)
			default:
				return root.GenPowerShellCompletionWithDesc(c.env.Out)
			}
		},
	}
}

func (c *cli) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor [WORKSPACE]",
		Short: "Check everything that a run would need, and say how to mend it",
		Long: `doctor checks the model server, the models and their windows, the library, git,
tool servers, SearXNG, camofox-browser, disk space and permissions. It exits 1
if something that a run needs, or that your settings name, is missing.`,
		Example:           "  towpath doctor my-course",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: c.atWorkspace,
		RunE: func(cmd *cobra.Command, args []string) error {
			findings, err := app.Doctor(cmd.Context(), c.options(first(args)))
			if err != nil {
				return err
			}
			if asJSON {
				if err := c.printJSON(findings); err != nil {
					return err
				}
			} else {
				c.printFindings(findings)
			}
			for _, f := range findings {
				if f.State == app.Bad {
					return errSaid{1}
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *cli) printFindings(findings []app.Finding) {
	st := c.outStyle()
	for _, f := range findings {
		mark := st.green("ok  ")
		switch f.State {
		case app.Note:
			mark = st.yellow("note")
		case app.Bad:
			mark = st.red("bad ")
		}
		fmt.Fprintf(c.env.Out, "%s  %-10s %s\n", mark, f.What, c.beside(17, clean(f.Text)))
		if f.Mend != "" {
			fmt.Fprintf(c.env.Out, "%17s%s\n", "", c.beside(17, clean(f.Mend)))
		}
	}
}
