package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"towpath/internal/model/local/chat"
	"towpath/internal/model/local/gbnf"
)

// request is the protocol's request, as far as it is understood. Fields that
// are not known are passed over, as servers of this protocol do.
type request struct {
	Model       string           `json:"model"`
	Messages    []requestMessage `json:"messages"`
	Tools       []requestTool    `json:"tools"`
	ToolChoice  json.RawMessage  `json:"tool_choice"`
	Format      *requestFormat   `json:"response_format"`
	Temperature *float64         `json:"temperature"`
	MaxTokens   *int             `json:"max_tokens"`
	MaxOutput   *int             `json:"max_completion_tokens"`
	Seed        *int64           `json:"seed"`
	Stop        json.RawMessage  `json:"stop"`
	N           *int             `json:"n"`
	Stream      bool             `json:"stream"`
	Options     struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	Progress bool `json:"return_progress"`
}

type requestMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Name    string          `json:"name"`
	Calls   []struct {
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type requestTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type requestFormat struct {
	Type       string `json:"type"`
	JSONSchema struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// work is a request that was understood.
type work struct {
	request
	messages []chat.Message
	tools    []chat.Tool
	grammar  string
	lazy     bool // the grammar holds only within a tool call
	prior    int  // tool calls that the conversation holds already
	stops    []string
}

// Defaults of a request.
const (
	defaultTemperature = 0.1
	defaultOutput      = 2048 // tokens
)

// understand reads a request. safe leaves the grammar out: it is for a request
// that ended the process once.
func understand(body io.Reader, safe bool) (*work, error) {
	raw, err := io.ReadAll(io.LimitReader(body, maxBody+1))
	if err != nil {
		return nil, badRequest("the request broke off")
	}
	if len(raw) > maxBody {
		return nil, &failure{Status: http.StatusRequestEntityTooLarge, Type: "invalid_request_error",
			Message: fmt.Sprintf("the request has more than %d bytes", maxBody)}
	}
	w := &work{}
	if err := json.Unmarshal(raw, &w.request); err != nil {
		return nil, badRequest("the request is not understood: %v", err)
	}
	if len(w.Messages) == 0 {
		return nil, badRequest("the request has no messages")
	}
	if w.N != nil && *w.N > 1 {
		return nil, badRequest("n is %d; only one reply can be had", *w.N)
	}
	if t := w.Temperature; t != nil && (*t < 0 || *t > 5) {
		return nil, badRequest("temperature %g is not within 0 and 5", *t)
	}
	if w.output() < 1 {
		return nil, badRequest("max_tokens %d leaves no reply", w.output())
	}
	if err := errors.Join(w.readMessages(), w.readStops()); err != nil {
		return nil, err
	}
	if err := w.readTools(); err != nil {
		return nil, err
	}
	if err := w.constrain(); err != nil {
		return nil, err
	}
	if safe {
		w.grammar = ""
	}
	return w, nil
}

func (w *work) output() int {
	switch {
	case w.MaxOutput != nil:
		return *w.MaxOutput
	case w.MaxTokens != nil:
		return *w.MaxTokens
	}
	return defaultOutput
}

func (w *work) temperature() float64 {
	if w.Temperature != nil {
		return *w.Temperature
	}
	return defaultTemperature
}

func (w *work) readMessages() error {
	for i, m := range w.Messages {
		text, err := contentText(m.Content)
		if err != nil {
			return badRequest("message %d: %v", i+1, err)
		}
		switch m.Role {
		case "system", "developer", "user", "assistant", "tool", "function":
		default:
			return badRequest("message %d: there is no role %q", i+1, m.Role)
		}
		out := chat.Message{Role: m.Role, Content: text, Name: m.Name}
		for _, c := range m.Calls {
			out.Calls = append(out.Calls, chat.Call{Name: c.Function.Name, Arguments: c.Function.Arguments})
			w.prior++
		}
		w.messages = append(w.messages, out)
	}
	return nil
}

// contentText reads a message's content: a text, parts with text, or nothing.
func contentText(raw json.RawMessage) (string, error) {
	var text *string
	if len(raw) == 0 {
		return "", nil
	}
	if json.Unmarshal(raw, &text) == nil {
		if text == nil {
			return "", nil
		}
		return *text, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", errors.New("its content is neither text nor parts")
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type != "text" {
			return "", fmt.Errorf("a part of type %q is not supported, only text is", p.Type)
		}
		b.WriteString(p.Text)
	}
	return b.String(), nil
}

func (w *work) readStops() error {
	if len(w.Stop) == 0 || string(w.Stop) == "null" {
		return nil
	}
	var one string
	if json.Unmarshal(w.Stop, &one) == nil {
		w.stops = []string{one}
	} else if err := json.Unmarshal(w.Stop, &w.stops); err != nil {
		return badRequest("stop is neither a text nor a list of texts")
	}
	kept := w.stops[:0]
	for _, s := range w.stops {
		if s != "" && len(s) <= 1024 {
			kept = append(kept, s)
		}
	}
	if w.stops = kept; len(kept) > 16 {
		return badRequest("stop lists %d texts; 16 are allowed", len(kept))
	}
	return nil
}

func (w *work) readTools() error {
	for i, t := range w.Tools {
		if t.Function.Name == "" {
			return badRequest("tool %d has no name", i+1)
		}
		w.tools = append(w.tools, chat.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	return nil
}

// constrain makes the grammar that the request asks for.
func (w *work) constrain() error {
	must, only, err := w.choice()
	if err != nil {
		return err
	}
	if only != "" {
		// A tool that is named is the only one that may be called, and all
		// are shown: the beginning of the prompt stays what it was.
		must = true
	}
	var callable []gbnf.Tool
	for _, t := range w.tools {
		if only == "" || t.Name == only {
			callable = append(callable, gbnf.Tool{Name: t.Name, Schema: t.Schema})
		}
	}
	if only != "" && len(callable) == 0 {
		return badRequest("tool_choice names %q, which is not among the tools", only)
	}
	if must && len(callable) == 0 {
		return badRequest("tool_choice asks for a call, and there are no tools")
	}
	schema, asJSON := w.schema()
	if asJSON && !must {
		w.describe(schema)
	}
	switch {
	case must:
		w.grammar, err = gbnf.Call(callable)
	case asJSON && len(callable) > 0:
		w.grammar, err = gbnf.CallOrSchema(callable, schema)
	case asJSON:
		w.grammar, _, err = gbnf.Schema(schema)
	case len(callable) > 0:
		w.lazy = true
		w.grammar, err = gbnf.CallRest(callable)
	}
	if err != nil {
		return badRequest("no grammar can be made: %v", err)
	}
	return nil
}

// choice reads tool_choice: whether a tool must be called, and which. With
// none, the tools are taken away.
func (w *work) choice() (must bool, only string, err error) {
	if len(w.ToolChoice) == 0 || string(w.ToolChoice) == "null" {
		return false, "", nil
	}
	var word string
	if json.Unmarshal(w.ToolChoice, &word) == nil {
		switch word {
		case "auto", "":
			return false, "", nil
		case "required", "any":
			return true, "", nil
		case "none":
			w.tools = nil
			return false, "", nil
		}
		return false, "", badRequest("there is no tool_choice %q", word)
	}
	var named struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if err := json.Unmarshal(w.ToolChoice, &named); err != nil || named.Function.Name == "" {
		return false, "", badRequest("tool_choice is not understood")
	}
	return false, named.Function.Name, nil
}

// schema gives the JSON Schema that the reply must satisfy.
func (w *work) schema() (json.RawMessage, bool) {
	if w.Format == nil {
		return nil, false
	}
	switch w.Format.Type {
	case "json_schema":
		if len(w.Format.JSONSchema.Schema) == 0 {
			return json.RawMessage("true"), true
		}
		return w.Format.JSONSchema.Schema, true
	case "json_object":
		return json.RawMessage(`{"type":"object"}`), true
	}
	return nil, false
}

// maxDescribed is the largest schema that is shown to the model, in bytes.
const maxDescribed = 8 << 10

// describe tells the model which JSON it is held to. Without that a small model
// fills in the fields without knowing what they mean.
func (w *work) describe(schema json.RawMessage) {
	text := chat.Spaced(schema)
	if len(text) > maxDescribed || w.Format.Type != "json_schema" {
		return
	}
	said := "Reply with JSON that satisfies this JSON Schema:\n" + text
	if n := len(w.messages) - 1; w.messages[n].Role == "user" {
		w.messages[n].Content += "\n\n" + said
	} else {
		w.messages = append(w.messages, chat.Message{Role: "user", Content: said})
	}
}
