package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"towpath/internal/app"
	"towpath/internal/model/local"
)

func (c *cli) modelsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the models that can be used here",
		Long: `models asks the servers that are configured or running on this machine which
models they have, and lists the small models that towpath can run by itself.`,
		Example: `  towpath models
  towpath models pull qwen2.5-coder-1.5b`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := app.Bare(cmd.Context(), c.options(""))
			if err != nil {
				return err
			}
			defer a.Close()
			list := a.ListModels(cmd.Context())
			if asJSON {
				return c.printJSON(list)
			}
			c.printModels(list)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(c.pullCommand(), c.serveCommand())
	return cmd
}

func (c *cli) printModels(list app.ModelList) {
	rows := [][]string{{"MODEL", "TOOLS", "SCHEMA", "IMAGES", "WINDOW", "SIZE", ""}}
	for _, m := range list.Models {
		window, size := "-", "-"
		if m.Window > 0 {
			window = thousands(m.Window)
		}
		if m.Bytes > 0 {
			size = bytesOf(m.Bytes)
		}
		rows = append(rows, []string{m.ID, yesNo(m.Tools), yesNo(m.Schema), yesNo(m.Images), window, size, m.Note})
	}
	if len(rows) > 1 {
		c.table(rows)
	}
	for _, n := range list.Notes {
		fmt.Fprintln(c.env.Err, c.fit(c.env.Err, clean(n)))
	}
	last := "no model can be used yet: start Ollama, or run towpath models pull " + local.DefaultModel
	if list.Default != "" {
		last = fmt.Sprintf("a run uses %s unless told otherwise: --model, TOWPATH_MODEL, or model in towpath.toml", list.Default)
	}
	c.print(c.env.Err, "%s\n", c.fit(c.env.Err, last))
}

func yesNo(b *bool) string {
	switch {
	case b == nil:
		return "?"
	case *b:
		return "yes"
	}
	return "no"
}

func (c *cli) pullCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pull NAME",
		Short: "Fetch a small model and the library that runs it",
		Long: `pull fetches llama.cpp's library and a model's weights into the user's cache
folder, and checks sizes and SHA-256 before use. What is there already is not
fetched again; an interrupted pull goes on where it stopped.`,
		Example: "  towpath models pull " + local.DefaultModel,
		Args:    cobra.ExactArgs(1),

		ValidArgsFunction: c.localModels,
		RunE: func(cmd *cobra.Command, args []string) error {
			show := &pullShow{c: c, tty: c.terminal(c.env.Err)}
			res, err := local.Pull(cmd.Context(), strings.TrimPrefix(args[0], local.Prefix), local.PullOptions{
				CacheDir: c.getenv("TOWPATH_CACHE"), Progress: show.progress,
			})
			show.end()
			if err != nil {
				return err
			}
			if res.Fetched == 0 {
				fmt.Fprintf(c.env.Out, "%s%s is there: %s\n", local.Prefix, res.Name, res.Path)
				return nil
			}
			fmt.Fprintf(c.env.Out, "%s%s is ready: %s, fetched %s in %s from %s\n", local.Prefix, res.Name, res.Path,
				bytesOf(res.Fetched), short(res.Elapsed), strings.Join(res.Places, ", "))
			return nil
		},
	}
}

// pullShow shows how far a pull is: one line written over on a terminal, else a
// line for each thing that is fetched and one every few seconds.
type pullShow struct {
	c     *cli
	tty   bool
	mu    sync.Mutex
	what  string
	last  time.Time
	drawn bool
}

func (p *pullShow) progress(s local.PullProgress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.c.env.Clock()
	line := s.What
	if s.From != "" {
		line += " from " + s.From
	}
	if s.Total > 0 {
		line += fmt.Sprintf(": %s of %s", bytesOf(s.Bytes), bytesOf(s.Total))
	}
	w := p.c.env.Err
	switch {
	case p.tty:
		fmt.Fprintf(w, "\r\x1b[2K%s", clip(clean(line), wide(w)()-1))
		p.drawn = true
	case s.What != p.what || now.Sub(p.last) > 5*time.Second:
		fmt.Fprintln(w, clean(line))
		p.last = now
	}
	p.what = s.What
}

func (p *pullShow) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.c.env.Err, "\r\x1b[2K")
	}
}

func (c *cli) serveCommand() *cobra.Command {
	var addr, token string
	cmd := &cobra.Command{
		Use:   "serve [NAME...]",
		Short: "Serve pulled models to other programs, with OpenAI's chat protocol",
		Long: `serve answers OpenAI's chat protocol for the models that were pulled, until
Ctrl-C. It listens on this machine alone unless a token is set.`,
		Example: "  towpath models serve --addr 127.0.0.1:8085",
		RunE: func(cmd *cobra.Command, args []string) error {
			p := local.New(local.Config{CacheDir: c.getenv("TOWPATH_CACHE")})
			defer p.Close()
			if token == "" {
				token = c.getenv("TOWPATH_SERVE_TOKEN")
			}
			err := p.Serve(cmd.Context(), local.ServeOptions{Addr: addr, Names: args, Token: token, Ready: func(url string) {
				fmt.Fprintf(c.env.Out, "serving at %s; Ctrl-C ends it\n", url)
			}})
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8085", "`HOST:PORT` to listen on; port 0 takes a free one")
	cmd.Flags().StringVar(&token, "token", "", "the `TOKEN` that requests must carry; also TOWPATH_SERVE_TOKEN")
	return cmd
}
