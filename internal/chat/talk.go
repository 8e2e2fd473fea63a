package chat

import (
	"encoding/json"

	"towpath/internal/engine"
	"towpath/internal/model"
	"towpath/internal/prompt"
)

// round is one question with everything that followed it, as the model is shown
// it again. Its first message is the question.
type round struct {
	messages []model.Message
	tokens   int // estimate
}

// talk is what the model still sees of the conversation. It is bounded by the
// model's window: whole rounds go, oldest first.
type talk struct {
	rounds  []round
	dropped int     // rounds that went to make room
	size    int     // tokens that the window holds; 0: not known
	reply   int     // of them, kept for the reply
	scale   float64 // tokens as the server counts them, per estimated token
}

const (
	// unknownWindow is what is kept of a conversation where nobody states the
	// window, in tokens.
	unknownWindow = 32768
	// most bounds what is kept where the window is larger than any conversation
	// should be.
	most = 1 << 20

	perMessage = 4 // tokens that a chat template adds around a message
)

// window takes the window of a model.
func (t *talk) window(c engine.Chosen) {
	t.size, t.scale = c.Info.Window, 1
	t.reply = c.MaxReply
	if t.reply <= 0 {
		t.reply = model.DefaultMaxOutput
	}
	if t.size > 0 {
		t.reply = min(t.reply, max(t.size/3, 1))
	}
}

// limit takes what a server said of its window, where that is less than what
// was known. 0 says nothing.
func (t *talk) limit(size int) {
	if size > 0 && (t.size <= 0 || size < t.size) {
		t.size = size
		t.reply = min(t.reply, max(size/3, 1))
	}
}

// bound is the window, or what stands for it.
func (t *talk) bound() int {
	if t.size <= 0 {
		return unknownWindow
	}
	return min(t.size, most)
}

func newRound(messages []model.Message) round {
	r := round{messages: messages}
	for _, m := range messages {
		r.tokens += sizeOf(m)
	}
	return r
}

func sizeOf(m model.Message) int {
	n := prompt.Estimate(m.Text) + perMessage
	for _, c := range m.ToolCalls {
		n += prompt.Estimate(c.Name) + prompt.Estimate(c.Arguments) + perMessage
	}
	return n
}

// tokens is the estimate for all rounds.
func (t *talk) tokens() int {
	n := 0
	for _, r := range t.rounds {
		n += r.tokens
	}
	return n
}

// learn takes the server's own count of a prompt that was estimated.
func (t *talk) learn(estimate, counted int) {
	if estimate > 0 && counted > 0 {
		t.scale = min(max(float64(counted)/float64(estimate), 0.5), 3)
	}
}

// trim makes room for a question beside what else is sent (fixed tokens: system
// text, tools, question) and for what tools will give. When something has to go,
// a quarter more goes than must: the beginning of what is sent then stays the
// same for a while, so that servers do not compute it anew with each question,
// and the record does not hold it anew. It gives the number of rounds that went.
func (t *talk) trim(fixed int, tools bool) int {
	room := float64(t.bound()-t.reply)/t.scale - float64(fixed)
	if tools {
		room -= min(float64(t.bound())/4, 4096) / t.scale
	}
	if float64(t.tokens()) <= room {
		return 0
	}
	return t.shrink(int(max(room, 0) * 3 / 4))
}

// shrink drops the oldest rounds until the rest has at most so many tokens.
func (t *talk) shrink(tokens int) int {
	n, left := 0, t.tokens()
	for n < len(t.rounds) && left > tokens {
		left -= t.rounds[n].tokens
		n++
	}
	t.rounds = append([]round(nil), t.rounds[n:]...)
	t.dropped += n
	return n
}

// messages is the conversation as it is sent, with a question at its end.
func (t *talk) messages(system, question string) []model.Message {
	var all []model.Message
	if system != "" {
		all = append(all, model.Message{Role: model.RoleSystem, Text: system})
	}
	for _, r := range t.rounds {
		all = append(all, r.messages...)
	}
	return append(all, model.Message{Role: model.RoleUser, Text: question})
}

func encode(m model.Message) (string, error) {
	data, err := json.Marshal(m)
	return string(data), err
}
