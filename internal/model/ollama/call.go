package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"towpath/internal/model"
	"towpath/internal/model/dialogue"
	"towpath/internal/model/endpoint"
	"towpath/internal/model/stream"
)

const (
	defaultOutput      = 2048 // tokens
	defaultTemperature = 0.1
)

// The native protocol's chat request.
type (
	chatRequest struct {
		Model     string          `json:"model"`
		Messages  []chatMessage   `json:"messages"`
		Stream    bool            `json:"stream"`
		Format    json.RawMessage `json:"format,omitempty"`
		KeepAlive string          `json:"keep_alive,omitempty"`
		Tools     []chatTool      `json:"tools,omitempty"`
		Options   chatOptions     `json:"options"`
		Think     *bool           `json:"think,omitempty"`
		Truncate  bool            `json:"truncate"` // false: refuse a prompt that does not fit
		Shift     bool            `json:"shift"`    // false: end a reply that fills the window, drop nothing
	}
	chatOptions struct {
		Window      int     `json:"num_ctx"`
		Output      int     `json:"num_predict"`
		Temperature float64 `json:"temperature"`
	}
	chatMessage struct {
		Role       string     `json:"role"`
		Content    string     `json:"content"`
		Thinking   string     `json:"thinking,omitempty"`
		ToolCalls  []chatCall `json:"tool_calls,omitempty"`
		ToolName   string     `json:"tool_name,omitempty"`
		ToolCallID string     `json:"tool_call_id,omitempty"`
	}
	chatCall struct {
		ID       string `json:"id,omitempty"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	chatTool struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	chatLine struct {
		Model      string          `json:"model"`
		Message    chatMessage     `json:"message"`
		Done       bool            `json:"done"`
		DoneReason string          `json:"done_reason"`
		Prompt     int             `json:"prompt_eval_count"`
		Output     int             `json:"eval_count"`
		Error      json.RawMessage `json:"error"`
	}
)

// Call sends one chat request and waits for the whole reply. A prompt that does
// not fit the window that was asked for is sent again with the next larger one,
// up to the model's own.
func (m *served) Call(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Reply, error) {
	if req.ToolChoice == model.ChoiceNone {
		req.Tools = nil
	}
	s, err := m.client.show(ctx, m.name)
	if err != nil {
		return model.Reply{}, err
	}
	if can := s.can("tools"); len(req.Tools) > 0 && can != nil && !*can {
		return model.Reply{}, m.noTools(len(req.Tools))
	}
	body := m.body(req, s)
	w := m.client.windowFor(m.name, s, needed(req, body))
	for {
		body.Options.Window = w.size
		reply, err := m.once(ctx, req, body, emit)
		var e *model.Error
		if !errors.As(err, &e) {
			return reply, err
		}
		if e.Model == "" {
			e.Model = m.id()
		}
		if e.Kind != model.KindOverflow {
			return reply, err
		}
		if e.Window > 0 && e.Window < w.size {
			return reply, err // the server gives less than was asked for: more would not help
		}
		e.Window = w.size
		larger, ok := m.client.grow(m.name, w, max(w.size+1, e.Prompt+body.Options.Output))
		if !ok {
			return reply, err
		}
		w = larger
	}
}

// needed is the window for prompt and reply together, estimated where the caller
// did not.
func needed(req model.Request, body chatRequest) int {
	if req.Window > 0 {
		return req.Window
	}
	return estimate(body) + body.Options.Output
}

func (m *served) body(req model.Request, s shown) chatRequest {
	b := chatRequest{Model: m.name, Stream: true, Format: req.Schema, KeepAlive: m.client.cfg.KeepAlive,
		Options: chatOptions{Output: req.MaxOutput, Temperature: defaultTemperature}}
	if b.Options.Output <= 0 {
		b.Options.Output = defaultOutput
	}
	if req.Temperature != nil {
		b.Options.Temperature = *req.Temperature
	}
	if s.caps["thinking"] {
		think := req.Thinking
		b.Think = &think
	}
	for _, msg := range dialogue.Normalise(req.Messages) {
		b.Messages = append(b.Messages, wireMessage(msg))
	}
	for _, t := range req.Tools {
		if !offers(req.ToolChoice, t.Name) {
			continue
		}
		wire := chatTool{Type: "function"}
		wire.Function.Name, wire.Function.Description, wire.Function.Parameters = t.Name, t.Description, t.Schema
		if len(t.Schema) == 0 {
			wire.Function.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		b.Tools = append(b.Tools, wire)
	}
	return b
}

// offers says whether a tool is offered: the protocol cannot demand a tool, but
// where one is named, it alone can be shown.
func offers(choice model.ToolChoice, name string) bool {
	return choice == model.ChoiceAuto || choice == model.ChoiceRequired || string(choice) == name
}

func wireMessage(m model.Message) chatMessage {
	w := chatMessage{Role: string(m.Role), Content: m.Text}
	if m.Role == model.RoleTool {
		w.ToolName, w.ToolCallID = m.ToolName, m.ToolCallID
	}
	for _, call := range m.ToolCalls {
		c := chatCall{ID: call.ID}
		c.Function.Name = call.Name
		c.Function.Arguments = dialogue.PastArguments(call.Arguments)
		w.ToolCalls = append(w.ToolCalls, c)
	}
	return w
}

// once sends the request once.
func (m *served) once(ctx context.Context, req model.Request, body chatRequest, emit func(model.Delta)) (model.Reply, error) {
	end := m.client.end
	started := end.Now()
	s, err := end.Stream(ctx, "/api/chat", body)
	if err != nil {
		var refused *endpoint.Refusal
		if errors.As(err, &refused) {
			return model.Reply{}, m.client.refusal(ctx, refused, m.name, len(body.Tools) > 0)
		}
		return model.Reply{}, mend(err)
	}
	defer s.Close()
	r := reading{m: m, s: s, started: started, acc: stream.New(stream.Options{Tools: req.Tools, Schema: len(req.Schema) > 0, Emit: emit})}
	last, err := r.read(ctx)
	if err != nil {
		return model.Reply{}, err
	}
	if err := m.whole(ctx, last, body); err != nil {
		return model.Reply{}, err
	}
	reply, err := r.acc.Finish(finishOf(last.DoneReason))
	if err != nil {
		return reply, err
	}
	reply.Model = m.id()
	reply.Usage = usageOf(last)
	reply.FirstByte, reply.Elapsed = r.first, end.Now().Sub(started)
	if last.DoneReason == "length" && last.Output < body.Options.Output {
		m.client.want(m.name, body.Options.Window+1) // the window was full, not the limit of the reply reached
	}
	return reply, nil
}

func usageOf(last chatLine) model.Usage {
	var u model.Usage
	if last.Prompt > 0 {
		u.Prompt = &last.Prompt
	}
	if last.Output > 0 {
		u.Output = &last.Output
	}
	return u
}

func finishOf(reason string) model.Finish {
	if reason == "length" {
		return model.FinishLength
	}
	return model.FinishStop
}

// reading is one reply that is being read.
type reading struct {
	m       *served
	s       *endpoint.Stream
	acc     *stream.Accumulator
	started time.Time
	first   time.Duration
	calls   int
}

// read reads the stream up to its last line.
func (r *reading) read(ctx context.Context) (chatLine, error) {
	lines := stream.NewLines(r.s)
	for {
		b, whole, err := lines.Next()
		if err != nil {
			return chatLine{}, r.broken(ctx, err)
		}
		if len(strings.TrimSpace(string(b))) == 0 {
			continue
		}
		var line chatLine
		if err := json.Unmarshal(b, &line); err != nil {
			if !whole {
				return chatLine{}, r.broken(ctx, io.ErrUnexpectedEOF)
			}
			return chatLine{}, &model.Error{Kind: model.KindProtocol, URL: r.m.client.URL(), Err: err, Raw: short(b),
				Message: r.m.client.URL() + " sends something that is not Ollama's protocol", Mend: "another program may listen there: check OLLAMA_HOST"}
		}
		if err := r.take(ctx, line, b); err != nil {
			return chatLine{}, err
		}
		if line.Done {
			return line, nil
		}
	}
}

func short(b []byte) string { return strings.ToValidUTF8(string(b[:min(len(b), 400)]), "") }

func (r *reading) take(ctx context.Context, line chatLine, raw []byte) error {
	if len(line.Error) > 0 && string(line.Error) != "null" {
		refused := endpoint.ParseRefusal(raw)
		refused.MidStream = true
		return r.m.client.refusal(ctx, refused, r.m.name, false)
	}
	if line.Model != "" && !sameName(line.Model, r.m.name) && !endpoint.SameModel(r.m.name, line.Model) {
		return &model.Error{Kind: model.KindProtocol, URL: r.m.client.URL(),
			Message: fmt.Sprintf("%q answers instead of the model that was asked for", line.Model), Mend: "check what serves this address"}
	}
	r.s.Begun()
	msg := line.Message
	if r.first == 0 && (msg.Content != "" || msg.Thinking != "" || len(msg.ToolCalls) > 0) {
		r.first = r.m.client.end.Now().Sub(r.started)
	}
	if err := r.acc.Reasoning(msg.Thinking); err != nil {
		return err
	}
	if err := r.acc.Text(msg.Content); err != nil {
		return err
	}
	for _, call := range msg.ToolCalls {
		args := string(call.Function.Arguments)
		var inner string
		if strings.HasPrefix(args, `"`) && json.Unmarshal(call.Function.Arguments, &inner) == nil {
			args = inner // as OpenAI has it
		}
		if err := r.acc.Call(stream.CallPiece{Index: r.calls, HasIndex: true, ID: call.ID, Name: call.Function.Name, Arguments: args}); err != nil {
			return err
		}
		r.calls++
	}
	return nil
}

// broken says why the stream ended before its last line.
func (r *reading) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, stream.ErrTooLong) {
		return &model.Error{Kind: model.KindProtocol, URL: r.m.client.URL(), Err: err, Message: err.Error()}
	}
	if k := model.KindOf(err); k != "" && k != model.KindInterrupted {
		return err
	}
	return r.acc.Broken(err)
}
