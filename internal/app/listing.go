package app

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"towpath/internal/model"
	"towpath/internal/model/local"
)

// ListedModel is a model with a note for a person.
type ListedModel struct {
	model.Info
	Note string `json:"note,omitempty"`
}

// ModelList is what can be used here.
type ModelList struct {
	Models  []ListedModel `json:"models"`
	Notes   []string      `json:"notes"`             // providers that were asked and did not answer
	Default string        `json:"default,omitempty"` // what a run takes when nothing is said
}

// ListModels asks every provider that is configured or runs on this machine
// what it has, and lists the local models. A provider that does not answer is a
// note.
func (a *App) ListModels(ctx context.Context) ModelList {
	list := ModelList{Models: []ListedModel{}, Notes: []string{}}
	asked := a.models.askable()
	found := make([][]model.Info, len(asked))
	notes := make([]string, len(asked))
	var wg sync.WaitGroup
	for i, name := range asked {
		wg.Add(1)
		go func() {
			defer wg.Done()
			found[i], notes[i] = a.models.ask(ctx, name)
		}()
	}
	wg.Wait()
	for i := range asked {
		for _, info := range found[i] {
			id := info.ID
			a.models.override(id, &info)
			m := ListedModel{Info: info}
			switch {
			case info.Embeds:
				m.Note = "vectors only, cannot answer"
			case info.Loaded:
				m.Note = "loaded"
			}
			list.Models = append(list.Models, m)
		}
		if notes[i] != "" {
			list.Notes = append(list.Notes, notes[i])
		}
	}
	list.Models = append(list.Models, a.localModels(&list.Notes)...)
	if id, _ := a.Settings.ModelFor(); id != "" {
		list.Default = id
	} else if ch, err := a.models.choice(ctx, false); err == nil {
		list.Default = ch.id
	}
	return list
}

func (a *App) localModels(notes *[]string) []ListedModel {
	if err := local.Supported(); err != nil {
		*notes = append(*notes, err.Error())
		return nil
	}
	entries, err := local.Known(a.cache)
	if err != nil {
		*notes = append(*notes, err.Error())
		return nil
	}
	var out []ListedModel
	for _, e := range entries {
		note := "pulled"
		if !e.Pulled {
			note = "towpath models pull " + e.Name
		}
		out = append(out, ListedModel{Note: note, Info: model.Info{
			ID: local.Prefix + e.Name, Window: e.Window, Tools: &e.Tools, Schema: &e.Schema, Bytes: e.Bytes,
		}})
	}
	return out
}

// askable names the providers that are worth asking: Ollama, those that the
// user configured, and known ones whose key is set.
func (c *catalog) askable() []string {
	var names []string
	for _, name := range c.providers() {
		p, ok := c.settings.Provider(name)
		if !ok {
			continue
		}
		key, err := p.Key()
		if name == "ollama" || err == nil && !key.IsZero() || c.settings.Configured("providers."+name) {
			names = append(names, name)
		}
	}
	return names
}

func (c *catalog) ask(ctx context.Context, provider string) ([]model.Info, string) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c.mu.Lock()
	cl, _, err := c.client(provider)
	c.mu.Unlock()
	if err != nil {
		return nil, err.Error()
	}
	infos, err := cl.List(ctx)
	if err != nil {
		return nil, fmt.Sprintf("%s: %s", provider, strings.TrimPrefix(err.Error(), provider+": "))
	}
	return infos, ""
}
