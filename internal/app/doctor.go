package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"towpath/internal/durable"
	"towpath/internal/model"
	"towpath/internal/model/local"
	"towpath/internal/workspace"
)

// The states of a Finding.
const (
	Good = "ok"
	Note = "note" // works, but something is worth knowing
	Bad  = "bad"  // a run would fail
)

// Finding is what doctor says of one thing.
type Finding struct {
	What  string `json:"what"`
	State string `json:"state"`
	Text  string `json:"text"`
	Mend  string `json:"mend,omitempty"`
}

// diskNeeded is the free space, in bytes, below which doctor complains: a run
// writes little, but a journal that cannot be written stops it.
const diskNeeded = 200 << 20

// Doctor checks what a run of the workspace would need, or a run in general
// where there is none.
func Doctor(ctx context.Context, opt Options) ([]Finding, error) {
	a, err := Open(ctx, opt)
	if err != nil && opt.Path != "" {
		return nil, err
	}
	var out []Finding
	if err != nil {
		out = append(out, Finding{"workspace", Note, "none is checked: " + err.Error(), ""})
		if a, err = Bare(ctx, opt); err != nil {
			return nil, err
		}
	}
	defer a.Close()
	out = append(out, a.checkSettings()...)
	if a.Workspace != nil {
		out = append(out, a.checkWorkspace()...)
	}
	out = append(out, a.checkModels(ctx)...)
	out = append(out, a.checkLibrary(ctx), a.checkGit())
	out = append(out, a.checkServers(ctx)...)
	out = append(out, a.checkServices(ctx)...)
	return append(out, a.checkDisk()...), nil
}

func (a *App) checkSettings() []Finding {
	var out []Finding
	for _, w := range a.Settings.Warnings {
		out = append(out, Finding{"settings", Note, w, ""})
	}
	if n := len(a.Settings.Inert); n > 0 {
		out = append(out, Finding{"trust", Note, "settings of this workspace that wait for trust and are not in force: " + strconv.Itoa(n),
			"read them with towpath config, then run towpath trust"})
	}
	if len(out) == 0 {
		from := "defaults"
		if a.Settings.Project != "" {
			from = a.Settings.Project
		}
		out = append(out, Finding{"settings", Good, from, ""})
	}
	return out
}

func (a *App) checkWorkspace() []Finding {
	errs, warnings := 0, 0
	for _, p := range a.Lint() {
		if p.Severity == workspace.Error {
			errs++
		} else {
			warnings++
		}
	}
	f := Finding{"workspace", Good, a.ShownPath(a.Dir) + ", " + count(len(a.Workspace.Stages), "stage"), ""}
	switch {
	case errs > 0:
		f = Finding{"workspace", Bad, fmt.Sprintf("errors in the contracts: %d", errs), "see towpath lint"}
	case warnings > 0:
		f = Finding{"workspace", Note, fmt.Sprintf("warnings in the contracts: %d", warnings), "see towpath lint"}
	}
	return []Finding{f, a.checkWritable()}
}

// checkWritable tries what a run does: the lock, and a file.
func (a *App) checkWritable() Finding {
	lock, err := a.Tree.Lock(a.Dir)
	var held *durable.LockedError
	if errors.As(err, &held) {
		return Finding{"lock", Note, held.Error(), ""}
	}
	if err != nil {
		return Finding{"lock", Bad, err.Error(), ""}
	}
	if err := lock.Unlock(); err != nil {
		return Finding{"lock", Bad, err.Error(), ""}
	}
	return Finding{"lock", Good, "the workspace can be written and locked", ""}
}

// checkModels asks for the model of every stage, or for any.
func (a *App) checkModels(ctx context.Context) []Finding {
	if a.Workspace == nil {
		ch, err := a.models.choose(ctx, false)
		if err != nil {
			return []Finding{modelTrouble("model", err)}
		}
		return []Finding{modelFinding("model", ch.Info)}
	}
	var out []Finding
	seen := map[string]bool{}
	for _, st := range a.Workspace.Stages {
		ch, err := a.models.Choose(ctx, st, "turn")
		f := Finding{}
		if err != nil {
			f = modelTrouble(st.Name, err)
		} else {
			f = modelFinding(st.Name, ch.Info)
		}
		key := f.Text + f.Mend
		if seen[key] {
			continue
		}
		seen[key] = true
		f.What = "model"
		if len(a.Workspace.Stages) > 1 && err != nil {
			f.Text = st.Name + ": " + f.Text
		}
		out = append(out, f)
	}
	return out
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func modelTrouble(what string, err error) Finding {
	var e *model.Error
	if errors.As(err, &e) {
		text := e.Message
		if e.Model != "" {
			text = e.Model + ": " + text
		}
		return Finding{what, Bad, text, e.Mend}
	}
	return Finding{what, Bad, err.Error(), ""}
}

func modelFinding(what string, info model.Info) Finding {
	text := info.ID + " answers"
	if info.Window > 0 {
		text += fmt.Sprintf(", window %d tokens", info.Window)
	}
	switch {
	case info.Tools == nil:
	case *info.Tools:
		text += ", calls tools"
	default:
		text += ", cannot call tools"
	}
	f := Finding{what, Good, text, ""}
	if info.ID == local.Prefix+local.SmallModel {
		f.State, f.Mend = Note, "its text is poor: towpath models pull "+local.DefaultModel
	}
	return f
}

func (a *App) checkLibrary(ctx context.Context) Finding {
	if a.Settings.Search.Library == "" {
		return Finding{"library", Note, "none is set; stages that search need one", `name a folder of your documents in towpath.toml: [search] library = "library"`}
	}
	lib, err := a.servers.library()
	if err != nil {
		return Finding{"library", Bad, err.Error(), ""}
	}
	r, err := lib.Refresh(ctx)
	if err != nil {
		return Finding{"library", Bad, err.Error(), ""}
	}
	f := Finding{"library", Good, a.Settings.Search.Library + ", " + count(r.Files, "document"), ""}
	if len(r.Passed) > 0 {
		f.State, f.Text = Note, fmt.Sprintf("%s; passed over: %s", f.Text, strings.Join(r.Passed, ", "))
	}
	return f
}

func (a *App) checkGit() Finding {
	if _, err := exec.LookPath("git"); err != nil {
		return Finding{"git", Note, "not found; runs do not need it, but keeping a workspace in git lets you compare results", "install git"}
	}
	if a.Tree == nil {
		return Finding{"git", Good, "found", ""}
	}
	if _, err := os.Stat(filepath.Join(a.Tree.Root(), ".git")); err != nil {
		return Finding{"git", Note, "the workspace is in no repository, so inputs must lie inside the workspace", "git init keeps its history and lets inputs lie beside it"}
	}
	return Finding{"git", Good, "repository " + a.Tree.Root(), ""}
}

func (a *App) checkDisk() []Finding {
	places := []string{a.cache}
	if a.Tree != nil {
		places = append([]string{filepath.Join(a.Tree.Root(), filepath.FromSlash(a.Dir))}, places...)
	}
	var out []Finding
	for _, p := range places {
		free, err := durable.FreeSpace(p)
		switch {
		case err != nil:
			out = append(out, Finding{"disk", Note, fmt.Sprintf("the free space at %s is not known: %v", p, err), ""})
		case free < diskNeeded:
			out = append(out, Finding{"disk", Bad, fmt.Sprintf("%d MB are free at %s", free>>20, p), "free some space"})
		default:
			out = append(out, Finding{"disk", Good, fmt.Sprintf("%.1f GB free at %s", float64(free)/1e9, p), ""})
		}
	}
	return out
}
