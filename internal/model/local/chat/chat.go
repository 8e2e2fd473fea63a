// Package chat turns a conversation into the prompt that a model's own chat
// template asks for, and finds the tool calls in what the model writes back.
//
// One format of tool calls is used with every model: a JSON object between
// <tool_call> and </tool_call>. A template that knows this format is given the
// tools; to any other model they are explained in the system message.
package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ardanlabs/jinja"
)

// Message is one entry of a conversation.
type Message struct {
	Role    string // system, user, assistant or tool
	Content string
	Calls   []Call // of an assistant
	Name    string // of a tool
}

// Call is a tool call. Arguments is JSON as the model wrote it.
type Call struct {
	Name      string
	Arguments string
}

// Tool is a tool as it is offered.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Part is a stretch of a prompt. Only where Template is true may texts of
// control tokens become these tokens.
type Part struct {
	Text     string
	Template bool
}

// Template is a model's chat template, ready for use by several goroutines.
type Template struct {
	compiled *jinja.Template
	bos, eos string
	tools    bool // it knows tools in our format
	controls []string
	guard    *strings.Replacer
}

// plain is the template for models that bring none.
const plain = `{% for message in messages %}<|im_start|>{{ message['role'] }}
{{ message['content'] }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

// New prepares a template. controls are the texts of the model's control
// tokens; they are kept from having an effect inside messages.
func New(source, bos, eos string, controls []string) (*Template, error) {
	if strings.TrimSpace(source) == "" {
		source = plain
	}
	compiled, err := compile(source)
	if err != nil {
		return nil, fmt.Errorf("read the model's chat template: %w", err)
	}
	t := &Template{compiled: compiled, bos: bos, eos: eos, controls: controls}
	t.tools = strings.Contains(source, "tools") && strings.Contains(source, openMark)
	t.guard = guard(controls)
	return t, nil
}

func compile(source string) (t *jinja.Template, err error) {
	defer caught(&err)
	return jinja.Compile(source)
}

// caught turns a panic of the template engine into an error.
func caught(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the template engine failed: %v", r)
	}
}

// Marks in rendered text. They stand in Unicode's private area, which no
// message may use.
const (
	markOpen  = "\uF8F0"
	markClose = "\uF8F1"
)

// guard replaces each control text in a message by a mark with its number.
func guard(controls []string) *strings.Replacer {
	pairs := []string{markOpen, "\uFFFD", markClose, "\uFFFD"}
	for i, c := range controls {
		if c != "" {
			pairs = append(pairs, c, fmt.Sprintf("%sc%d%s", markOpen, i, markClose))
		}
	}
	return strings.NewReplacer(pairs...)
}

// Render gives the prompt that asks for the next reply.
func (t *Template) Render(msgs []Message, tools []Tool) ([]Part, error) {
	msgs = tidy(msgs)
	native := t.tools && len(tools) > 0 || t.tools && hasCalls(msgs)
	if !native {
		msgs = tidy(explain(msgs, tools))
	}
	text, json, err := t.try(msgs, tools, native)
	if err != nil && len(msgs) > 1 && msgs[0].Role == "system" {
		// Some templates refuse a system message.
		folded := append([]Message{{Role: "user", Content: msgs[0].Content}}, msgs[1:]...)
		if again, jsonAgain, errAgain := t.try(tidy(folded), tools, native); errAgain == nil {
			text, json, err = again, jsonAgain, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("fill in the model's chat template: %w", err)
	}
	return t.parts(text, json), nil
}

func hasCalls(msgs []Message) bool {
	for _, m := range msgs {
		if len(m.Calls) > 0 || m.Role == "tool" {
			return true
		}
	}
	return false
}

// try renders. The texts behind the marks for JSON are returned beside it.
func (t *Template) try(msgs []Message, tools []Tool, native bool) (text string, texts []string, err error) {
	defer caught(&err)
	v := &values{guard: t.guard}
	data := map[string]jinja.Value{
		"messages":              v.messages(msgs),
		"add_generation_prompt": jinja.NewBool(true),
		"enable_thinking":       jinja.NewBool(false),
		"bos_token":             jinja.NewString(t.bos),
		"eos_token":             jinja.NewString(t.eos),
	}
	if native && len(tools) > 0 {
		list := make([]jinja.Value, len(tools))
		for i, tool := range tools {
			list[i] = v.json(tool.spec())
		}
		data["tools"] = jinja.NewList(list)
	}
	text, err = t.compiled.RenderValues(data)
	return text, v.texts, err
}

// spec writes a tool the way that models were taught it.
func (t Tool) spec() string {
	schema := t.Schema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type": "object", "properties": {}}`)
	}
	return Spaced([]byte(fmt.Sprintf(`{"type":"function","function":{"name":%s,"description":%s,"parameters":%s}}`,
		quoted(t.Name), quoted(t.Description), schema)))
}

// values builds what a template is given. The template engine sorts the
// members of JSON and escapes it for HTML, so JSON goes in as a mark and is put
// in place afterwards.
type values struct {
	guard *strings.Replacer
	texts []string
}

func (v *values) json(text string) jinja.Value {
	v.texts = append(v.texts, v.guard.Replace(text))
	return jinja.NewString(fmt.Sprintf("%sj%d%s", markOpen, len(v.texts)-1, markClose))
}

func (v *values) messages(msgs []Message) jinja.Value {
	list := make([]jinja.Value, len(msgs))
	for i, m := range msgs {
		dict := jinja.NewDict()
		dict.AsDict().Set("role", jinja.NewString(m.Role))
		dict.AsDict().Set("content", jinja.NewString(v.guard.Replace(m.Content)))
		if m.Name != "" {
			dict.AsDict().Set("name", jinja.NewString(v.guard.Replace(m.Name)))
		}
		if len(m.Calls) > 0 {
			calls := make([]jinja.Value, len(m.Calls))
			for j, c := range m.Calls {
				calls[j] = v.call(c)
			}
			dict.AsDict().Set("tool_calls", jinja.NewList(calls))
		}
		list[i] = dict
	}
	return jinja.NewList(list)
}

func (v *values) call(c Call) jinja.Value {
	function := jinja.NewDict()
	function.AsDict().Set("name", jinja.NewString(v.guard.Replace(c.Name)))
	function.AsDict().Set("arguments", v.json(c.arguments()))
	call := jinja.NewDict()
	call.AsDict().Set("type", jinja.NewString("function"))
	call.AsDict().Set("function", function)
	return call
}

// arguments gives the arguments as JSON; what is no JSON becomes a string.
func (c Call) arguments() string {
	if strings.TrimSpace(c.Arguments) == "" {
		return "{}"
	}
	if !json.Valid([]byte(c.Arguments)) {
		return quoted(c.Arguments)
	}
	return Spaced([]byte(c.Arguments))
}

// parts puts JSON and control texts back in place of their marks.
func (t *Template) parts(text string, texts []string) []Part {
	for i, s := range texts {
		mark := fmt.Sprintf("%sj%d%s", markOpen, i, markClose)
		text = strings.ReplaceAll(text, `"`+mark+`"`, s)
		text = strings.ReplaceAll(text, mark, s)
	}
	var out []Part
	for text != "" {
		before, rest, found := strings.Cut(text, markOpen)
		if before != "" {
			out = append(out, Part{before, true})
		}
		if !found {
			break
		}
		mark, after, _ := strings.Cut(rest, markClose)
		var n int
		if _, err := fmt.Sscanf(mark, "c%d", &n); err == nil && n < len(t.controls) {
			out = append(out, Part{t.controls[n], false})
		}
		text = after
	}
	return out
}

// quoted writes a string as JSON, escaping only what must be.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s) // a string cannot fail
	return strings.TrimRight(b.String(), "\n")
}

// Spaced writes JSON on one line with a space after each comma and colon, as
// models were taught it. What is no JSON comes back as it is.
func Spaced(raw []byte) string {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return string(raw)
	}
	var b strings.Builder
	inString, escaped := false, false
	for _, c := range compact.Bytes() {
		b.WriteByte(c)
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case !inString && (c == ',' || c == ':'):
			b.WriteByte(' ')
		}
	}
	return b.String()
}
