package fakeserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// protocol is what differs between the two protocols' chat calls.
type protocol interface {
	refuse(w http.ResponseWriter, status int, kind, message string, more map[string]any)
	asked(r Request) int     // window asked for, 0 if the protocol cannot ask
	maxOutput(r Request) int // 0 if not set
	mayCut(r Request) bool   // the client did not forbid to cut the prompt
	contentType() string
	pieces(c *core, r Request, p Reply, u usage) (body []string, end []string)
}

// usage is what the server counted.
type usage struct{ prompt, cached, output, reasoning int }

const maxBody = 64 << 20

func readRequest(r *http.Request) (Request, error) {
	req := Request{Path: r.URL.Path, Header: r.Header.Clone(), Native: r.URL.Path == "/api/chat"}
	b, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return req, err
	}
	req.Body = b
	if len(b) == 0 {
		return req, nil
	}
	if err := json.Unmarshal(b, &req.Fields); err != nil {
		return req, err
	}
	var view struct {
		Model    string
		Messages []struct {
			Message
			Content any `json:"content"`
		}
		Tools []struct {
			Function struct{ Name string }
		}
		Options map[string]any
	}
	if err := json.Unmarshal(b, &view); err != nil {
		return req, err
	}
	req.Model, req.Options = view.Model, view.Options
	for _, m := range view.Messages {
		m.Message.Content, _ = m.Content.(string)
		req.Messages = append(req.Messages, m.Message)
	}
	for _, t := range view.Tools {
		req.Tools = append(req.Tools, t.Function.Name)
	}
	return req, nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

// chat answers one chat call.
func (c *core) chat(w http.ResponseWriter, r *http.Request, req Request, p protocol) {
	busy, wait := c.enter()
	defer c.leave()
	if busy {
		p.refuse(w, 503, "server_error", "server busy, please try again.  maximum pending requests exceeded", nil)
		return
	}
	if wait {
		p.refuse(w, 503, "unavailable_error", "Loading model", nil)
		return
	}
	m, ok := c.find(req.Model)
	if !ok {
		p.refuse(w, 404, "not_found_error", fmt.Sprintf("model '%s' not found", req.Model), map[string]any{"code": "model_not_found"})
		return
	}
	if !c.accepts(w, req, m, p) {
		return
	}
	u := usage{prompt: countTokens(req)}
	if !c.fits(w, req, m, p, &u) {
		return
	}
	reply, ok := c.pick(req)
	if !ok {
		p.refuse(w, 500, "server_error", "the script has no reply for this call: "+last(req), nil)
		return
	}
	if !c.send(w, r, req, p, reply, u) {
		c.gone <- struct{}{}
	}
}

func (c *core) enter() (busy, loading bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight++
	if c.script.Capacity > 0 && c.inFlight > c.script.Capacity {
		return true, false
	}
	c.maxFlight = max(c.maxFlight, c.inFlight)
	if c.loading > 0 {
		c.loading--
		return false, true
	}
	return false, false
}

func (c *core) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight--
}

// accepts refuses what the script says that this server does not take.
func (c *core) accepts(w http.ResponseWriter, req Request, m Model, p protocol) bool {
	for _, field := range c.script.Refuse {
		if _, there := req.Fields[field]; there {
			p.refuse(w, 400, "invalid_request_error", fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", field),
				map[string]any{"param": field, "code": "unsupported_parameter"})
			return false
		}
	}
	if m.NoTools && len(req.Tools) > 0 {
		p.refuse(w, 400, "api_error", "registry.ollama.ai/library/"+m.Name+" does not support tools", nil)
		return false
	}
	if think, _ := req.Fields["think"].(bool); think && !m.Thinking {
		p.refuse(w, 400, "api_error", fmt.Sprintf("%q does not support thinking", m.Name), nil)
		return false
	}
	if c.script.StrictRoles {
		for i, msg := range req.Messages {
			if msg.Role == "system" && i > 0 {
				p.refuse(w, 500, "server_error", "Jinja Exception: System message must be at the beginning.", nil)
				return false
			}
			if i > 0 && msg.Role == req.Messages[i-1].Role && msg.Role != "tool" {
				p.refuse(w, 500, "server_error", "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...", nil)
				return false
			}
		}
	}
	return true
}

// fits does with a prompt that is too long what the model is scripted to do.
func (c *core) fits(w http.ResponseWriter, req Request, m Model, p protocol, u *usage) bool {
	window := m.Window
	if asked := p.asked(req); asked > 0 {
		window = min(asked, window)
	}
	if m.Effective > 0 {
		window = min(m.Effective, window)
	}
	if u.prompt <= window {
		return true
	}
	if m.Cuts || p.mayCut(req) {
		u.prompt = window/2 + 2
		return true
	}
	if req.Native {
		p.refuse(w, 400, "", "the input length exceeds the context length", nil)
		return false
	}
	p.refuse(w, 400, "exceed_context_size_error",
		fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it", u.prompt, window),
		map[string]any{"n_prompt_tokens": u.prompt, "n_ctx": window})
	return false
}

// countTokens counts four bytes as a token, as nothing here depends on more.
func countTokens(r Request) int {
	n := 0
	for _, m := range r.Messages {
		n += 16 + len(m.Role) + len(m.Content)
		for _, call := range m.ToolCalls {
			n += len(call)
		}
	}
	if tools, ok := r.Fields["tools"]; ok {
		b, _ := json.Marshal(tools)
		n += len(b)
	}
	return n/4 + 1
}

func last(r Request) string {
	if len(r.Messages) == 0 {
		return "no messages"
	}
	m := r.Messages[len(r.Messages)-1]
	return fmt.Sprintf("last message (%s) %.200q", m.Role, m.Content)
}

// pick takes the reply for a request.
func (c *core) pick(req Request) (Reply, bool) {
	if c.script.Answer != nil {
		return c.script.Answer(req), true
	}
	var all strings.Builder
	for _, m := range req.Messages {
		all.WriteString(m.Content)
		all.WriteByte('\n')
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range c.script.Replies {
		if r.Times >= 0 && c.used[i] >= max(1, r.Times) || !strings.Contains(all.String(), r.When) {
			continue
		}
		c.used[i]++
		return r, true
	}
	return Reply{}, false
}

// send writes the reply, flushing each piece; false means that the client went
// away before it was whole, or that the script cut it.
func (c *core) send(w http.ResponseWriter, r *http.Request, req Request, p protocol, reply Reply, u usage) bool {
	if reply.Hold != nil {
		select {
		case <-reply.Hold:
		case <-r.Context().Done():
			return false
		}
	}
	if reply.Silent {
		<-r.Context().Done()
		return false
	}
	for k, vs := range reply.Header {
		for _, v := range vs {
			w.Header().Add(k, v)
		}
	}
	if reply.Status != 0 && reply.Status != 200 {
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(reply.Status)
		io.WriteString(w, reply.Body)
		return true
	}
	body, end := reply.Raw, []string(nil)
	if body == nil {
		u = reply.count(u)
		body, end = p.pieces(c, req, reply.limited(p.maxOutput(req)), u)
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", p.contentType())
	}
	return c.write(w, r, reply, body, end)
}

func (c *core) write(w http.ResponseWriter, r *http.Request, reply Reply, body, end []string) bool {
	flush := http.NewResponseController(w)
	for _, piece := range body {
		if _, err := io.WriteString(w, piece); err != nil || flush.Flush() != nil || r.Context().Err() != nil {
			return false
		}
	}
	switch {
	case reply.Cut:
		panic(http.ErrAbortHandler)
	case reply.Stall:
		<-r.Context().Done()
		return false
	case reply.Close:
		return true
	}
	for _, piece := range end {
		if _, err := io.WriteString(w, piece); err != nil {
			return false
		}
	}
	return flush.Flush() == nil
}

// count fills in what the script says instead of what was counted.
func (r Reply) count(u usage) usage {
	if r.PromptTokens > 0 {
		u.prompt = r.PromptTokens
	}
	u.cached, u.reasoning = r.CachedTokens, r.ReasoningTokens
	u.output = r.OutputTokens
	if u.output == 0 {
		u.output = len(words(r.Text)) + len(words(r.Reasoning)) + 8*len(r.Calls)
	}
	return u
}

// limited cuts a reply that is longer than the client allows, a word being a
// token, unless the script says how it ends.
func (r Reply) limited(maxOutput int) Reply {
	if r.Finish != "" {
		return r
	}
	r.Finish = "stop"
	if ws := words(r.Text); maxOutput > 0 && len(ws) > maxOutput {
		r.Text, r.Finish = strings.Join(ws[:maxOutput], ""), "length"
	}
	return r
}

// words splits text after each run of blanks.
func words(text string) []string {
	var ws []string
	start := 0
	for i := 1; i < len(text); i++ {
		if isBlank(text[i-1]) && !isBlank(text[i]) {
			ws = append(ws, text[start:i])
			start = i
		}
	}
	if start < len(text) {
		ws = append(ws, text[start:])
	}
	return ws
}

func isBlank(b byte) bool { return b == ' ' || b == '\n' || b == '\t' }

// cut gives the pieces that Text is streamed in.
func (r Reply) cut() []string {
	if r.Pieces == nil {
		return words(r.Text)
	}
	var ps []string
	rest := r.Text
	for _, n := range r.Pieces {
		n = min(n, len(rest))
		ps = append(ps, rest[:n])
		rest = rest[n:]
	}
	if rest != "" {
		ps = append(ps, rest)
	}
	return ps
}
