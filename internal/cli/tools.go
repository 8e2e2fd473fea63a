package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"towpath/internal/app"
	"towpath/internal/tool"
)

func (c *cli) toolsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List the tools of every server",
		Long: `tools lists the tools of every built-in and configured server. A contract names
them as "server: tool, tool".`,
		Example: `  towpath tools
  towpath tools call search-server search '{"query": "backup"}'`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := app.Here(cmd.Context(), c.options(""))
			if err != nil {
				return err
			}
			defer a.Close()
			list, notes := a.ListTools(cmd.Context())
			for _, n := range notes {
				fmt.Fprintln(c.env.Err, clean(n))
			}
			if asJSON {
				return c.printJSON(list)
			}
			for _, s := range list {
				c.print(c.env.Out, "%s: %s%s\n", s.Server, c.outStyle().bold(oneLine(s.Name)), oneLine(params(s.Input)))
				if about := clean(oneLine(s.Description)); about != "" {
					fmt.Fprintf(c.env.Out, "    %s\n", about)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the schemas")
	cmd.AddCommand(c.toolsCall())
	return cmd
}

// params names a tool's parameters: (query, max_results?).
func params(schema json.RawMessage) string {
	var s struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return ""
	}
	need := map[string]bool{}
	for _, r := range s.Required {
		need[r] = true
	}
	var names []string
	for _, name := range propertyNames(schema) {
		if !need[name] {
			name += "?"
		}
		names = append(names, name)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// propertyNames gives the properties of an object schema in their order.
func propertyNames(schema json.RawMessage) []string {
	var top struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &top) != nil || len(top.Properties) == 0 {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(string(top.Properties)))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	var names []string
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return names
		}
		name, ok := key.(string)
		if !ok {
			return names
		}
		names = append(names, name)
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			return names
		}
	}
	return names
}

func (c *cli) toolsCall() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "call SERVER TOOL [JSON]",
		Short: "Run one tool and print its result",
		Long: `call runs a tool without a model. The arguments are a JSON object; - reads it
from standard input.`,
		Example: `  towpath tools call search-server search '{"query": "backup"}'
  towpath tools call browser-server fetch_structure '{"url": "library:backup.md"}'`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			raw := "{}"
			if len(args) == 3 {
				raw = args[2]
			}
			if raw == "-" {
				b, err := io.ReadAll(io.LimitReader(c.env.In, 1<<20))
				if err != nil {
					return fmt.Errorf("reading the arguments: %w", err)
				}
				raw = string(b)
			}
			a, err := app.Here(cmd.Context(), c.options(""))
			if err != nil {
				return err
			}
			defer a.Close()
			res, err := a.CallTool(cmd.Context(), args[0], args[1], raw)
			var bad *tool.ArgumentError
			if errors.As(err, &bad) {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			return c.printResult(res, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole result as JSON")
	return cmd
}

func (c *cli) printResult(res tool.Result, asJSON bool) error {
	switch {
	case asJSON:
		if err := c.printJSON(res); err != nil {
			return err
		}
	case res.Text == "" && len(res.Structured) > 0:
		c.printRaw(c.env.Out, string(res.Structured)+"\n")
	default:
		lines := strings.Split(res.Text, "\n")
		for i := range lines {
			lines[i] = clean(lines[i])
		}
		fmt.Fprintln(c.env.Out, strings.Join(lines, "\n"))
	}
	if res.IsError {
		return errSaid{1}
	}
	return nil
}
