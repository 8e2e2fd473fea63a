package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"towpath/internal/durable"
	"towpath/internal/model"
	"towpath/internal/prompt"
	"towpath/internal/tool"
	"towpath/internal/workspace"
)

// basis is everything whose change makes a stage stale, by hash.
type basis struct {
	contract string
	files    map[string]string // workspace path -> hash
}

func (b basis) equal(contract string, files map[string]string) bool {
	return b.contract == contract && maps.Equal(b.files, files)
}

// changes lists what differs from an earlier basis, in byte order.
func (b basis) changes(contract, contractPath string, files map[string]string) []string {
	var changed []string
	if b.contract != contract {
		changed = append(changed, contractPath)
	}
	for name, hash := range b.files {
		if files[name] != hash {
			changed = append(changed, name)
		}
	}
	for name := range files {
		if _, ok := b.files[name]; !ok {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return slices.Compact(changed)
}

// basisOf hashes what a stage reads, as it is now. Inputs that are not there
// are left out.
func (e *Engine) basisOf(st *workspace.Stage) (basis, error) {
	files, err := prompt.Files(e.fsys, e.cfg.Workspace, st)
	if err != nil {
		return basis{}, &Error{Code: CodeUsage, How: HowRefused, Err: err}
	}
	return basis{contract: durable.Hash(st.Contract.Source), files: files}, nil
}

func (e *Engine) promptOptions() prompt.Options {
	return prompt.Options{Vars: e.cfg.Vars, Project: e.cfg.Project}
}

// makers gives the stages whose outputs a stage reads.
func (e *Engine) makers(st *workspace.Stage) []*workspace.Stage {
	inputs := st.Contract.Inputs
	if st.Contract.ForEach != nil {
		inputs = append(slices.Clone(inputs), st.Contract.ForEach.Source)
	}
	var all []*workspace.Stage
	for _, in := range inputs {
		r, err := e.cfg.Workspace.Resolve(e.fsys, st, in)
		if err == nil && r.Maker != nil && r.Maker != st && !slices.Contains(all, r.Maker) {
			all = append(all, r.Maker)
		}
	}
	return all
}

// fits refuses a prompt that the model's window cannot hold, naming what is
// largest in it.
func (e *Engine) fits(st *workspace.Stage, c *prompt.Context, tools, reply int, info model.Info) error {
	if info.Window == 0 || c.Tokens+tools+reply <= info.Window {
		return nil
	}
	var large []string
	for _, p := range c.Largest(3) {
		large = append(large, fmt.Sprintf("%s (about %d tokens)", p.Path, p.Tokens))
	}
	what := fmt.Sprintf("about %d tokens of prompt", c.Tokens)
	if tools > 0 {
		what += fmt.Sprintf(", %d of tool schemas", tools)
	}
	return failed("shorten or split these, or use a model with a larger window",
		"%s does not fit %s: %s and %d for the reply are more than its window of %d; the largest inputs are %s",
		st.Name, info.ID, what, reply, info.Window, strings.Join(large, ", "))
}

// toolTokens estimates what offering tools adds to a prompt.
func toolTokens(specs []tool.Spec) int {
	var tools []prompt.Tool
	for _, s := range specs {
		tools = append(tools, prompt.Tool{Name: s.Server + "_" + s.Name, Description: s.Description, Schema: s.Input})
	}
	return prompt.EstimateTools(tools)
}

// replyTokens is what is reserved for a reply.
func replyTokens(c Chosen) int {
	if c.MaxReply > 0 {
		return c.MaxReply
	}
	return defaultReply
}

const defaultReply = 2048
