package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"towpath/internal/durable"
	"towpath/internal/tool"
)

// outcome says what became of a line that was typed.
type outcome int

const (
	question outcome = iota // it is for the model
	handled
	left
)

// slash is a command of the conversation.
type slash struct {
	name, args, about string
}

func slashes() []slash {
	return []slash{
		{"/tools", "", "list the tools that are offered, by server"},
		{"/model", "[ID]", "show the model, or go on with another"},
		{"/context", "", "show what the next question is sent with, in tokens"},
		{"/last", "", "show the last tool call and its result whole"},
		{"/show", "N", "show tool call N and its result whole"},
		{"/save", "FILE", "write the last answer to a file"},
		{"/clear", "", "forget what was said; the record keeps it"},
		{"/help", "", "show this"},
		{"/exit", "", "end"},
	}
}

// command carries out a line that is a command.
func (u *chatUI) command(ctx context.Context, text string) (outcome, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return handled, nil
	}
	name, arg, _ := strings.Cut(text, " ")
	if !strings.HasPrefix(name, "/") || len(name) == 1 || strings.Contains(text, "\n") || strings.ContainsAny(name[1:], "/.") {
		return question, nil
	}
	arg = strings.TrimSpace(arg)
	switch name {
	case "/exit", "/quit":
		return left, nil
	case "/help":
		u.help()
	case "/tools":
		u.listTools(ctx)
	case "/model":
		u.useModel(ctx, arg)
	case "/context":
		u.showContext(ctx)
	case "/last", "/show":
		u.showCall(name, arg)
	case "/save":
		u.save(arg)
	case "/clear":
		if err := u.session.Clear(); err != nil {
			return handled, err
		}
		u.say("forgotten; the next question begins anew")
	default:
		u.unknown(name)
	}
	return handled, nil
}

func (u *chatUI) unknown(name string) {
	var names []string
	for _, s := range slashes() {
		names = append(names, s.name)
	}
	mend := "/help lists them"
	if near := tool.Nearest(name, names); near != "" {
		mend = "did you mean " + near + "? " + mend
	}
	u.say(fmt.Sprintf("there is no command %s; %s", oneLine(name), mend))
}

func (u *chatUI) help() {
	for _, s := range slashes() {
		u.say(fmt.Sprintf("  %-14s %s", strings.TrimSpace(s.name+" "+s.args), s.about))
	}
	u.say("Alt-Enter begins a new line, Tab completes commands, Ctrl-R looks through what you typed.")
}

func (u *chatUI) listTools(ctx context.Context) {
	offers, notes := u.session.Tools(ctx)
	server := ""
	for _, o := range offers {
		if o.Spec.Server != server {
			server = o.Spec.Server
			u.say(u.style.bold(oneLine(server)))
		}
		mark := ""
		switch {
		case o.Spec.ReadOnly:
		case o.Always:
			mark = u.style.yellow(" (allowed in this session)")
		default:
			mark = u.style.yellow(" (asks you first)")
		}
		u.say("  "+oneLine(o.Spec.Name)+params(o.Spec.Input)+mark, u.style.dim(clip(firstSentence(oneLine(o.Spec.Description)), 100)))
	}
	for _, n := range notes {
		u.say(n)
	}
	if len(offers) == 0 {
		u.say("no tools are offered")
	}
}

func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i > 0 {
		return s[:i+1]
	}
	return s
}

func (u *chatUI) useModel(ctx context.Context, id string) {
	if id == "" {
		u.say(u.session.Model())
		u.models = u.session.Models(ctx)
		if len(u.models) > 0 {
			u.say(u.style.dim("/model ID takes another: " + strings.Join(u.models, ", ")))
		}
		return
	}
	if err := u.session.Use(ctx, id); err != nil {
		u.say(u.style.red("error:"), sentence(err))
		return
	}
	u.say("going on with " + u.session.Model())
}

func (u *chatUI) showContext(ctx context.Context) {
	u.session.Tools(ctx)
	c := u.session.Context()
	row := func(tokens int, text string) { u.say(fmt.Sprintf("%8s  %s", thousands(tokens), text)) }
	if len(c.Parts) == 0 {
		row(c.System, "system text")
	}
	own := c.System
	for _, p := range c.Parts {
		row(p.Tokens, oneLine(p.Title()))
		own -= p.Tokens
	}
	if len(c.Parts) > 0 && own > 0 {
		row(own, "headings and the rest of the system text")
	}
	if c.Offers > 0 {
		row(c.Tools, plural(c.Offers, "tool"))
	}
	said := plural(c.Rounds, "question") + " and what came of them"
	if c.Dropped > 0 {
		said += fmt.Sprintf("; %s no longer fit", thousands(c.Dropped))
	}
	row(c.Talk, said)
	sum := c.System + c.Tools + c.Talk
	if c.Window == 0 {
		u.say(fmt.Sprintf("%8s  tokens, estimated; %s are kept for the reply, and nobody states the window", thousands(sum), thousands(c.Reply)))
		return
	}
	u.say(fmt.Sprintf("%8s  of %s tokens, estimated; %s are kept for the reply", thousands(sum), thousands(c.Window), thousands(c.Reply)))
}

func (u *chatUI) showCall(name, arg string) {
	u.mu.Lock()
	calls := slices.Clone(u.calls)
	u.mu.Unlock()
	if len(calls) == 0 {
		u.say("no tool was called yet")
		return
	}
	f := calls[len(calls)-1]
	if name == "/show" {
		n, err := strconv.Atoi(strings.Trim(arg, "[]"))
		i := slices.IndexFunc(calls, func(c *foldedCall) bool { return c.n == n })
		if err != nil || i < 0 {
			u.say(fmt.Sprintf("say which: /show N, from %d to %d", calls[0].n, f.n))
			return
		}
		f = calls[i]
	}
	u.unfold(f)
}

// save writes the last answer to a file below the current folder or the
// workspace.
func (u *chatUI) save(arg string) {
	text := u.session.Last()
	switch {
	case arg == "":
		u.say("say where: /save FILE")
		return
	case text == "":
		u.say("there is no answer yet")
		return
	}
	if len(arg) > 1 && (arg[0] == '"' || arg[0] == '\'') && arg[len(arg)-1] == arg[0] {
		arg = arg[1 : len(arg)-1]
	}
	err := u.write(arg, strings.TrimRight(text, "\n")+"\n")
	switch {
	case errors.Is(err, errKept):
		u.say("nothing was written")
	case err != nil:
		u.say(u.style.red("error:"), sentence(err))
	default:
		u.say("wrote " + oneLine(arg))
	}
}

var errKept = errors.New("the file is kept")

func (u *chatUI) write(name, text string) error {
	abs := u.c.path(name)
	roots := []string{u.c.env.Dir}
	if u.app.Workspace != nil {
		roots = append(roots, filepath.Join(u.app.Tree.Root(), filepath.FromSlash(u.app.Dir)))
	}
	for _, root := range roots {
		rel, err := filepath.Rel(root, abs)
		if err != nil || !filepath.IsLocal(rel) || rel == "." {
			continue
		}
		tree, err := durable.OpenDir(root)
		if err != nil {
			return err
		}
		defer tree.Close()
		slashed := filepath.ToSlash(rel)
		info, err := tree.Stat(slashed)
		switch {
		case err == nil && info.IsDir():
			return fmt.Errorf("%s is a folder; name a file", name)
		case err == nil:
			if !u.sure(oneLine(name) + " is there already. Write over it? y/n ") {
				return errKept
			}
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		return tree.WriteFile(slashed, []byte(text))
	}
	return fmt.Errorf("%s lies outside of the current folder and the workspace; name a file below them", name)
}

// sure asks the person something between two questions.
func (u *chatUI) sure(prompt string) bool {
	fmt.Fprint(u.notes, prompt)
	if u.term == nil {
		r, err := u.answer("")
		return err == nil && r == 'y'
	}
	k, ok := <-u.term.Keys()
	yes := ok && strings.EqualFold(k.Text, "y")
	if yes {
		u.say("yes")
	} else {
		u.say("no")
	}
	return yes
}

// complete completes commands and what follows them.
func (u *chatUI) complete(before string) (int, []string) {
	if !strings.HasPrefix(before, "/") || strings.Contains(before, "\n") {
		return 0, nil
	}
	name, arg, more := strings.Cut(before, " ")
	if !more {
		var out []string
		for _, s := range slashes() {
			if strings.HasPrefix(s.name, name) {
				if s.args != "" {
					s.name += " "
				}
				out = append(out, s.name)
			}
		}
		return 0, out
	}
	var all []string
	switch name {
	case "/model":
		if u.models == nil {
			u.models = u.session.Models(context.Background())
		}
		all = u.models
	case "/show":
		for _, c := range u.calls {
			all = append(all, strconv.Itoa(c.n))
		}
	case "/save":
		return len(before) - len(filepath.Base("x"+arg)) + 1, u.files(arg)
	}
	var out []string
	for _, s := range all {
		if strings.HasPrefix(s, arg) {
			out = append(out, s)
		}
	}
	return len(before) - len(arg), out
}

// files gives the names in the folder of a path that is being typed.
func (u *chatUI) files(arg string) []string {
	dir, prefix := filepath.Split(arg)
	entries, err := os.ReadDir(u.c.path(dir))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) || prefix == "" && strings.HasPrefix(e.Name(), ".") {
			continue
		}
		name := e.Name()
		if e.IsDir() {
			name += string(filepath.Separator)
		}
		out = append(out, name)
	}
	return out
}
