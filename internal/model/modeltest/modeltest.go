// Package modeltest holds what every model.Model must do, as tests that each
// implementation runs.
package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"towpath/internal/fakeserver"
	"towpath/internal/model"
)

// Subject is the implementation under test.
type Subject struct {
	// New makes the model. One that is behind a scripted server uses Script.
	New func(t *testing.T) model.Model
	// Required says that ChoiceRequired and a named tool are honoured.
	Required bool
	// Schema says that replies are held to a schema.
	Schema bool
	// Window is the model's window in tokens; 0 leaves the overflow test out.
	Window int
}

// Words of the prompts to which Script answers; a real model understands them too.
const (
	askGreeting = "Say hello in one short sentence."
	askCount    = "Count from one to two hundred in words, separated by blanks."
	askWeather  = "What is the weather in Minsk? Use the tool."
	askPerson   = "Give a person as JSON with name and age."
)

// Script is what a scripted server answers to the suite.
func Script() fakeserver.Script {
	return fakeserver.Script{Answer: func(r fakeserver.Request) fakeserver.Reply {
		switch last := r.Messages[len(r.Messages)-1]; {
		case last.Role == "tool":
			return fakeserver.Reply{Text: "It is 21 degrees in Minsk."}
		case len(r.Tools) > 0 && strings.Contains(last.Content, askWeather):
			return fakeserver.Reply{Calls: []fakeserver.ToolCall{{Name: "weather", Arguments: json.RawMessage(`{"city": "Minsk"}`)}}}
		case strings.Contains(last.Content, askPerson):
			return fakeserver.Reply{Text: `{"name": "Ada", "age": 36}`}
		case strings.Contains(last.Content, askCount):
			return fakeserver.Reply{Text: counting()}
		}
		return fakeserver.Reply{Text: "Hello to you, too."}
	}}
}

// counting gives many words that do not repeat.
func counting() string {
	var b strings.Builder
	for _, tens := range strings.Fields("ten twenty thirty forty fifty sixty seventy eighty ninety hundred") {
		for _, one := range strings.Fields("one two three four five six seven eight nine none") {
			b.WriteString(tens + "-" + one + " ")
		}
	}
	return b.String()
}

// Weather is the tool that the suite offers.
func Weather() model.ToolDef {
	return model.ToolDef{Name: "weather", Description: "Tells the weather of a city.",
		Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	t.Run("answers", s.answers)
	t.Run("streams what it answers", s.streams)
	t.Run("describes itself without a call", s.describes)
	t.Run("stops at the limit and says so", s.limit)
	t.Run("ends when it is cancelled", s.cancelled)
	t.Run("refuses to begin when it is cancelled already", s.cancelledBefore)
	t.Run("calls from several goroutines", s.parallel)
	t.Run("takes any order of messages", s.order)
	if s.Required {
		t.Run("calls a tool that is required", s.required)
		t.Run("calls the tool that is named", s.named)
	}
	if s.Schema {
		t.Run("holds a reply to its schema", s.schema)
	}
	if s.Window > 0 {
		t.Run("refuses a prompt that does not fit", s.overflow)
	}
}

func ask(text string) model.Request {
	return model.Request{Messages: []model.Message{
		{Role: model.RoleSystem, Text: "You are brief."},
		{Role: model.RoleUser, Text: text},
	}, MaxOutput: 64}
}

func call(t *testing.T, m model.Model, req model.Request, emit func(model.Delta)) model.Reply {
	t.Helper()
	r, err := m.Call(t.Context(), req, emit)
	if err != nil {
		t.Fatalf("Call: %v", err)
	}
	return r
}

func (s Subject) answers(t *testing.T) {
	r := call(t, s.New(t), ask(askGreeting), nil)
	if strings.TrimSpace(r.Text) == "" {
		t.Error("the reply is empty")
	}
	if r.Finish != model.FinishStop && r.Finish != model.FinishLength {
		t.Errorf("Finish = %q", r.Finish)
	}
	if !strings.Contains(r.Model, "/") {
		t.Errorf("Model = %q, want provider/model", r.Model)
	}
	if len(r.ToolCalls) > 0 {
		t.Errorf("tool calls %v, though no tool was offered", r.ToolCalls)
	}
	if n := r.Usage.Prompt; n == nil || *n <= 0 {
		t.Errorf("prompt tokens = %v, want a number", n)
	}
	if n := r.Usage.Output; n == nil || *n <= 0 {
		t.Errorf("output tokens = %v, want a number", n)
	}
	if r.FirstByte <= 0 || r.Elapsed < r.FirstByte {
		t.Errorf("first byte after %v, whole reply after %v", r.FirstByte, r.Elapsed)
	}
}

func (s Subject) streams(t *testing.T) {
	var text, mind strings.Builder
	pieces := 0
	r := call(t, s.New(t), ask(askGreeting), func(d model.Delta) {
		if d.Waiting != "" && d.Text+d.Reasoning != "" {
			t.Errorf("a delta with Waiting and text: %+v", d)
		}
		text.WriteString(d.Text)
		mind.WriteString(d.Reasoning)
		pieces++
	})
	if text.String() != r.Text {
		t.Errorf("streamed %q, replied %q", text.String(), r.Text)
	}
	if pieces < 2 {
		t.Errorf("streamed in %d pieces, want more", pieces)
	}
}

func (s Subject) describes(t *testing.T) {
	d, ok := s.New(t).(model.Describer)
	if !ok {
		t.Fatal("the model is no Describer")
	}
	info, err := d.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(info.ID, "/") {
		t.Errorf("ID = %q, want provider/model", info.ID)
	}
	if s.Window > 0 && info.Window > 0 && info.Window != s.Window {
		t.Errorf("Window = %d, want %d", info.Window, s.Window)
	}
}

func (s Subject) limit(t *testing.T) {
	req := ask(askCount)
	req.MaxOutput = 8
	r := call(t, s.New(t), req, nil)
	if r.Finish != model.FinishLength {
		t.Errorf("Finish = %q after %q, want %q", r.Finish, r.Text, model.FinishLength)
	}
}

func (s Subject) cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := ask(askCount)
	req.MaxOutput = 2000
	var once sync.Once
	r, err := s.New(t).Call(ctx, req, func(model.Delta) { once.Do(cancel) })
	// A reply that was whole before the cancellation was seen is as good.
	if err == nil && r.Finish == "" {
		t.Error("a reply that neither ended nor failed")
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want the context's", err)
	}
}

func (s Subject) cancelledBefore(t *testing.T) {
	m := s.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Call(ctx, ask(askGreeting), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want the context's", err)
	}
}

func (s Subject) parallel(t *testing.T) {
	m := s.New(t)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			if r, err := m.Call(t.Context(), ask(askGreeting), nil); err != nil || r.Text == "" {
				t.Errorf("reply %q, error %v", r.Text, err)
			}
		})
	}
	wait.Wait()
}

func (s Subject) order(t *testing.T) {
	r := call(t, s.New(t), model.Request{MaxOutput: 64, Messages: []model.Message{
		{Role: model.RoleUser, Text: "We speak about the weather."},
		{Role: model.RoleSystem, Text: "You are brief."},
		{Role: model.RoleUser, Text: "It is warm."},
		{Role: model.RoleAssistant, Text: "Yes."},
		{Role: model.RoleSystem, Text: "You are polite."},
		{Role: model.RoleUser, Text: askGreeting},
	}}, nil)
	if strings.TrimSpace(r.Text) == "" {
		t.Error("the reply is empty")
	}
}

func (s Subject) required(t *testing.T) {
	m := s.New(t)
	req := ask(askWeather)
	req.Tools, req.ToolChoice, req.MaxOutput = []model.ToolDef{Weather()}, model.ChoiceRequired, 200
	first := s.wantWeather(t, call(t, m, req, nil))
	req.Messages = append(req.Messages,
		model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{first}},
		model.Message{Role: model.RoleTool, ToolCallID: first.ID, ToolName: first.Name, Text: "21 degrees"})
	req.ToolChoice = model.ChoiceAuto
	if r := call(t, m, req, nil); strings.TrimSpace(r.Text) == "" && len(r.ToolCalls) == 0 {
		t.Error("the reply to a tool's result is empty")
	}
}

func (s Subject) named(t *testing.T) {
	req := ask(askWeather)
	other := model.ToolDef{Name: "other", Description: "Does something else.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
	req.Tools, req.ToolChoice, req.MaxOutput = []model.ToolDef{other, Weather()}, "weather", 200
	s.wantWeather(t, call(t, s.New(t), req, nil))
}

func (s Subject) wantWeather(t *testing.T, r model.Reply) model.ToolCall {
	t.Helper()
	if r.Finish != model.FinishToolCalls || len(r.ToolCalls) == 0 {
		t.Fatalf("Finish = %q, calls = %v, text = %q; want a call", r.Finish, r.ToolCalls, r.Text)
	}
	c := r.ToolCalls[0]
	var args struct{ City *string }
	if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil || args.City == nil || c.Name != "weather" || c.ID == "" {
		t.Fatalf("call %+v, want weather with a city and an id (%v)", c, err)
	}
	return c
}

func (s Subject) schema(t *testing.T) {
	req := ask(askPerson)
	req.MaxOutput = 200
	req.Schema = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name","age"],"additionalProperties":false}`)
	r := call(t, s.New(t), req, nil)
	var person struct {
		Name *string
		Age  *int
	}
	if err := json.Unmarshal([]byte(r.Text), &person); err != nil || person.Name == nil || person.Age == nil {
		t.Errorf("reply %q does not satisfy the schema (%v)", r.Text, err)
	}
}

func (s Subject) overflow(t *testing.T) {
	req := ask(strings.Repeat("The towpath runs along the canal. ", s.Window/2))
	_, err := s.New(t).Call(t.Context(), req, nil)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.KindOverflow {
		t.Fatalf("error = %v, want kind %s", err, model.KindOverflow)
	}
	if e.Window != 0 && e.Window > s.Window {
		t.Errorf("Window = %d, want at most %d", e.Window, s.Window)
	}
}
