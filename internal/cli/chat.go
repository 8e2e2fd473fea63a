package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"towpath/internal/agent"
	"towpath/internal/app"
	"towpath/internal/chat"
	"towpath/internal/engine"
	"towpath/internal/journal"
	"towpath/internal/model"
)

// chatFlags are what towpath chat was asked for.
type chatFlags struct {
	path    string // of the workspace
	model   string
	resume  string
	resumes bool
	list    bool
	bare    bool
	json    bool
	tools   []string
}

// newest is what --resume without a name means.
const newest = "newest"

func (c *cli) chatCommand() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:   "chat [WORKSPACE]",
		Short: "Talk with the agent that runs stages",
		Long: `chat talks with the same agent that runs stages. About a workspace it knows what
CLAUDE.md, CONTEXT.md and _config say; anywhere else it has a prompt of its own.
It may use every tool of the configured servers, and asks you before a call that
may change something.

At a terminal, type /help for the commands; Ctrl-C breaks an answer off and
keeps the conversation. With a question on standard input it answers and ends:
echo "What does stage 2 read?" | towpath chat my-course. Every conversation is
kept and can be taken up again.`,
		Example: `  towpath chat
  towpath chat my-course --model ollama/qwen3.5:9b
  towpath chat --tools search-server,browser-server
  towpath chat --resume`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: c.atWorkspace,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.resumes = cmd.Flags().Changed("resume")
			if err := f.take(args); err != nil {
				return err
			}
			return c.chat(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.model, "model", "", "the `MODEL`, such as ollama/qwen3.5:9b")
	fl.StringVar(&f.resume, "resume", newest, "take up the conversation `ID`, the newest unless named")
	fl.Lookup("resume").NoOptDefVal = newest
	fl.StringSliceVar(&f.tools, "tools", nil, "offer the tools of these `SERVERS` alone; none offers none")
	fl.BoolVar(&f.list, "list", false, "list the conversations that can be resumed")
	fl.BoolVar(&f.bare, "no-workspace", false, "leave the workspace at the current folder alone")
	fl.BoolVar(&f.json, "json", false, "print a line of JSON for each event; with --list, print JSON")
	return cmd
}

var runName = regexp.MustCompile(`^\d{8}T\d{6}`)

// take sorts the arguments: the name of a conversation may follow --resume with
// a space between.
func (f *chatFlags) take(args []string) error {
	if f.resumes && f.resume == newest && len(args) > 0 && runName.MatchString(args[len(args)-1]) {
		f.resume, args = args[len(args)-1], args[:len(args)-1]
	}
	if len(args) > 1 {
		return usageError{errors.New("chat takes one workspace; see towpath chat --help")}
	}
	f.path = first(args)
	if f.path != "" && f.bare {
		return usageError{errors.New("--no-workspace and a workspace exclude each other; use one of them")}
	}
	if f.resume == newest {
		f.resume = ""
	}
	return nil
}

// openChat wires the program for a conversation.
func (c *cli) openChat(ctx context.Context, f chatFlags, observe func(journal.Event)) (*app.App, error) {
	opt := c.options(f.path)
	opt.Observe = observe
	if f.model != "" {
		c.flags["model"] = f.model
	}
	switch {
	case f.bare:
		return app.Bare(ctx, opt)
	case f.path != "":
		return app.Open(ctx, opt)
	}
	return app.Here(ctx, opt)
}

func (c *cli) chat(ctx context.Context, f chatFlags) error {
	if f.list {
		return c.listChats(ctx, f)
	}
	u := newChatUI(c, f.json)
	a, err := c.openChat(ctx, f, u.observe)
	if err != nil {
		return u.end(err)
	}
	u.app = a
	err = u.begin(ctx, f)
	if err == nil {
		switch {
		case u.screen:
			err = u.talk(ctx)
		case c.attended():
			err = u.lines(ctx)
		default:
			err = u.once(ctx)
		}
	}
	if errors.Is(err, errForced) {
		return errSaid{engine.CodeInterrupted}
	}
	err = u.end(err)
	if cerr := a.Close(); err == nil {
		err = cerr
	}
	return c.locate(a, err)
}

func (c *cli) listChats(ctx context.Context, f chatFlags) error {
	a, err := c.openChat(ctx, f, nil)
	if err != nil {
		return err
	}
	defer a.Close()
	all, err := a.Chats()
	if err != nil {
		return err
	}
	if f.json {
		if all == nil {
			all = []chat.Past{}
		}
		return c.printJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(c.env.Err, "there are no conversations yet; start one with towpath chat")
		return nil
	}
	room := 60
	if isTerminal(c.env.Out) {
		const others = 52 // columns of what stands before
		room = min(max(wide(c.env.Out)()-others, 10), room)
	}
	rows := [][]string{{"ID", "LAST", "QUESTIONS", "BEGINS WITH"}}
	for _, p := range all {
		text := p.Title
		if p.Problem != "" {
			text = "cannot be read: " + p.Problem
		}
		rows = append(rows, []string{p.ID, p.Last.Local().Format("2006-01-02 15:04"), thousands(p.Turns), clip(oneLine(text), room)})
	}
	c.table(rows)
	return nil
}

// once answers what stands on standard input, and ends.
func (u *chatUI) once(ctx context.Context) error {
	if u.c.env.In == nil {
		return usageError{errors.New("there is no question; write one to standard input, or start towpath chat at a terminal")}
	}
	data, err := io.ReadAll(io.LimitReader(u.c.env.In, chat.MaxQuestion+1))
	if err != nil {
		return fmt.Errorf("reading the question: %w", err)
	}
	question := strings.TrimSpace(strings.ToValidUTF8(string(data), "\ufffd"))
	if question == "" {
		return usageError{errors.New("there is no question; write one to standard input, or start towpath chat at a terminal")}
	}
	u.quiet = !isTerminal(u.c.env.Out) // a pipe gets the answer, and nothing that was taken back
	answer, err := u.session.Ask(ctx, question)
	u.closePage()
	if u.quiet && err == nil && answer.Text != "" {
		u.show(answer.Text)
	}
	if until, ok := model.PausedUntil(err); ok {
		return &engine.Error{Code: engine.CodePaused, How: engine.HowPaused, Err: err, Until: until,
			Mend: "ask again after " + until.Local().Format("2006-01-02 15:04")}
	}
	if err == nil && answer.Stop != agent.StopAnswered {
		return &engine.Error{Code: engine.CodeSurrender, How: engine.HowSurrender, Err: fmt.Errorf("stopped without an answer: %s", answer.Reason)}
	}
	return err
}

// howEnded sorts the end of a conversation as the ends of runs are.
func howEnded(err error) string {
	var ours *engine.Error
	switch {
	case err == nil:
		return engine.HowEnded
	case errors.As(err, &ours):
		return ours.How
	}
	switch engine.ExitCode(err) {
	case engine.CodeUsage:
		return engine.HowRefused
	case engine.CodePerson:
		return engine.HowHandOff
	case engine.CodeInterrupted:
		return engine.HowInterrupted
	}
	return engine.HowFailed
}

// lines talks where lines are read and nothing is written over.
func (u *chatUI) lines(ctx context.Context) error {
	in := bufio.NewReaderSize(u.c.env.In, 64<<10)
	u.answer = func(string) (rune, error) {
		s, err := in.ReadString('\n')
		if err != nil {
			return 'n', err
		}
		s = strings.ToLower(strings.TrimSpace(s))
		if s == "" {
			return 'n', nil
		}
		return rune(s[0]), nil
	}
	for ctx.Err() == nil {
		if !u.json {
			fmt.Fprint(u.notes, "> ")
		}
		text, err := in.ReadString('\n')
		if err != nil && text == "" {
			return nil
		}
		text = strings.TrimRight(text, "\r\n")
		switch done, err := u.command(ctx, text); {
		case err != nil:
			return err
		case done == left:
			return nil
		case done == handled:
			continue
		}
		answer, err := u.session.Ask(ctx, text)
		u.settled(answer, err)
	}
	return ctx.Err()
}
