package engine

import (
	"errors"

	"towpath/internal/model"
	"towpath/internal/prompt"
	"towpath/internal/tool"
	"towpath/internal/workspace"
)

// ProbeResult is what a stage would be sent.
type ProbeResult struct {
	Stage      string             `json:"stage"`
	Context    *prompt.Context    `json:"context"`
	Item       *workspace.Item    `json:"item,omitempty"`            // whose context it is, nil without a for-each
	Items      workspace.ItemList `json:"items,omitzero"`            // of its for-each
	Pending    string             `json:"pending,omitempty"`         // why the items are not known yet
	Tools      []tool.Spec        `json:"tools"`                     // that would be offered, as far as known
	ToolTokens int                `json:"tool_tokens"`               // estimate for their schemas
	Unknown    []string           `json:"unknown_servers,omitempty"` // whose tools are known only once started
	Model      model.Info         `json:"model"`
	Reply      int                `json:"reply_tokens"` // reserved for the reply
}

// Probe builds what a stage would be sent, for item n of its for-each (0 is
// the first). It calls no model, contacts no server and takes no lock.
func (e *Engine) Probe(stage string, item int) (*ProbeResult, error) {
	st, err := e.stage(stage)
	if err != nil {
		return nil, err
	}
	p := &ProbeResult{Stage: st.Name, Reply: defaultReply}
	if e.cfg.Reply != nil {
		p.Reply = e.cfg.Reply(st)
	}
	opt := e.promptOptions()
	opt.Probe = true
	s, err := e.stand(st)
	if err != nil {
		return nil, err
	}
	if opt.Rejection, err = e.rejectionOf(s); err != nil {
		return nil, err
	}
	if err := e.probeItems(st, item, p, &opt); err != nil {
		return nil, err
	}
	p.Context, err = prompt.Build(e.fsys, e.cfg.Workspace, st, opt)
	if err != nil {
		return nil, &Error{Code: CodeUsage, How: HowRefused, Err: err}
	}
	p.Tools, p.Unknown = e.granted(st)
	p.ToolTokens = toolTokens(p.Tools)
	if e.cfg.Models != nil {
		p.Model = e.cfg.Models.Known(st)
	}
	return p, nil
}

func (e *Engine) probeItems(st *workspace.Stage, n int, p *ProbeResult, opt *prompt.Options) error {
	if st.Contract.ForEach == nil {
		if n != 0 {
			return usage("", "%s has no items: its contract has no For each", st.Name)
		}
		return nil
	}
	list, err := e.cfg.Workspace.Items(e.fsys, st)
	var missing *workspace.MissingSourceError
	switch {
	case errors.As(err, &missing):
		p.Pending = missing.Error()
		return nil
	case err != nil:
		return &Error{Code: CodeUsage, How: HowRefused, Err: err}
	}
	p.Items = list
	if n < 0 || n > len(list.Items) {
		return usage("", "%s has %d items; there is no item %d", st.Name, len(list.Items), n)
	}
	p.Item = &list.Items[max(n, 1)-1]
	opt.Item, opt.Total = p.Item, len(list.Items)
	return nil
}
