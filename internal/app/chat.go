package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"towpath/internal/agent"
	"towpath/internal/chat"
	"towpath/internal/durable"
	"towpath/internal/engine"
	"towpath/internal/journal"
	"towpath/internal/prompt"
	"towpath/internal/settings"
	"towpath/internal/tool"
	"towpath/internal/workspace"
)

// bareChat is what a model is told in a conversation outside of a workspace.
const bareChat = `You are a helpful assistant in a terminal. Answer in the language of the question, briefly and to the point, in Markdown.
Use the tools that you have where they help, and say where a fact came from. If you do not know something, say so.`

// chatLead stands before a workspace's own files.
const chatLead = `A person talks with you about the workspace that is described below. Answer in the language of the question, briefly and to the point, in Markdown. You cannot write its files.`

// ChatOptions are what a conversation needs from whoever leads it.
type ChatOptions struct {
	Model   string   // "" takes what the settings say
	Servers []string // whose tools are offered; nil: every server's
	Approve func(ctx context.Context, q chat.Question) (chat.Leave, error)
}

// Chat begins a conversation: about the workspace where there is one, else
// about anything. Close it before the App.
func (a *App) Chat(ctx context.Context, opt ChatOptions) (*chat.Session, error) {
	for _, name := range opt.Servers {
		if _, err := a.servers.builtin(name); err != nil {
			return nil, err
		}
	}
	tree, dir, err := a.chats(true)
	if err != nil {
		return nil, err
	}
	system := &prompt.Context{System: bareChat, Tokens: prompt.Estimate(bareChat)}
	if a.Workspace != nil {
		if system, err = prompt.Standing(a.Tree.FS(), a.Workspace, prompt.Options{Vars: a.Settings.Vars, Project: a.project}); err != nil {
			return nil, err
		}
		system.System = chatLead + "\n\n" + system.System
		system.Tokens += prompt.Estimate(chatLead) + 1
	}
	return chat.New(ctx, chat.Config{
		Tree: tree, Dir: dir, Source: chatSource{a, opt.Servers}, System: system,
		Limits: agent.Limits{
			ToolCalls: a.Settings.Limits.ToolCalls, Time: a.Settings.Limits.Time, Tokens: a.Settings.Limits.Tokens,
		},
		Secrets: a.models.secrets(), Clock: a.opt.Clock, Observe: a.opt.Observe, Approve: opt.Approve,
		Attended: a.opt.Attended, Version: a.opt.Version,
	}, opt.Model)
}

// Chats lists the conversations that can be resumed here, the newest last.
func (a *App) Chats() ([]chat.Past, error) {
	tree, dir, err := a.chats(false)
	if err != nil || tree == nil {
		return nil, err
	}
	return chat.List(tree, dir)
}

// ChatDir is the user's folder for conversations and typed lines, "" where no
// folder of the user's is known.
func (a *App) ChatDir() string {
	state := a.Settings.StateDir()
	if state == "" {
		return ""
	}
	return filepath.Join(state, "chat")
}

// chats gives the folder whose history/ holds conversations: the workspace, else
// one of the user's, which is made where that is wanted.
func (a *App) chats(create bool) (*durable.Tree, string, error) {
	if a.Workspace != nil {
		return a.Tree, a.Dir, nil
	}
	if a.talks != nil {
		return a.talks, ".", nil
	}
	dir := a.ChatDir()
	if dir == "" {
		return nil, "", errors.New("conversations cannot be kept: the user's folder is not known; set HOME or XDG_STATE_HOME")
	}
	if create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, "", fmt.Errorf("making a folder for conversations: %w", durable.Explain("make", dir, err))
		}
	} else if _, err := os.Stat(dir); err != nil {
		return nil, "", nil
	}
	tree, err := durable.OpenDir(dir)
	if err != nil {
		return nil, "", err
	}
	a.talks = tree
	return tree, ".", nil
}

// chatSource gives conversations their model and their tools.
type chatSource struct {
	app  *App
	only []string // servers; nil: all
}

// Model gives a model by its name, or the one that the settings say for chat.
func (c chatSource) Model(ctx context.Context, id string) (engine.Chosen, error) {
	m := c.app.models
	if id != "" && m.replayed == nil {
		return m.ready(ctx, id, false)
	}
	if set, _ := m.settings.ModelFor(chat.Stage); set == "" && m.replayed == nil {
		if _, err := m.choice(ctx, true); err == nil {
			return m.choose(ctx, true, chat.Stage)
		}
	}
	return m.choose(ctx, false, chat.Stage)
}

// Models lists the models that are there.
func (c chatSource) Models(ctx context.Context) []string {
	var names []string
	for _, m := range c.app.ListModels(ctx).Models {
		if m.Note == "" || m.Note == "loaded" || m.Note == "pulled" {
			names = append(names, m.ID)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Tools starts the servers that are wanted, side by side. One
// that the user configured and that does not start is told of at once.
func (c chatSource) Tools(ctx context.Context) ([]tool.Server, []string) {
	s := c.app.servers
	type started struct {
		servers []tool.Server
		err     error
	}
	names := s.Names()
	if c.only != nil {
		names = c.only
	}
	all := make([]started, len(names))
	var wait sync.WaitGroup
	for i, name := range names {
		wait.Add(1)
		go func() {
			defer wait.Done()
			if b, err := s.builtin(name); err == nil && b == "" {
				c.app.tell(journal.Waiting, "starting "+name)
			}
			all[i].servers, all[i].err = s.Open(ctx, &workspace.Stage{Name: chat.Stage}, []string{name})
		}()
	}
	wait.Wait()
	var open []tool.Server
	var notes []string
	for i, name := range names {
		open = append(open, all[i].servers...)
		if err := all[i].err; err != nil && ctx.Err() == nil {
			note := name + " is left out: " + err.Error()
			notes = append(notes, note)
			_, configured := c.app.Settings.Servers[name]
			var untrusted *settings.UntrustedError
			if configured || errors.As(err, &untrusted) {
				c.app.tell(journal.Notice, note)
			}
		}
	}
	return open, notes
}
