package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"towpath/internal/journal"
	"towpath/internal/model"
	"towpath/internal/prompt"
	"towpath/internal/tool"
)

// budget bounds what one use of a tool gives a model.
type budget struct {
	chunk int // tokens of a document in one call
	total int // tokens of a document in all calls
	reply int // tokens of a reply
}

// budgetFor fits the model: one that runs on this machine reads about ninety
// tokens a second, and each of them is waited for.
func (s *server) budgetFor(info model.Info) budget {
	b := budget{chunk: 6000, total: 24_000, reply: 700}
	if strings.HasPrefix(info.ID, "local/") {
		b = budget{chunk: 1400, total: 2800, reply: 300}
	}
	if s.cfg.ChunkTokens > 0 {
		b.chunk = s.cfg.ChunkTokens
	}
	if s.cfg.TotalTokens > 0 {
		b.total = s.cfg.TotalTokens
	}
	const around = 500 // the instructions, the question, the fence
	if info.Window > 0 {
		b.reply = min(b.reply, max(info.Window/4, 100))
		b.chunk = min(b.chunk, max((info.Window-b.reply-around)*9/10, 100))
	}
	b.total = max(b.total, b.chunk)
	return b
}

var errNoModel = errors.New("there is no model to read the document with: use fetch_snippet or fetch_structure instead")

// model gives the model that a tool reads with.
func (s *server) model(ctx context.Context, tool string) (model.Model, model.Info, error) {
	if s.cfg.Models == nil {
		return nil, model.Info{}, errNoModel
	}
	m, info, err := s.cfg.Models(ctx, tool)
	if err != nil {
		return nil, model.Info{}, fmt.Errorf("finding the model that reads documents: %w", err)
	}
	return m, info, nil
}

// purpose names what a model is asked for, in the journal.
func purpose(ctx context.Context, what string) context.Context {
	if scope, ok := journal.From(ctx); ok {
		scope.Purpose = what
		return journal.With(ctx, scope)
	}
	return ctx
}

// request makes a call about a part of a document. The document comes before
// what is asked, so that a second question about it finds the same beginning.
func (s *server) request(ctx context.Context, system, text, key, ask string, reply int) model.Request {
	req := model.Request{
		Messages: []model.Message{
			{Role: model.RoleSystem, Text: system},
			{Role: model.RoleUser, Text: tool.Fence(text, s.seed(ctx)+"\x00"+key) + "\n\n" + ask},
		},
		MaxOutput: reply,
	}
	for _, m := range req.Messages {
		req.Window += prompt.Estimate(m.Text) + 8
	}
	req.Window += reply
	return req
}
