package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"towpath/internal/app"
	"towpath/internal/model/local"
)

// completer gives words that a shell offers. It contacts nothing.
type completer func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// workspaces offers the workspaces at or below the current folder, and folders.
func (c *cli) workspaces() []string {
	found, err := app.Discover(c.env.Dir)
	if err != nil {
		return nil
	}
	return found
}

// atWorkspace completes a command's one argument, a workspace.
func (c *cli) atWorkspace(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.workspaces(), cobra.ShellCompDirectiveDefault
}

// atStage completes STAGE, then the words between, then WORKSPACE.
func (c *cli) atStage(between ...string) completer {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return c.stages(""), cobra.ShellCompDirectiveNoFileComp
		case len(args) == 1 && len(between) > 0:
			return between, cobra.ShellCompDirectiveNoFileComp
		}
		return c.atWorkspace(nil, args[min(len(args), 1+min(len(between), 1)):], "")
	}
}

// stageFlag completes a flag whose value is a stage of the workspace that the
// arguments name.
func (c *cli) stageFlag(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.stages(first(args)), cobra.ShellCompDirectiveNoFileComp
}

// stages lists the stages of a workspace, or of every one here.
func (c *cli) stages(path string) []string {
	paths := []string{path}
	if path == "" {
		paths = c.workspaces()
	}
	var names []string
	seen := map[string]bool{}
	for _, p := range paths {
		list, err := app.Stages(c.options(p))
		if err != nil {
			continue
		}
		for _, name := range list {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

// modelFlag offers the small models that towpath runs itself, and how other
// names begin.
func (c *cli) modelFlag(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := []string{"ollama/", "openai/", "groq/", "openrouter/", "llamacpp/", "lmstudio/"}
	entries, err := local.Known(c.getenv("TOWPATH_CACHE"))
	if err == nil {
		for _, e := range entries {
			names = append(names, local.Prefix+e.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// localModels completes the names of models that can be pulled.
func (c *cli) localModels(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	entries, err := local.Known(c.getenv("TOWPATH_CACHE"))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// noSuchCommand refuses a word that is no command and names what is near it.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := cmd.SuggestionsFor(args[0])
	said := "see " + cmd.CommandPath() + " --help"
	if len(near) > 0 {
		said = "did you mean " + cmd.CommandPath() + " " + strings.Join(near, " or "+cmd.CommandPath()+" ") + "?"
	}
	return usageError{unknownCommand{args[0], said}}
}

type unknownCommand struct{ word, said string }

func (e unknownCommand) Error() string { return "there is no command \"" + e.word + "\"; " + e.said }
