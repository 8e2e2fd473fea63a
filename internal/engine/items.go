package engine

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"towpath/internal/agent"
	"towpath/internal/durable"
	"towpath/internal/journal"
	"towpath/internal/model"
	"towpath/internal/prompt"
	"towpath/internal/tool"
	"towpath/internal/workspace"
)

// slot is the place of one item: it ends with pieces or with an error, and
// keeps its place in the source's order.
type slot struct {
	item   workspace.Item
	pieces []string // one for each declared output
	cut    string
	err    error
	tried  bool
}

// workItems runs the process once for each item. A failure does not stop the
// others; what stops them is an end of the whole run, or an error that every
// further call would meet as well.
func (r *stageRun) workItems(ctx context.Context) (product, error) {
	slots := make([]slot, len(r.items))
	for i, it := range r.items {
		slots[i].item = it
	}
	if f := r.st.Contract.ForEach; f.Summaries {
		r.inBatches(ctx, slots, max(f.AtATime, 1))
	} else {
		r.sideBySide(ctx, slots, max(f.AtATime, 1), nil)
	}
	if err := failures(slots); err != nil {
		return product{}, err
	}
	return r.assemble(slots), nil
}

// inBatches gives each batch the summaries of the batches before it.
func (r *stageRun) inBatches(ctx context.Context, slots []slot, size int) {
	var earlier []prompt.Summary
	for from := 0; from < len(slots); from += size {
		batch := slots[from:min(from+size, len(slots))]
		if !r.sideBySide(ctx, batch, size, earlier) {
			return
		}
		for _, s := range batch {
			text := ""
			if s.err == nil {
				text = s.pieces[0]
			}
			earlier = append(earlier, prompt.Summarise(s.item.Title, text))
		}
	}
}

// sideBySide works on the slots, some at a time. It reports whether going on
// makes sense.
func (r *stageRun) sideBySide(ctx context.Context, slots []slot, atATime int, earlier []prompt.Summary) bool {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		over bool
	)
	free := make(chan struct{}, atATime)
	for i := range slots {
		free <- struct{}{}
		mu.Lock()
		stop := over || ctx.Err() != nil
		mu.Unlock()
		if stop {
			break
		}
		wg.Add(1)
		go func(s *slot) {
			defer wg.Done()
			defer func() { <-free }()
			s.tried = true
			r.workItem(ctx, s, earlier)
			if s.err != nil && endsAll(s.err) {
				mu.Lock()
				over = true
				mu.Unlock()
			}
		}(&slots[i])
	}
	wg.Wait()
	return !over && ctx.Err() == nil
}

// endsAll reports whether an error would meet every further item too.
func endsAll(err error) bool {
	var unknown *tool.UnknownCallError
	var leave *agent.LeaveError
	if errors.As(err, &unknown) || errors.As(err, &leave) || errors.Is(err, context.Canceled) {
		return true
	}
	if _, paused := model.PausedUntil(err); paused {
		return true
	}
	switch model.KindOf(err) {
	case model.KindUnreachable, model.KindNoModel, model.KindAuth, model.KindQuota, model.KindNoTools:
		return true
	}
	return false
}

// workItem fills one slot, from an earlier run where its inputs are still the
// same, else by a conversation of its own.
func (r *stageRun) workItem(ctx context.Context, s *slot, earlier []prompt.Summary) {
	opt := r.e.promptOptions()
	opt.Item, opt.Total, opt.Earlier = &s.item, len(r.items), earlier
	opt.Rejection = r.rejectionFor(s.item)
	c, err := r.context(opt)
	if err != nil {
		s.err = err
		return
	}
	ended := &journal.Ended{Title: s.item.Title, Context: c.Hash}
	if r.reuse(s, ended) {
		s.err = r.itemEvent(s.item, journal.Event{Type: journal.ItemEnded, Ended: ended})
		return
	}
	s.err = r.itemEvent(s.item, journal.Event{Type: journal.ItemStarted, Note: s.item.Title})
	if s.err == nil {
		s.err = r.converse(ctx, s, c, opt, ended)
	}
	if s.err != nil {
		if ctx.Err() != nil || endsAll(s.err) {
			return // it did not end: the next run goes on with it
		}
		ended.Error = s.err.Error()
	}
	if err := r.itemEvent(s.item, journal.Event{Type: journal.ItemEnded, Ended: ended}); s.err == nil {
		s.err = err
	}
}

// converse has the item's conversation and keeps its pieces.
func (r *stageRun) converse(ctx context.Context, s *slot, c *prompt.Context, opt prompt.Options, ended *journal.Ended) error {
	past := r.past
	if r.failedBefore(s.item.N) {
		past = nil // its replies led to a failure: ask anew
	}
	d, err := r.turn(ctx, c, opt, s.item.N, past)
	if err != nil {
		return err
	}
	for i, o := range r.st.Contract.Outputs {
		text := oneHeading(d.texts[i], s.item.Title)
		data, err := accept(o.Name, r.run.Scrub(text))
		if err != nil {
			return err
		}
		kept, err := r.run.Keep(fmt.Sprintf("items/%03d-%s", s.item.N, pieceName(o)), data)
		if err != nil {
			return err
		}
		s.pieces = append(s.pieces, string(data))
		ended.Pieces = append(ended.Pieces, journal.Piece{Output: o.Name, Kept: kept, Hash: durable.Hash(data)})
	}
	s.cut, ended.Incomplete = d.cut, d.cut != ""
	return nil
}

// pieceName is the file name of an item's share of an output.
func pieceName(o workspace.Output) string {
	return strings.NewReplacer("{{n}}", "n", "{{item}}", "item").Replace(path.Base(o.Path))
}

func (r *stageRun) itemEvent(it workspace.Item, ev journal.Event) error {
	ev.Item, ev.Of = it.N, len(r.items)
	return r.run.Append(ev)
}

// failedBefore reports whether the newest word on an item is that it failed.
func (r *stageRun) failedBefore(n int) bool {
	for _, o := range r.old {
		if o.n == n {
			return o.Error != ""
		}
	}
	return false
}

// reuse takes an item's pieces from an earlier run, if what it would be sent
// and the contract are still the same and the pieces are still what they were.
func (r *stageRun) reuse(s *slot, ended *journal.Ended) bool {
	for _, o := range r.old {
		if o.Context != ended.Context || o.contract != r.basis.contract || o.Incomplete || len(o.Pieces) != len(r.st.Contract.Outputs) {
			continue
		}
		if pieces, ok := r.e.piecesOf(o); ok {
			s.pieces, ended.Pieces, ended.Reused = pieces, o.Pieces, o.run
			return true
		}
	}
	return false
}

// piecesOf reads the pieces of an item of an earlier run, if all of them are
// still what they were.
func (e *Engine) piecesOf(o oldItem) ([]string, bool) {
	var pieces []string
	for _, p := range o.Pieces {
		data, err := e.cfg.Tree.ReadFile(path.Join(e.cfg.Dir, p.Kept))
		if err != nil || durable.Hash(data) != p.Hash {
			return nil, false
		}
		pieces = append(pieces, string(data))
	}
	return pieces, len(pieces) > 0
}

// assemble gives each target its text: the pieces joined in the order of the
// source, or the piece of its item.
func (r *stageRun) assemble(slots []slot) product {
	var p product
	for _, t := range r.targets {
		if t.item > 0 {
			p.texts = append(p.texts, slots[t.item-1].pieces[t.output])
			continue
		}
		var pieces []string
		for _, s := range slots {
			pieces = append(pieces, s.pieces[t.output])
		}
		p.texts = append(p.texts, join(pieces))
	}
	for _, s := range slots {
		if s.cut != "" && p.cut == "" {
			p.cut = fmt.Sprintf("item %d (%s): %s", s.item.N, s.item.Title, s.cut)
		}
	}
	return p
}

// ItemsError names every item that has no result.
type ItemsError struct {
	Total  int
	Failed []ItemError
}

// ItemError is an item without a result. Err is nil if it was not begun.
type ItemError struct {
	N     int
	Title string
	Err   error
}

// Error names each item with its reason.
func (e *ItemsError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d items have no result", len(e.Failed), e.Total)
	var whys []string // each once, in the order of its first item
	of := map[string][]string{}
	for _, f := range e.Failed {
		why := "not begun"
		if f.Err != nil {
			why = f.Err.Error()
		}
		if of[why] == nil {
			whys = append(whys, why)
		}
		of[why] = append(of[why], fmt.Sprintf("item %d (%s)", f.N, f.Title))
	}
	for _, why := range whys {
		fmt.Fprintf(&b, "; %s: %s", strings.Join(of[why], ", "), why)
	}
	return b.String()
}

// kept reports whether some items have a result.
func (e *ItemsError) kept() bool { return len(e.Failed) < e.Total }

// Unwrap gives the items' errors.
func (e *ItemsError) Unwrap() []error {
	var all []error
	for _, f := range e.Failed {
		if f.Err != nil {
			all = append(all, f.Err)
		}
	}
	return all
}

func failures(slots []slot) error {
	e := &ItemsError{Total: len(slots)}
	for _, s := range slots {
		if s.err != nil || !s.tried {
			e.Failed = append(e.Failed, ItemError{s.item.N, s.item.Title, s.err})
		}
	}
	if len(e.Failed) == 0 {
		return nil
	}
	return e
}
