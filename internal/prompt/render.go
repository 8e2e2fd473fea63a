package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"towpath/internal/workspace"
)

// The headings that a prompt has of its own. They are part of what tests and
// docs/prompts.md hold byte for byte.
const (
	headConstraints = "# Reference files: constraints to follow in all that you write"
	headEarlier     = "## Already covered: do not repeat"
	headRefused     = "## Your earlier output, which was sent back"
	headReason      = "## Why it was sent back: mend this"
)

// What a chat template adds, in tokens: role and end marks of a message, and
// the beginning of the reply.
const (
	perMessage = 5
	perReply   = 3
)

// page joins blocks with one blank line and counts them as it goes.
type page struct {
	text   strings.Builder
	tokens int
}

func (p *page) block(text string, tokens int) {
	if text == "" {
		return
	}
	if p.text.Len() > 0 {
		p.text.WriteString("\n\n")
	}
	p.text.WriteString(text)
	p.tokens += tokens + 1
}

func (p *page) own(text string) { p.block(text, Estimate(text)) }

func (p *page) file(part Part) {
	if part.Pending == "" {
		p.own("## " + part.Title())
		p.block(part.Text, part.Tokens)
	}
}

// Title is a part's path with its section, as the heading above it has it.
func (p Part) Title() string {
	if p.Section == "" {
		return p.Path
	}
	return p.Path + " § " + p.Section
}

// Largest gives the n parts that take the most tokens, largest first: what to
// name when a prompt does not fit.
func (c *Context) Largest(n int) []Part {
	parts := slices.Clone(c.Parts)
	slices.SortStableFunc(parts, func(a, b Part) int { return b.Tokens - a.Tokens })
	return parts[:min(n, len(parts))]
}

func (b *builder) render() *Context {
	c := &Context{Files: b.files}
	sys, user := &page{}, &page{}
	sys.text.Grow(room(b.system) + room(b.reference))
	user.text.Grow(room(b.working) + len(b.st.Contract.Process) + 512)
	for _, p := range b.system {
		sys.file(p)
	}
	if holds(b.reference) {
		sys.own(headConstraints)
	}
	for _, p := range b.reference {
		sys.file(p)
	}
	process := Part{Path: b.w.Display(b.st.Contract.Path), Layer: workspace.LayerContract, Hash: b.files[b.w.Display(b.st.Contract.Path)]}
	process.setText(Substitute(clean(b.st.Contract.Process), b.values))
	user.block(process.Text, process.Tokens)
	for _, p := range b.working {
		user.file(p)
	}
	b.renderItem(user)
	user.own(b.opt.request(b.st, b.values, 1))

	c.Parts = append(append(append(append(c.Parts, b.system...), b.reference...), process), b.working...)
	if b.item != nil {
		c.Parts = append(c.Parts, *b.item)
	}
	c.System, c.User = sys.text.String(), user.text.String()
	c.Tokens = user.tokens + perMessage + perReply
	if c.System != "" {
		c.Tokens += sys.tokens + perMessage
	}
	c.Hash = hashOf(c.System, c.User)
	return c
}

// renderItem writes the item's block, what came before it, and what was sent
// back. The item stands between lines and not under a heading of ours: small
// models take such a heading over into their reply.
func (b *builder) renderItem(user *page) {
	if b.item != nil {
		user.own(fmt.Sprintf("The %s to work on, %d of %d, stands between the lines:\n\n---", word(b.st), b.opt.Item.N, max(b.opt.Total, b.opt.Item.N)))
		user.block(b.item.Text, b.item.Tokens)
		user.own("---")
	}
	if len(b.opt.Earlier) > 0 {
		var list strings.Builder
		for i, s := range b.opt.Earlier {
			if i > 0 {
				list.WriteByte('\n')
			}
			list.WriteString("- " + s.Title)
			if s.Sentence != "" {
				list.WriteString(": " + s.Sentence)
			}
		}
		user.own(headEarlier)
		user.own(list.String())
	}
	if r := b.opt.Rejection; r != nil {
		if old := clean(r.Output); old != "" {
			user.own(headRefused)
			user.own(old)
		}
		user.own(headReason)
		user.own(clean(r.Reason))
	}
}

func word(st *workspace.Stage) string {
	if f := st.Contract.ForEach; f != nil && f.Word != "" {
		return f.Word
	}
	return "item"
}

func holds(parts []Part) bool {
	for _, p := range parts {
		if p.Pending == "" {
			return true
		}
	}
	return false
}

func room(parts []Part) int {
	n := 64
	for _, p := range parts {
		n += len(p.Text) + len(p.Path) + len(p.Section) + 16
	}
	return n
}

func hashOf(system, user string) string {
	h := sha256.New()
	h.Write([]byte(system))
	h.Write([]byte{0})
	h.Write([]byte(user))
	return hex.EncodeToString(h.Sum(nil))
}

const onlyThat = " and nothing else: your reply is saved word for word, so put no remarks before or after it and no code fence around it."

// OutputRequest is the user message that asks for output n (from 1) of
// several, of the item in Options where there is one. The text of Build already
// asks for output 1.
func (o Options) OutputRequest(st *workspace.Stage, n int) string {
	if n < 1 || n > len(st.Contract.Outputs) {
		return "Now reply with the result" + onlyThat
	}
	return "Now reply with " + o.subject(st, values(st, o), st.Contract.Outputs[n-1]) + onlyThat
}

// request is the statement at the end of the user's text.
func (o Options) request(st *workspace.Stage, values map[string]string, n int) string {
	outputs := st.Contract.Outputs
	start := "Reply with "
	if len(st.Contract.Tools) > 0 {
		start = "When your work with the tools is done, reply with "
	}
	if o.Rejection != nil {
		start = "Do not give the earlier output again. Write a new one in which what it was sent back for is mended. " + start
	}
	if len(outputs) == 0 {
		return start + "the result" + onlyThat
	}
	first := o.subject(st, values, outputs[n-1])
	if len(outputs) == 1 {
		return start + first + onlyThat
	}
	names := make([]string, len(outputs))
	for i, out := range outputs {
		names[i] = o.name(st, values, out)
	}
	return "There are " + strconv.Itoa(len(outputs)) + " files to write, each asked for in a message of its own: " +
		strings.Join(names, ", ") + ". " + start + first + onlyThat
}

// subject says what a reply is to be.
func (o Options) subject(st *workspace.Stage, values map[string]string, out workspace.Output) string {
	s := "the full content of "
	if st.Contract.ForEach != nil && !out.PerItem() {
		s = "this " + word(st) + "'s part of "
	}
	s += o.name(st, values, out)
	if d := strings.TrimSpace(out.Description); d != "" {
		s += " (" + strings.TrimRight(Substitute(d, values), ".") + ")"
	}
	return s
}

// name is an output's file name, with what stands for its item filled in as
// the file's name will have it.
func (o Options) name(st *workspace.Stage, values map[string]string, out workspace.Output) string {
	if o.Item == nil {
		return Substitute(out.Name, values)
	}
	named := make(map[string]string, len(values))
	for k, v := range values {
		named[k] = v
	}
	named["item"] = workspace.Slug(o.Item.Title)
	return path.Clean(Substitute(out.Name, named))
}
