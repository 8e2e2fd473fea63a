package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"towpath/internal/model"
	"towpath/internal/tool"
)

func TestTurnRunsToolsAndGivesTheText(t *testing.T) {
	t.Parallel()
	search := reads("search", "found it")
	m := play(t, calls("web_search", `{"query":"locks"}`), says("# Notes\n\nfound"))
	out, err := Run(t.Context(), Turn{Model: m, Offers: offer(search)}, task())
	if err != nil {
		t.Fatal(err)
	}
	if out.Text != "# Notes\n\nfound" || out.Stop != StopAnswered || out.Calls != 1 {
		t.Errorf("outcome is %+v", out)
	}
	if got := lastText(m.got[1]); got != "found it" {
		t.Errorf("the model was given %q", got)
	}
	if last := out.Messages[len(out.Messages)-1]; last.Role != model.RoleAssistant || last.Text != out.Text {
		t.Errorf("the conversation ends with %+v", last)
	}
}

func TestReadingCallsOfOneReplyRunSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := reads("search", "")
		slow.do = func(ctx context.Context, args json.RawMessage) (tool.Result, error) {
			time.Sleep(time.Second)
			return tool.Result{Text: string(args)}, nil
		}
		m := play(t, calls("web_search", `{"query":"a"}`, "web_search", `{"query":"b"}`, "web_search", `{"query":"c"}`), says("done it"))
		began := time.Now()
		_, err := Run(t.Context(), Turn{Model: m, Offers: offer(slow)}, task())
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("three calls of one second took %s", took)
		}
		msgs := m.got[1].Messages
		for i, want := range []string{`{"query":"a"}`, `{"query":"b"}`, `{"query":"c"}`} {
			if got := msgs[len(msgs)-3+i].Text; got != want {
				t.Errorf("result %d is %s, want %s", i, got, want)
			}
		}
	})
}

func TestSuccessfulRepeatsAreCounted(t *testing.T) {
	t.Parallel()
	search := reads("search", "same text")
	m := play(t, calls("web_search", `{"query":"x"}`), calls("web_search", `{"query": "x"}`), calls("web_search", `{"query":"x"}`), says("what I have"))
	out, err := Run(t.Context(), Turn{Model: m, Offers: offer(search), Final: "Write the notes from what you have."}, task())
	if err != nil {
		t.Fatal(err)
	}
	if out.Stop != StopRepeat || search.calls != 3 || out.Text != "what I have" {
		t.Errorf("stop %s after %d calls, text %q", out.Stop, search.calls, out.Text)
	}
	if !strings.Contains(lastText(m.got[2]), "same call") {
		t.Errorf("the first repeat got no nudge: %q", lastText(m.got[2]))
	}
	if len(m.got[3].Tools) != 0 || !strings.Contains(lastText(m.got[3]), "Write the notes from what you have.") {
		t.Errorf("the last call was %+v", m.got[3])
	}
}

func TestEmptyResultIsSaidAndCounted(t *testing.T) {
	t.Parallel()
	search := reads("search", "")
	m := play(t, calls("web_search", `{"query":"x"}`), calls("web_search", `{"query":"x"}`), calls("web_search", `{"query":"x"}`))
	out, err := Run(t.Context(), Turn{Model: m, Offers: offer(search)}, task())
	if err != nil || out.Stop != StopRepeat || out.Text != "" {
		t.Errorf("outcome %+v, error %v", out, err)
	}
	if got := lastText(m.got[1]); got != "(no output)" {
		t.Errorf("an empty result is sent as %q", got)
	}
}

func TestTwoCallsInACircleEndTheTurn(t *testing.T) {
	t.Parallel()
	a, b := reads("a", "1"), reads("b", "2")
	m := play(t, calls("web_a", `{"query":"x"}`), calls("web_b", `{"query":"x"}`), calls("web_a", `{"query":"x"}`), calls("web_b", `{"query":"x"}`))
	out, err := Run(t.Context(), Turn{Model: m, Offers: offer(a, b)}, task())
	if err != nil || out.Stop != StopRepeat || out.Calls != 4 {
		t.Errorf("outcome %+v, error %v", out, err)
	}
}

func TestPollingMayRepeat(t *testing.T) {
	t.Parallel()
	poll := reads("status", "working")
	poll.spec.Polling = true
	m := play(t, calls("web_status", `{"query":"j"}`), calls("web_status", `{"query":"j"}`), calls("web_status", `{"query":"j"}`), calls("web_status", `{"query":"j"}`), says("ready now"))
	out, err := Run(t.Context(), Turn{Model: m, Offers: offer(poll)}, task())
	if err != nil || out.Stop != StopAnswered || out.Calls != 4 {
		t.Errorf("outcome %+v, error %v", out, err)
	}
}

func TestLimitIsNotAnAnswer(t *testing.T) {
	t.Parallel()
	search := reads("search", "text")
	n := 0
	more := func(model.Request) (model.Reply, error) {
		n++
		return calls("web_search", fmt.Sprintf(`{"query":"%d"}`, n))(model.Request{})
	}
	m := play(t, more, more, more, more, says("the notes"))
	out, err := Run(t.Context(), Turn{Model: m, Offers: offer(search), Limits: Limits{ToolCalls: 3}, Final: "Write it now."}, task())
	if err != nil {
		t.Fatal(err)
	}
	if out.Stop != StopCalls || out.Text != "the notes" || search.calls != 3 || out.Reason != "the limit of 3 tool calls was reached" {
		t.Errorf("outcome %+v after %d calls", out, search.calls)
	}
}

func TestCallsSideBySideDoNotPassTheLimit(t *testing.T) {
	t.Parallel()
	search := reads("search", "text")
	var pairs []string
	for i := range 10 {
		pairs = append(pairs, "web_search", fmt.Sprintf(`{"query":"%d"}`, i))
	}
	m := play(t, calls(pairs...))
	out, err := Run(t.Context(), Turn{Model: m, Offers: offer(search), Limits: Limits{ToolCalls: 1}}, task())
	if err != nil || search.calls != 1 || out.Stop != StopCalls {
		t.Errorf("%d calls ran, outcome %+v, error %v", search.calls, out, err)
	}
}

func TestTokenLimitIsReservedBeforeItIsSpent(t *testing.T) {
	t.Parallel()
	search := reads("search", strings.Repeat("word ", 300))
	p, o := 400, 100
	asks := func(q string) func(model.Request) (model.Reply, error) {
		return func(model.Request) (model.Reply, error) {
			r, err := calls("web_search", q)(model.Request{})
			r.Usage = model.Usage{Prompt: &p, Output: &o}
			return r, err
		}
	}
	m := play(t, asks(`{"query":"a"}`), says("the notes"))
	out, err := Run(t.Context(), Turn{Model: m, Offers: offer(search), MaxReply: 100, Limits: Limits{Tokens: 3000}, Final: "Write."}, task())
	if err != nil || out.Tokens > 3000 {
		t.Errorf("outcome %+v, error %v", out, err)
	}
	small := play(t)
	out, err = Run(t.Context(), Turn{Model: small, MaxReply: 1000, Limits: Limits{Tokens: 1000}, Final: "Write."}, task())
	if err != nil || out.Stop != StopTokens || out.Text != "" || len(small.got) != 0 || !strings.Contains(out.Reason, "1000 tokens") {
		t.Errorf("outcome %+v after %d calls, error %v", out, len(small.got), err)
	}
}

func TestTimeLimitEndsTheTurnWithALastCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := reads("search", "")
		slow.do = func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}
		m := play(t, calls("web_search", `{"query":"a"}`), says("what there is"))
		began := time.Now()
		out, err := Run(t.Context(), Turn{Model: m, Offers: offer(slow), Limits: Limits{Time: time.Minute}, Final: "Write."}, task())
		if err != nil || out.Stop != StopTime || out.Text != "what there is" {
			t.Errorf("outcome %+v, error %v", out, err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("took %s", took)
		}
	})
}

func TestInterruptIsNotATimeLimit(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	search := reads("search", "")
	search.do = func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
		cancel()
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}
	m := play(t, calls("web_search", `{"query":"a"}`))
	_, err := Run(ctx, Turn{Model: m, Offers: offer(search), Final: "Write."}, task())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestUnknownToolIsAnsweredWithTheNearest(t *testing.T) {
	t.Parallel()
	search := reads("search", "x")
	m := play(t, calls("web_serch", `{"query":"a"}`), says("fine then"))
	out, err := Run(t.Context(), Turn{Model: m, Offers: offer(search)}, task())
	if err != nil || out.Calls != 0 {
		t.Fatalf("outcome %+v, error %v", out, err)
	}
	last := m.got[1].Messages[len(m.got[1].Messages)-1]
	if !last.IsError || last.Text != `there is no tool "web_serch"; did you mean "web_search"? There is: web_search` {
		t.Errorf("answered with %+v", last)
	}
}

func TestUnknownToolCountsAsRepetition(t *testing.T) {
	t.Parallel()
	m := &script{t: t, steps: []func(model.Request) (model.Reply, error){calls("nope", `{}`)}, again: true}
	out, err := Run(t.Context(), Turn{Model: m, Offers: offer(reads("search", "x"))}, task())
	if err != nil || out.Stop != StopRepeat || len(m.got) != 3 {
		t.Errorf("outcome %+v after %d calls, error %v", out, len(m.got), err)
	}
}

func TestArgumentsThatGrowBracesStopAfterThree(t *testing.T) {
	t.Parallel()
	search := reads("search", "x")
	n := 0
	m := &script{t: t, again: true, steps: []func(model.Request) (model.Reply, error){func(model.Request) (model.Reply, error) {
		n++
		return calls("web_search", strings.Repeat("{", n+1)+`"query":"a"`+strings.Repeat("}", n+1))(model.Request{})
	}}}
	out, err := Run(t.Context(), Turn{Model: m, Offers: offer(search)}, task())
	if err != nil || out.Stop != StopInvalid || search.calls != 0 || len(m.got) != 3 {
		t.Errorf("outcome %+v after %d calls, error %v", out, len(m.got), err)
	}
	if got := lastText(m.got[1]); !strings.Contains(got, "at character 1") || !strings.Contains(got, "{query: string}") {
		t.Errorf("the model was told %q", got)
	}
}

func TestTruncatedArgumentsNeverRun(t *testing.T) {
	t.Parallel()
	act := &fake{spec: tool.Spec{Server: "sh", Name: "exec", Input: json.RawMessage(`{"type":"object","properties":{"cmd":{"type":"string"}}}`)},
		do: func(context.Context, json.RawMessage) (tool.Result, error) { return tool.Result{Text: "ran"}, nil }}
	m := play(t, calls("sh_exec", `{"cmd":"rm -rf /tmp/x`), says("I could not"))
	_, err := Run(t.Context(), Turn{Model: m, Offers: offer(act)}, task())
	if err != nil || act.calls != 0 {
		t.Errorf("it ran %d times, error %v", act.calls, err)
	}
	if !strings.Contains(lastText(m.got[1]), "unexpected end at character 21") {
		t.Errorf("the model was told %q", lastText(m.got[1]))
	}
}

func TestToolErrorsAndPanicsAreFedBack(t *testing.T) {
	t.Parallel()
	broken := reads("search", "")
	broken.do = func(context.Context, json.RawMessage) (tool.Result, error) { panic("nil map") }
	dead := reads("fetch", "")
	dead.do = func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{}, errors.New("the server died")
	}
	m := play(t, calls("web_search", `{"query":"a"}`, "web_fetch", `{"query":"a"}`), says("without them"))
	if _, err := Run(t.Context(), Turn{Model: m, Offers: offer(broken, dead)}, task()); err != nil {
		t.Fatal(err)
	}
	msgs := m.got[1].Messages
	for i, want := range []string{"the tool broke: nil map", "the server died"} {
		got := msgs[len(msgs)-2+i]
		if !got.IsError || !strings.Contains(got.Text, want) {
			t.Errorf("result %d is %+v", i, got)
		}
	}
}

func TestUnknownOutcomeOfACallEndsTheTurn(t *testing.T) {
	t.Parallel()
	act := &fake{spec: tool.Spec{Server: "mail", Name: "send"}, do: func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{}, &tool.UnknownCallError{Key: "k", Spec: tool.Spec{Server: "mail", Name: "send"}}
	}}
	m := play(t, calls("mail_send", `{}`))
	_, err := Run(t.Context(), Turn{Model: m, Offers: offer(act)}, task())
	var unknown *tool.UnknownCallError
	if !errors.As(err, &unknown) || unknown.Key != "k" {
		t.Errorf("error %v", err)
	}
}

func TestModelWithoutToolsIsRefusedOnlyWhereToolsAreOffered(t *testing.T) {
	t.Parallel()
	no := false
	_, err := Run(t.Context(), Turn{Model: play(t), Info: model.Info{ID: "ollama/x", Tools: &no}, Offers: offer(reads("search", "x"))}, task())
	if model.KindOf(err) != model.KindNoTools {
		t.Errorf("error %v", err)
	}
	out, err := Run(t.Context(), Turn{Model: play(t, says("the notes")), Info: model.Info{ID: "ollama/x", Tools: &no}}, task())
	if err != nil || out.Text != "the notes" {
		t.Errorf("outcome %+v, error %v", out, err)
	}
}

func TestAskGoesOnInTheConversation(t *testing.T) {
	t.Parallel()
	m := play(t, says("# One"), says("# Two"))
	turn := Turn{Model: m, Offers: offer(reads("search", "x"))}
	out, err := Run(t.Context(), turn, task())
	if err != nil {
		t.Fatal(err)
	}
	out, err = Ask(t.Context(), turn, out.Messages, "Now write two.md.")
	if err != nil || out.Text != "# Two" {
		t.Fatalf("outcome %+v, error %v", out, err)
	}
	if len(m.got[1].Tools) != 0 || lastText(m.got[1]) != "Now write two.md." || len(m.got[1].Messages) != 4 {
		t.Errorf("asked %+v", m.got[1])
	}
}

func TestNudgeAfterAToolResultKeepsTheOrderOfRoles(t *testing.T) {
	t.Parallel()
	// The script refuses a second system message and two messages of one role in
	// a row, calls and their results passed over, as strict chat templates do.
	history := append(task(), model.Message{Role: model.RoleSystem, Text: "Be brief."})
	m := play(t, calls("web_search", `{"query":"x"}`), says(""), says("the notes"))
	out, err := Run(t.Context(), Turn{Model: m, Offers: offer(reads("search", "found"))}, history)
	if err != nil || out.Text != "the notes" {
		t.Fatalf("outcome %+v, error %v", out, err)
	}
	last := m.got[2].Messages[len(m.got[2].Messages)-1]
	if last.Role != model.RoleTool || !strings.HasPrefix(last.Text, "found\n\n[Note from the program that runs you: Your reply was empty.") {
		t.Errorf("the nudge is in %+v", last)
	}
	if got := m.got[2].Messages[0].Text; got != "You help.\n\nBe brief." {
		t.Errorf("the system message is %q", got)
	}
}
