//go:build linux && (amd64 || arm64) && !nolocal

package engine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// Sizes of a context. A batch is small so that progress is seen and a cancel
// takes effect soon.
const (
	batchTokens = 128
	sequences   = 8
	smallest    = 8192 // tokens that a context holds at first
)

// Options of Open.
type Options struct {
	Threads int // at most; 0 is one for each core that this program may use
	// Room gives how many bytes of memory may be used for a context now; nil
	// is no limit.
	Room func() int64
}

// Model is a loaded model with its context.
type Model struct {
	opt     Options
	model   llama.Model
	vocab   llama.Vocab
	size    int // of the vocabulary
	ctx     llama.Context
	mem     llama.Memory
	batch   llama.Batch
	slots   *slots
	cells   int // tokens that the context holds
	perCell int64
	gov     *governor
	abort   atomic.Bool
	buf     []byte
	scratch []llama.TokenData
}

// Open loads a model.
func Open(path string, opt Options) (*Model, error) {
	params := llama.ModelDefaultParams()
	params.NGpuLayers = 0
	lm, err := llama.ModelLoadFromFile(path, params)
	if err != nil {
		return nil, fmt.Errorf("load %s: the library cannot read it as a model", path)
	}
	m := &Model{opt: opt, model: lm, vocab: llama.ModelGetVocab(lm), buf: make([]byte, 1024)}
	m.gov = &governor{cores: runtime.NumCPU(), most: opt.Threads, load: func() (int, bool) {
		raw, err := os.ReadFile("/proc/loadavg")
		if err != nil {
			return 0, false
		}
		return runningIn(raw)
	}}
	if opt.Threads <= 0 {
		m.gov.most = runtime.GOMAXPROCS(0)
	}
	m.size = int(llama.VocabNTokens(m.vocab))
	if m.size <= 0 || llama.ModelHasEncoder(lm) || !llama.ModelHasDecoder(lm) {
		m.Close()
		return nil, fmt.Errorf("load %s: it is not a model that continues text", path)
	}
	m.perCell = m.cellBytes()
	m.batch = llama.BatchInit(batchTokens, 0, sequences)
	if err := m.grow(min(smallest, m.Window())); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Close frees everything.
func (m *Model) Close() {
	if m.ctx != 0 {
		llama.Free(m.ctx)
		m.ctx = 0
	}
	if m.batch.Token != nil {
		llama.BatchFree(m.batch)
		m.batch = llama.Batch{}
	}
	if m.model != 0 {
		llama.ModelFree(m.model)
		m.model = 0
	}
}

// Window is the largest number of tokens that the model was made for.
func (m *Model) Window() int { return int(llama.ModelNCtxTrain(m.model)) }

// Template is the model's own chat template, empty if it has none.
func (m *Model) Template() string { return llama.ModelChatTemplate(m.model, "") }

// Marks gives the texts of the tokens that begin and end a text.
func (m *Model) Marks() (bos, eos string) {
	return m.Piece(llama.VocabBOS(m.vocab)), m.Piece(llama.VocabEOS(m.vocab))
}

// AddsBOS reports whether a prompt must begin with the token for it.
func (m *Model) AddsBOS() bool { return llama.VocabGetAddBOS(m.vocab) }

// Controls gives the texts of the tokens that steer the model. They must never
// be made from the text of a message.
func (m *Model) Controls() []string {
	var out []string
	for t := range Token(m.size) {
		if llama.VocabIsControl(m.vocab, llama.Token(t)) || llama.VocabIsEOG(m.vocab, llama.Token(t)) {
			if s := m.Piece(llama.Token(t)); len(s) > 1 {
				out = append(out, s)
			}
		}
	}
	return out
}

// Tokens splits a text. special says whether the texts of control tokens
// become these tokens.
func (m *Model) Tokens(text string, begin, special bool) []Token {
	if text == "" && !begin {
		return nil
	}
	// A NUL would end the text early in native code.
	text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	raw := llama.Tokenize(m.vocab, text, begin, special)
	out := make([]Token, len(raw))
	for i, t := range raw {
		out[i] = Token(t)
	}
	return out
}

// Piece is the text of a token, control tokens included.
func (m *Model) Piece(t llama.Token) string {
	if t < 0 || int(t) >= m.size {
		return ""
	}
	n := llama.TokenToPiece(m.vocab, t, m.buf, 0, true)
	if n < 0 {
		m.buf = make([]byte, -n)
		n = llama.TokenToPiece(m.vocab, t, m.buf, 0, true)
	}
	return string(m.buf[:max(n, 0)])
}

// cellBytes is what one token costs in a context.
func (m *Model) cellBytes() int64 {
	heads := int64(llama.ModelNHead(m.model))
	if heads == 0 {
		return 1 << 15
	}
	size := int64(llama.ModelNEmbd(m.model)) / heads * int64(llama.ModelNHeadKV(m.model))
	return size * int64(llama.ModelNLayer(m.model)) * 2 * 2 // keys and values, two bytes each
}

// grow makes a context for so many tokens. What the old one held is kept where
// it fits.
func (m *Model) grow(cells int) error {
	cells = min((cells+255)/256*256, max(m.Window(), 512))
	if m.opt.Room != nil && m.ctx != 0 {
		if need, have := int64(cells-m.cells)*m.perCell, m.opt.Room(); need > have {
			return fmt.Errorf("a window of %d tokens needs %d MB more memory and %d MB are free",
				cells, need>>20, have>>20)
		}
	}
	kept := m.saveAll()
	if m.ctx != 0 {
		llama.Free(m.ctx)
		m.ctx = 0
	}
	params := llama.ContextDefaultParams()
	params.NCtx = uint32(cells)
	params.NBatch, params.NUbatch = batchTokens, batchTokens
	params.NSeqMax = sequences
	params.NThreads, params.NThreadsBatch = int32(m.gov.most), int32(m.gov.most)
	params.KVUnified = 1
	params.NoPerf = 1
	ctx, err := llama.InitFromModel(m.model, params)
	if err != nil {
		return fmt.Errorf("a context of %d tokens cannot be made; is there enough memory?", cells)
	}
	m.ctx, m.cells, m.slots = ctx, int(llama.NCtx(ctx)), newSlots(sequences)
	m.slots.cut = !llama.ModelIsRecurrent(m.model) && !llama.ModelIsHybrid(m.model)
	if m.mem, err = llama.GetMemory(ctx); err != nil {
		return fmt.Errorf("this kind of model is not supported: %w", err)
	}
	llama.SetAbortCallback(ctx, m.abort.Load)
	m.restoreAll(kept)
	return nil
}

// savedSlot is one sequence while the context is made anew.
type savedSlot struct {
	tokens []Token
	state  []byte
	used   int64
}

func (m *Model) saveAll() []savedSlot {
	if m.ctx == 0 {
		return nil
	}
	out := make([]savedSlot, sequences)
	for i, held := range m.slots.held {
		if len(held) == 0 {
			continue
		}
		state := make([]byte, llama.StateSeqGetSize(m.ctx, llama.SeqId(i)))
		if len(state) == 0 || llama.StateSeqGetData(m.ctx, state, llama.SeqId(i)) == 0 {
			continue
		}
		out[i] = savedSlot{held, state, m.slots.used[i]}
	}
	return out
}

func (m *Model) restoreAll(saved []savedSlot) {
	for i, s := range saved {
		if len(s.state) == 0 || llama.StateSeqSetData(m.ctx, s.state, llama.SeqId(i)) == 0 {
			continue
		}
		m.slots.held[i], m.slots.used[i] = s.tokens, s.used
		m.slots.now = max(m.slots.now, s.used)
	}
}

// errAborted says that native code stopped because it was told to.
var errAborted = errors.New("the computation was stopped")
