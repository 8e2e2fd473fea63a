//go:build linux && (amd64 || arm64) && !nolocal

package engine

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// Run makes one reply. It ends soon after ctx does, with its error.
func (m *Model) Run(ctx context.Context, job Job) (Outcome, error) {
	out := Outcome{Prompt: len(job.Prompt)}
	if err := m.fit(job); err != nil {
		return out, err
	}
	m.abort.Store(false)
	stop := context.AfterFunc(ctx, func() { m.abort.Store(true) })
	defer stop()

	r := &run{m: m, job: job, rnd: rand.New(rand.NewPCG(job.Seed, 0x746f7770617468))}
	defer r.free()
	if job.Grammar != "" && job.Trigger == "" {
		if err := r.constrain(); err != nil {
			return out, err
		}
	}
	p := m.slots.take(job.Prompt)
	r.seq = p.seq
	if err := m.follow(p); err != nil {
		return out, err
	}
	out.Cached = len(m.slots.held[p.seq])
	if err := r.prefill(ctx, out.Cached); err != nil {
		return out, err
	}
	finish, err := r.reply(ctx)
	out.Finish, out.Output, out.Constrained = finish, r.made, r.wasConstrained
	return out, err
}

// fit sees to it that prompt and reply have room.
func (m *Model) fit(job Job) error {
	window := m.Window()
	if len(job.Prompt) == 0 {
		return fmt.Errorf("the prompt is empty")
	}
	if len(job.Prompt)+1 > window {
		return &OverflowError{Prompt: len(job.Prompt), Window: window}
	}
	need := min(len(job.Prompt)+job.MaxOutput, window)
	if need <= m.cells {
		return nil
	}
	cells := m.cells
	for cells < need {
		cells *= 2
	}
	err := m.grow(cells)
	if err == nil || m.ctx == 0 {
		return err
	}
	if len(job.Prompt)+1 > m.cells {
		return &OverflowError{Prompt: len(job.Prompt), Window: m.cells}
	}
	return nil // a shorter reply still fits
}

// follow brings the native memory to where the plan wants it.
func (m *Model) follow(p plan) error {
	if p.copy != p.seq {
		m.drop(p.seq, 0)
		if p.keep > 0 {
			if err := llama.MemorySeqCp(m.mem, llama.SeqId(p.copy), llama.SeqId(p.seq), 0, llama.Pos(p.keep)); err != nil {
				return err
			}
		}
		return nil
	}
	if !m.drop(p.seq, p.keep) {
		// This kind of memory cannot be cut; compute all of it again.
		m.drop(p.seq, 0)
		m.slots.held[p.seq] = nil
	}
	return nil
}

// drop removes what a sequence holds from a position on.
func (m *Model) drop(seq, from int) bool {
	ok, err := llama.MemorySeqRm(m.mem, llama.SeqId(seq), llama.Pos(from), -1)
	return ok && err == nil
}

// run is one reply in the making.
type run struct {
	m              *Model
	job            Job
	rnd            *rand.Rand
	seq            int
	grammar        llama.Sampler
	wasConstrained bool
	text           strings.Builder // all of the reply, for the trigger
	since          int             // where in text the grammar came into force
	held           []byte          // bytes of a character that is not whole yet
	output         []Token
	made           int
}

func (r *run) free() {
	if r.grammar != 0 {
		llama.SamplerFree(r.grammar)
		r.grammar = 0
	}
}

// constrain puts the grammar in force.
func (r *run) constrain() error {
	r.grammar = llama.SamplerInitGrammar(r.m.vocab, r.job.Grammar, "root")
	if r.grammar == 0 {
		return ErrGrammar
	}
	r.wasConstrained = true
	return nil
}

// prefill computes the prompt from a position on.
func (r *run) prefill(ctx context.Context, from int) error {
	prompt, cached := r.job.Prompt, from
	for from < len(prompt) {
		n := min(batchTokens, len(prompt)-from)
		if err := r.decode(ctx, prompt[from:from+n], from+n == len(prompt)); err != nil {
			return err
		}
		from += n
		if r.job.Progress != nil {
			r.job.Progress(from, cached, len(prompt))
		}
	}
	return nil
}

// decode computes tokens at the end of the sequence.
func (r *run) decode(ctx context.Context, tokens []Token, scores bool) error {
	m := r.m
	at := len(m.slots.held[r.seq])
	m.batch.Clear()
	for i, t := range tokens {
		last := scores && i == len(tokens)-1
		if err := m.batch.Add(llama.Token(t), llama.Pos(at+i), []llama.SeqId{llama.SeqId(r.seq)}, last); err != nil {
			return fmt.Errorf("fill a batch: %w", err)
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := int32(m.gov.threads())
		llama.SetNThreads(m.ctx, n, n)
		code, err := llama.Decode(m.ctx, m.batch)
		switch {
		case err != nil:
			return err
		case code == 0:
			m.slots.held[r.seq] = append(m.slots.held[r.seq], tokens...)
			return nil
		case code == 1: // no room in the memory
			old := m.slots.evict(r.seq)
			if old < 0 {
				return &OverflowError{Prompt: len(r.job.Prompt), Window: m.cells}
			}
			m.drop(old, 0)
		default:
			m.drop(r.seq, at)
			if err := ctx.Err(); err != nil {
				return err
			}
			if code == 2 {
				return errAborted
			}
			return fmt.Errorf("the library could not compute the next tokens (code %d)", code)
		}
	}
}

// reply makes tokens until there is a reason to stop.
func (r *run) reply(ctx context.Context) (Finish, error) {
	m := r.m
	for {
		token, err := r.next()
		if err != nil {
			return "", err
		}
		r.made++
		if llama.VocabIsEOG(m.vocab, llama.Token(token)) {
			r.flush()
			return FinishStop, nil
		}
		r.output = append(r.output, token)
		if !r.emit(m.Piece(llama.Token(token))) {
			return FinishCaller, nil
		}
		if repeats(r.output) {
			return "", ErrDegenerate
		}
		if r.made >= r.job.MaxOutput || len(m.slots.held[r.seq])+1 >= min(m.cells, m.Window()) {
			r.flush()
			return FinishLength, nil
		}
		if err := r.decode(ctx, []Token{token}, true); err != nil {
			return "", err
		}
	}
}

// emit passes on what is whole of the text so far, and watches for the
// trigger.
func (r *run) emit(piece string) bool {
	if r.job.Trigger != "" {
		r.text.WriteString(piece)
		r.watch(len(piece))
	}
	r.held = append(r.held, piece...)
	whole := wholeRunes(r.held)
	if whole == 0 {
		return true
	}
	text := strings.ToValidUTF8(string(r.held[:whole]), "\uFFFD")
	r.held = append(r.held[:0], r.held[whole:]...)
	return r.job.Emit(text)
}

// flush passes on what is left, whole or not.
func (r *run) flush() {
	if len(r.held) > 0 {
		r.job.Emit(strings.ToValidUTF8(string(r.held), "\uFFFD"))
		r.held = nil
	}
}

// watch puts the grammar in force once the trigger was written, and takes it
// out of force where it is complete.
func (r *run) watch(added int) {
	text := r.text.String()
	if r.grammar != 0 {
		if r.job.Release != "" && strings.Contains(text[r.since:], r.job.Release) {
			r.free()
		}
		return
	}
	from := max(0, len(text)-added-len(r.job.Trigger)+1)
	at := strings.LastIndex(text[from:], r.job.Trigger)
	if at < 0 || r.constrain() != nil {
		return
	}
	r.since = from + at
	// What the last token wrote beyond the trigger counts as well.
	for _, t := range r.m.Tokens(text[from+at+len(r.job.Trigger):], false, false) {
		if !r.admits(t) {
			r.free()
			return
		}
		llama.SamplerAccept(r.grammar, llama.Token(t))
	}
}

// admits reports whether the grammar takes this token next.
func (r *run) admits(t Token) bool {
	return len(r.filter([]candidate{{t, 0}})) == 1
}

// filter gives those of the candidates that the grammar takes next.
func (r *run) filter(cs []candidate) []candidate {
	data := r.m.scratch[:0]
	for _, c := range cs {
		data = append(data, llama.TokenData{Id: llama.Token(c.token), Logit: c.logit})
	}
	r.m.scratch = data
	arr := llama.TokenDataArray{Data: &data[0], Size: uint64(len(data)), Selected: -1}
	llama.SamplerApply(r.grammar, &arr)
	kept := cs[:0:0]
	for i := range data {
		if data[i].Logit > -1e30 {
			kept = append(kept, cs[i])
		}
	}
	return kept
}

// next chooses the next token. The grammar is asked about the likeliest tokens
// first, about all only if none of these will do, and is told of a choice only
// after it allowed it: native code aborts on a token that does not fit.
func (r *run) next() (Token, error) {
	logits, err := llama.GetLogitsIth(r.m.ctx, -1, r.m.size)
	if err != nil || logits == nil {
		return 0, fmt.Errorf("the library gives no scores")
	}
	if r.grammar == 0 {
		discourage(logits, r.output)
	}
	cs := top(logits, topK)
	if len(cs) == 0 {
		return 0, fmt.Errorf("the library gives scores that are no numbers")
	}
	if r.grammar == 0 {
		return choose(cs, r.job.Temperature, r.rnd), nil
	}
	if again, ok := loops(r.output); ok {
		if end := r.m.Tokens(`"`, false, false); len(end) == 1 && r.admits(end[0]) {
			return r.accept(end[0]), nil // closes the text that would go on forever
		}
		cs = slices.DeleteFunc(cs, func(c candidate) bool { return c.token == again })
	}
	if first := choose(cs, r.job.Temperature, r.rnd); r.admits(first) {
		return r.accept(first), nil
	}
	kept := r.filter(cs)
	if len(kept) == 0 {
		kept = r.filter(all(logits))
		slices.SortStableFunc(kept, func(a, b candidate) int { return cmp.Compare(b.logit, a.logit) })
	}
	if len(kept) == 0 {
		if r.job.Trigger == "" {
			return 0, ErrStuck
		}
		r.free()
		return choose(cs, r.job.Temperature, r.rnd), nil
	}
	return r.accept(choose(kept, r.job.Temperature, r.rnd)), nil
}

// accept tells the grammar of a choice that it allowed.
func (r *run) accept(t Token) Token {
	if llama.VocabIsEOG(r.m.vocab, llama.Token(t)) {
		return t
	}
	llama.SamplerAccept(r.grammar, llama.Token(t))
	return t
}
