package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"towpath/internal/prompt"
)

// Kept holds results that were too long to be shown whole, so that the model
// can page through them. The zero value is ready; safe for several goroutines.
type Kept struct {
	mu    sync.Mutex
	texts map[string]whole
}

type whole struct {
	text      string
	untrusted bool
}

// Cut shortens text to about limit tokens: head and tail stay. note, which is to
// lead, says what is missing and how to read it; it is "" for a text within the
// limit, which is given back as it is. The whole text is kept under its handle, the beginning of
// its SHA-256, which is also the name of its blob in the journal. reader is the
// name under which the model knows the tool that reads on; "" where it has none.
func (k *Kept) Cut(text string, limit int, untrusted bool, reader string) (note, shown string) {
	size := estimate(text)
	if limit <= 0 || size <= limit {
		return "", text
	}
	handle := k.put(text, untrusted)
	room := int(float64(len(text)) * float64(limit) / float64(size))
	head := boundary(text, room*2/3)
	tail := boundary(text, len(text)-room/3)
	tail = max(tail, head)
	note = fmt.Sprintf("[This result is cut: of %d bytes the first %d and the last %d follow.", len(text), head, len(text)-tail)
	if reader != "" {
		note += fmt.Sprintf(` To read on, call %s with {"handle": %q, "offset": %d}.`, reader, handle, head)
	}
	return note + "]", fmt.Sprintf("%s\n[... %d bytes are left out here ...]\n%s", text[:head], tail-head, text[tail:])
}

func (k *Kept) put(text string, untrusted bool) string {
	sum := sha256.Sum256([]byte(text))
	handle := hex.EncodeToString(sum[:6])
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.texts == nil {
		k.texts = map[string]whole{}
	}
	k.texts[handle] = whole{text, untrusted || k.texts[handle].untrusted}
	return handle
}

// Empty reports that nothing was cut so far.
func (k *Kept) Empty() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.texts) == 0
}

// Reader is the tool read_result(handle, offset), which gives about limit
// tokens of a kept text at a time.
func (k *Kept) Reader(limit int) Tool { return &reader{k, limit} }

type reader struct {
	kept  *Kept
	limit int
}

func (*reader) Spec() Spec {
	return Spec{
		Name:        "read_result",
		Description: "Reads on in a tool result that was too long to be shown whole.",
		Input: json.RawMessage(`{"type":"object","properties":{` +
			`"handle":{"type":"string","description":"the handle that the cut result names"},` +
			`"offset":{"type":"integer","minimum":0,"description":"where to begin, in bytes"}},"required":["handle"]}`),
		ReadOnly: true, Idempotent: true,
	}
}

func (r *reader) Call(_ context.Context, args json.RawMessage) (Result, error) {
	var in struct {
		Handle string
		Offset int
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return Result{Text: err.Error(), IsError: true}, nil
	}
	r.kept.mu.Lock()
	of, ok := r.kept.texts[in.Handle]
	r.kept.mu.Unlock()
	if !ok {
		return Result{Text: fmt.Sprintf("there is no result with the handle %q; take one that a cut result names", in.Handle), IsError: true}, nil
	}
	if in.Offset < 0 || in.Offset >= len(of.text) {
		return Result{Text: fmt.Sprintf("offset %d is outside of the result, which has %d bytes", in.Offset, len(of.text)), IsError: true}, nil
	}
	start := boundary(of.text, in.Offset)
	rest := of.text[start:]
	end := len(of.text)
	if size := estimate(rest); size > r.limit {
		end = start + boundary(rest, max(int(float64(len(rest))*float64(r.limit)/float64(size)), utf8.UTFMax))
	}
	note := fmt.Sprintf("[bytes %d to %d of %d; this is the end]", start, end, len(of.text))
	if end < len(of.text) {
		note = fmt.Sprintf("[bytes %d to %d of %d; to read on, use offset %d]", start, end, len(of.text), end)
	}
	return Result{Text: note + "\n" + of.text[start:end], Untrusted: of.untrusted}, nil
}

// boundary moves i back to the start of a rune.
func boundary(s string, i int) int {
	i = min(max(i, 0), len(s))
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// estimate counts the tokens of a text; a very long one is measured by pieces.
func estimate(text string) int {
	const piece, pieces = 64 << 10, 4
	if len(text) <= piece*pieces {
		return prompt.Estimate(text)
	}
	sum := 0
	for i := range pieces {
		from := boundary(text, i*(len(text)-piece)/(pieces-1))
		sum += prompt.Estimate(strings.ToValidUTF8(text[from:from+piece], ""))
	}
	return int(float64(sum) / float64(piece*pieces) * float64(len(text)))
}
