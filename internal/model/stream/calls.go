package stream

import (
	"encoding/json"
	"strconv"
	"strings"

	"towpath/internal/model"
	"towpath/internal/model/salvage"
)

// CallPiece is a piece of a tool call as it streams. Servers disagree on which of
// its fields they send with which piece.
type CallPiece struct {
	Index     int
	HasIndex  bool
	ID        string
	Name      string
	Arguments string
}

// openCall is a tool call that pieces are still added to.
type openCall struct {
	index int
	id    string
	name  string
	args  strings.Builder
}

// whole says whether the arguments are a complete object.
func (c *openCall) whole() bool {
	s := strings.TrimSpace(c.args.String())
	return strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") && json.Valid([]byte(s))
}

// calls gathers tool calls from their pieces.
type calls struct {
	open []*openCall
	lost int // pieces that belong to no call for certain
}

// add finds the call that a piece belongs to. A piece with a new id, or with a
// name once the call at its index is whole, begins a call, whatever its index
// says. One with neither goes to the call at its index, else to the last call if
// that is the only one that is not whole; else it is counted as lost, and the
// reply fails rather than run with arguments that belong elsewhere.
func (c *calls) add(p CallPiece) {
	at := c.at(p)
	switch {
	case p.ID == "" && p.Name == "":
		if at == nil {
			at = c.onlyOpen()
		}
		if at == nil {
			if strings.TrimSpace(p.Arguments) != "" {
				c.lost++
			}
			return
		}
	case at == nil || begins(at, p):
		at = &openCall{index: p.Index, id: p.ID, name: p.Name}
		if !p.HasIndex {
			at.index = -1
		}
		c.open = append(c.open, at)
	default:
		if at.id == "" {
			at.id = p.ID
		}
		if at.name == "" {
			at.name = p.Name
		}
	}
	at.args.WriteString(p.Arguments)
}

func (c *calls) at(p CallPiece) *openCall {
	for i := len(c.open) - 1; i >= 0; i-- {
		o := c.open[i]
		if p.ID != "" && o.id == p.ID {
			return o
		}
	}
	if !p.HasIndex {
		return nil
	}
	for i := len(c.open) - 1; i >= 0; i-- {
		if c.open[i].index == p.Index {
			return c.open[i]
		}
	}
	return nil
}

// begins says whether a piece with an id or a name starts another call than o.
func begins(o *openCall, p CallPiece) bool {
	if p.ID != "" && o.id != "" {
		return p.ID != o.id
	}
	if p.Name == "" || o.name == "" {
		return false
	}
	return p.Name != o.name || o.whole()
}

func (c *calls) onlyOpen() *openCall {
	var found *openCall
	for _, o := range c.open {
		if !o.whole() {
			if found != nil {
				return nil
			}
			found = o
		}
	}
	return found
}

// finish gives the calls. Arguments that are not JSON are mended where nothing
// has to be invented, and else stay as they came, for the tool's own validation
// to refuse. cut says that the reply was cut by length: then an unfinished call
// is left out.
func (c *calls) finish(cut bool) []model.ToolCall {
	var out []model.ToolCall
	for _, o := range c.open {
		args := o.args.String()
		if cut && !o.whole() {
			continue
		}
		parts := []string{args}
		if args != "" && !o.whole() {
			if mended := salvage.Arguments(args); len(mended) > 0 {
				parts = mended
			}
		}
		for i, part := range parts {
			id := o.id
			if i > 0 && id != "" {
				id += "_" + strconv.Itoa(i+1)
			}
			out = append(out, model.ToolCall{ID: id, Name: o.name, Arguments: part})
		}
	}
	return named(out)
}

// named gives every call an id of its own.
func named(list []model.ToolCall) []model.ToolCall {
	used := map[string]bool{}
	for i := range list {
		id := list[i].ID
		for n := i + 1; id == "" || used[id]; n++ {
			id = "call_" + strconv.Itoa(n)
		}
		used[id] = true
		list[i].ID = id
	}
	return list
}
