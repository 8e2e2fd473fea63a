//go:build linux

package local

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"towpath/internal/model"
)

// newProvider gives a Provider whose child ends with the test.
func newProvider(t testing.TB, cfg Config) *Provider {
	t.Helper()
	p := New(cfg)
	t.Cleanup(func() { p.Close() })
	return p
}

func zero() *float64 { z := 0.0; return &z }

func user(text string) model.Request {
	return model.Request{Messages: []model.Message{{Role: model.RoleUser, Text: text}}, Temperature: zero(), MaxOutput: 40}
}

var search = model.ToolDef{
	Name: "search-server_search", Description: "Search the library for a subject.",
	Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"max_results":{"type":"integer","minimum":1,"maximum":10}},"required":["query"]}`),
}

func TestSmallModelAnswers(t *testing.T) {
	needSmall(t)
	p := newProvider(t, Config{})
	m := p.Model("local/" + SmallModel)
	var streamed strings.Builder
	req := user("Name three colours.")
	reply, err := m.Call(t.Context(), req, func(d model.Delta) { streamed.WriteString(d.Text) })
	if err != nil {
		t.Fatal(err)
	}
	if reply.Text == "" || streamed.String() != reply.Text {
		t.Errorf("streamed %q, whole %q", streamed.String(), reply.Text)
	}
	if reply.Model != "local/"+SmallModel {
		t.Errorf("%q answered", reply.Model)
	}
	u := reply.Usage
	if u.Prompt == nil || u.Output == nil || u.Cached == nil || *u.Prompt < 10 || *u.Output < 1 || *u.Output > 40 {
		t.Errorf("usage %+v", u)
	}
	again, err := m.Call(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again.Text != reply.Text {
		t.Errorf("at temperature 0 the same prompt gives %q and then %q", reply.Text, again.Text)
	}
	if *again.Usage.Cached != *u.Prompt-1 {
		t.Errorf("%d of %d tokens were kept from the call before, want all but one", *again.Usage.Cached, *u.Prompt)
	}
	req.MaxOutput = 5
	short, err := m.Call(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if short.Finish != model.FinishLength || *short.Usage.Output != 5 {
		t.Errorf("five tokens: finish %s, %d tokens", short.Finish, *short.Usage.Output)
	}
}

func TestForcedToolCallIsValid(t *testing.T) {
	needSmall(t)
	needWork(t)
	p := newProvider(t, Config{})
	for _, name := range []string{SmallModel, DefaultModel} {
		for _, choice := range []model.ToolChoice{model.ChoiceRequired, model.ToolChoice(search.Name)} {
			req := user("Find out how worms make compost.")
			req.Tools, req.ToolChoice, req.MaxOutput = []model.ToolDef{{Name: "clock", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}, search}, choice, 200
			reply, err := p.Model(name).Call(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			if reply.Finish != model.FinishToolCalls || len(reply.ToolCalls) != 1 || reply.Recovered {
				t.Fatalf("%s, %s: %+v", name, choice, reply)
			}
			call := reply.ToolCalls[0]
			if choice != model.ChoiceRequired && call.Name != search.Name {
				t.Errorf("%s calls %s, want the tool that was named", name, call.Name)
			}
			var args struct{ Query *string }
			if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil || call.Name == search.Name && args.Query == nil {
				t.Errorf("%s: arguments %s: %v", name, call.Arguments, err)
			}
			if call.ID == "" {
				t.Errorf("%s: the call has no id", name)
			}
		}
	}
}

func TestToolResultReachesTheModel(t *testing.T) {
	needWork(t)
	p := newProvider(t, Config{})
	req := user("How many worms are in the red bin? Search, then answer with the number.")
	req.Tools, req.ToolChoice = []model.ToolDef{search}, model.ChoiceRequired
	first, err := p.Model(DefaultModel).Call(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages,
		model.Message{Role: model.RoleAssistant, Text: first.Text, ToolCalls: first.ToolCalls},
		model.Message{Role: model.RoleTool, ToolCallID: first.ToolCalls[0].ID, ToolName: search.Name, Text: "The red bin holds 7431 worms."})
	req.ToolChoice, req.MaxOutput = model.ChoiceAuto, 1
	second, err := p.Model(DefaultModel).Call(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if kept := *second.Usage.Cached; kept < *first.Usage.Prompt-2 {
		t.Errorf("%d tokens were kept, want about all %d of the prompt before", kept, *first.Usage.Prompt)
	}
	req.ToolChoice, req.MaxOutput = model.ChoiceNone, 40
	last, err := p.Model(DefaultModel).Call(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.ReplaceAll(last.Text, ",", ""), "7431") {
		t.Errorf("the answer is %q and lacks what the tool said", last.Text)
	}
}

func TestStructuredReplySatisfiesItsSchema(t *testing.T) {
	needSmall(t)
	p := newProvider(t, Config{})
	for _, schema := range []string{
		`{"type":"object","properties":{"verdict":{"enum":["pass","fail"]},"score":{"type":"integer","minimum":0,"maximum":10}},"required":["verdict","score"]}`,
		`{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string","maxLength":12},"ok":{"type":"boolean"}},"required":["name","ok"]},"minItems":2,"maxItems":2}},"required":["items"]}`,
		`{"$defs":{"day":{"type":"string","format":"date"}},"type":"object","properties":{"when":{"$ref":"#/$defs/day"},"note":{"type":["string","null"],"maxLength":20}},"required":["when"]}`,
	} {
		req := user("Judge this text: worms eat leaves.")
		req.Schema, req.MaxOutput = json.RawMessage(schema), 200
		got, reply, err := model.Structured(t.Context(), p.Model(SmallModel), req, json.RawMessage(schema))
		if err != nil {
			t.Errorf("%s: %v (%q)", schema, err, reply.Text)
		} else if !json.Valid(got) {
			t.Errorf("%s: %s", schema, got)
		}
	}
}

func TestItemsOfAForEachPayOnlyForWhatDiffers(t *testing.T) {
	needSmall(t)
	p := newProvider(t, Config{})
	common := strings.Repeat("The notes say that worms like leaves and dislike citrus. ", 60)
	var prompts, computed int
	for i := range 5 {
		req := model.Request{Temperature: zero(), MaxOutput: 16, Messages: []model.Message{
			{Role: model.RoleSystem, Text: "You write short sections of a course."},
			{Role: model.RoleUser, Text: common + "\n\nWrite the section for module " + string(rune('1'+i)) + "."},
		}}
		reply, err := p.Model(SmallModel).Call(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		prompts += *reply.Usage.Prompt
		fresh := *reply.Usage.Prompt - *reply.Usage.Cached
		computed += fresh
		if i > 0 && fresh > 40 {
			t.Errorf("item %d: %d of %d tokens were computed again", i+1, fresh, *reply.Usage.Prompt)
		}
	}
	t.Logf("%d of %d prompt tokens were computed over five items", computed, prompts)
}

func TestPromptThatDoesNotFitIsRefused(t *testing.T) {
	needSmall(t)
	p := newProvider(t, Config{})
	req := user(strings.Repeat("leaf mould and worm casts ", 3000))
	_, err := p.Model(SmallModel).Call(t.Context(), req, nil)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.KindOverflow {
		t.Fatalf("got %v, want that the prompt does not fit", err)
	}
	if e.Window != 8192 || e.Prompt < 12000 {
		t.Errorf("prompt %d, window %d; want both stated", e.Prompt, e.Window)
	}
}

func TestCancelStopsTheModelAtOnce(t *testing.T) {
	needSmall(t)
	p := newProvider(t, Config{})
	m := p.Model(SmallModel)
	long := user(strings.Repeat("leaf mould and worm casts ", 240))
	long.MaxOutput = 1
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := m.Call(ctx, long, func(d model.Delta) {
		if strings.Contains(d.Waiting, "%") { // a part of the prompt was read
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want that it was cancelled", err)
	}
	reply, err := m.Call(t.Context(), long, nil)
	if err != nil {
		t.Fatal(err)
	}
	if kept, all := *reply.Usage.Cached, *reply.Usage.Prompt; kept == 0 || kept > all/2 {
		t.Errorf("the cancelled call read %d of %d tokens; want that it stopped early and kept what it had", kept, all)
	}
	write := user("Count from one to one thousand in words.")
	write.MaxOutput = 2000
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	if _, err := m.Call(ctx, write, func(d model.Delta) {
		if d.Text != "" {
			cancel()
		}
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("while it writes: got %v, want that it was cancelled", err)
	}
	if _, err := m.Call(t.Context(), user("Say yes."), nil); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func TestKilledChildCostsOneCall(t *testing.T) {
	needSmall(t)
	p := newProvider(t, Config{})
	m := p.Model(SmallModel)
	killed := 0
	var waits []string
	reply, err := m.Call(t.Context(), user("Name three colours."), func(d model.Delta) {
		if d.Waiting != "" {
			waits = append(waits, d.Waiting)
		}
		if d.Text != "" && killed == 0 {
			killed++
			p.child.kill()
		}
	})
	if err != nil || reply.Text == "" {
		t.Fatalf("reply %q, error %v", reply.Text, err)
	}
	if killed != 1 || !strings.Contains(strings.Join(waits, "\n"), "died") {
		t.Errorf("killed %d times; told %q", killed, waits)
	}
	_, err = m.Call(t.Context(), user("Name three colours."), func(d model.Delta) {
		if d.Text != "" {
			p.child.kill()
		}
	})
	if model.KindOf(err) != model.KindCrashed || !strings.Contains(err.Error(), "killed") {
		t.Errorf("killed again and again: got %v, want that it crashed and how", err)
	}
	if reply, err := m.Call(t.Context(), user("Name three colours."), nil); err != nil || reply.Text == "" {
		t.Errorf("the next call: %q, %v", reply.Text, err)
	}
}

func TestChildEndsWhenItsInputCloses(t *testing.T) {
	needSmall(t)
	w := startWire(t)
	if a := w.ask(object{"model": SmallModel, "max_tokens": 1, "messages": []object{says("user", "x")}}); a.Status != 200 {
		t.Fatalf("%+v", a)
	}
	info, err := os.Stat(w.c.socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v; want that only its owner can use it", info, err)
	}
	if dir, err := os.Stat(w.c.dir); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("its folder: %v, %v", dir, err)
	}
	w.c.stdin.Close()
	if !w.c.gone(10 * time.Second) {
		t.Fatal("the child lives on without its parent")
	}
	if _, err := os.Stat(w.c.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its private folder is still there: %v", err)
	}
}

func TestChildOutlivesNoParentThatWasKilled(t *testing.T) {
	needSmall(t)
	// This program, as a parent that starts a child and is killed.
	parent := exec.Command(os.Args[0], "-test.run=^TestChildEndsWhenItsInputCloses$")
	parent.Env = append(os.Environ(), holdChild+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	socket := strings.TrimSpace(line)
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	parent.Wait()
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the child lives on: %v", err)
	}
	for range 200 {
		if _, err = os.Stat(filepath.Dir(socket)); err != nil {
			break
		}
		<-time.After(50 * time.Millisecond)
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its private folder is left behind: %v", err)
	}
}

func TestCloseEndsTheChildInTheMiddleOfACall(t *testing.T) {
	needSmall(t)
	p := New(Config{})
	failed := make(chan error, 1)
	begun := make(chan struct{}, 1)
	go func() {
		req := user("Count to a thousand.")
		req.MaxOutput = 2000
		_, err := p.Model(SmallModel).Call(context.Background(), req, func(d model.Delta) {
			if d.Text != "" {
				select {
				case begun <- struct{}{}:
				default:
				}
			}
		})
		failed <- err
	}()
	<-begun
	p.Close()
	if err := <-failed; err == nil {
		t.Error("the call did not fail")
	}
	if _, err := p.Model(SmallModel).Call(t.Context(), user("x"), nil); err == nil {
		t.Error("a closed provider answers")
	}
}

func TestHangingChildIsEnded(t *testing.T) {
	needSmall(t)
	p := newProvider(t, Config{First: 2 * time.Second, Idle: 2 * time.Second})
	m := p.Model(SmallModel)
	if _, err := m.Call(t.Context(), user("x"), nil); err != nil {
		t.Fatal(err)
	}
	c := p.child
	stopProcess(t, c.cmd.Process)
	_, err := m.Call(t.Context(), user("Name three colours."), nil)
	if model.KindOf(err) != model.KindTimeout {
		t.Errorf("got %v, want a timeout", err)
	}
	if !c.gone(5 * time.Second) {
		t.Error("the hanging child was not ended")
	}
	if _, err := m.Call(t.Context(), user("x"), nil); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func TestOwnFileIsUsedByItsPath(t *testing.T) {
	needSmall(t)
	st, err := openStore("")
	if err != nil {
		t.Fatal(err)
	}
	w, _ := known().model(SmallModel)
	dir := t.TempDir()
	own := filepath.Join(dir, "my own.gguf")
	if err := os.Symlink(st.weights(w), own); err != nil {
		t.Fatal(err)
	}
	p := newProvider(t, Config{})
	m := p.Model("local/" + own)
	d, ok := m.(model.Describer)
	if !ok {
		t.Fatal("the model does not describe itself")
	}
	info, err := d.Describe(t.Context())
	if err != nil || info.Window != 8192 || info.Bytes != 98_362_432 || info.Tools == nil || !*info.Tools || !info.Required {
		t.Errorf("%+v, %v", info, err)
	}
	reply, err := m.Call(t.Context(), user("Name three colours."), nil)
	if err != nil || reply.Text == "" || reply.Model != "local/"+own {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestTruncatedWeightsNeverReachNativeCode(t *testing.T) {
	needSmall(t)
	st, err := openStore("")
	if err != nil {
		t.Fatal(err)
	}
	w, _ := known().model(SmallModel)
	src, err := os.Open(st.weights(w))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	cut := filepath.Join(t.TempDir(), "cut.gguf")
	dst, err := os.Create(cut)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(dst, src, 10<<20); err != nil {
		t.Fatal(err)
	}
	if err := dst.Close(); err != nil {
		t.Fatal(err)
	}
	p := newProvider(t, Config{})
	_, err = p.Model(cut).Call(t.Context(), user("x"), nil)
	if model.KindOf(err) != model.KindNoModel || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("got %v, want that the file is cut off", err)
	}
	if p.child != nil {
		t.Error("a child was started for it")
	}
	// The same file, handed to the child all the same, is an error and no more.
	w2 := startWire(t)
	if a := w2.ask(object{"model": cut, "max_tokens": 1, "messages": []object{says("user", "x")}}); a.Status != 404 || !strings.Contains(a.Error.Message, "cut off") {
		t.Errorf("%+v", a)
	}
}

func TestMissingModelsNameTheMend(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{CacheDir: t.TempDir()})
	for name, want := range map[string]string{
		SmallModel:      "towpath models pull " + SmallModel,
		"no-such":       DefaultModel,
		"./absent.gguf": "there is no file",
	} {
		_, err := p.Model(name).Call(t.Context(), user("x"), nil)
		if model.KindOf(err) != model.KindNoModel || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, want)
		}
	}
}

func TestNativeCodeTakesEveryKindOfSchema(t *testing.T) {
	needSmall(t)
	w := startWire(t)
	for _, schema := range []string{
		`{"type":"object","properties":{"v":{"type":"integer","minimum":1,"maximum":300},"next":{"$ref":"#"}},"required":["v"]}`,
		`{"anyOf":[{"type":"object","properties":{"kind":{"const":"a\"b\\c"},"when":{"type":"string","format":"date-time"}},"required":["kind","when"]},{"type":"null"}]}`,
		`{"type":"array","items":{"type":"array","items":{"type":"number"},"minItems":1,"maxItems":3},"minItems":2,"maxItems":4}`,
		`{"type":"object","properties":{"ж\n":{"enum":["так","ні",null,{"x":[1]}]},"id":{"type":"string","format":"uuid"}},"required":["ж\n","id"]}`,
		`{"type":"object","additionalProperties":{"type":"string","minLength":1,"maxLength":9}}`,
		`true`,
	} {
		a := w.ask(object{"model": SmallModel, "max_tokens": 120, "temperature": 0, "messages": []object{says("user", "Fill in.")},
			"response_format": object{"type": "json_schema", "json_schema": object{"name": "x", "schema": json.RawMessage(schema)}}})
		if a.Status != 200 || len(a.Choices) == 0 {
			t.Errorf("%s: %+v", schema, a)
			continue
		}
		if a.Choices[0].Finish == "stop" && !json.Valid([]byte(a.text())) {
			t.Errorf("%s: %q is no JSON", schema, a.text())
		}
	}
	if a := w.ask(object{"model": SmallModel, "max_tokens": 4, "messages": []object{says("user", "Hello.")}}); a.Status != 200 {
		t.Errorf("afterwards: %+v", a)
	}
}
