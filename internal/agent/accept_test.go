package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"towpath/internal/model"
	"towpath/internal/tool"
)

func faultOf(err error) ReplyFault {
	var e *ReplyError
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func TestEmptyReplyGetsOneNudge(t *testing.T) {
	t.Parallel()
	out, err := Run(t.Context(), Turn{Model: play(t, says(" \n"), says("the notes"))}, task())
	if err != nil || out.Text != "the notes" {
		t.Errorf("outcome %+v, error %v", out, err)
	}
	out, err = Run(t.Context(), Turn{Model: play(t, says(""), says(""))}, task())
	if faultOf(err) != FaultEmpty || out.Text != "" {
		t.Errorf("outcome %+v, error %v", out, err)
	}
}

func TestAnswerBesideAToolCallIsNotChosenSilently(t *testing.T) {
	t.Parallel()
	both := func(model.Request) (model.Reply, error) {
		r, err := calls("web_search", `{"query":"a"}`)(model.Request{})
		r.Text = "The good answer."
		return r, err
	}
	m := play(t, both, says(""), says(""))
	out, err := Run(t.Context(), Turn{Model: m, Offers: offer(reads("search", "x"))}, task())
	if faultOf(err) != FaultEmpty || len(out.Candidates) != 1 || out.Candidates[0] != "The good answer." || out.Text != "" {
		t.Errorf("outcome %+v, error %v", out, err)
	}
	if !strings.Contains(lastText(m.got[2]), "write the whole result now") {
		t.Errorf("the nudge is %q", lastText(m.got[2]))
	}
}

func TestReplyCutByLengthIsContinuedOnceAndJoined(t *testing.T) {
	t.Parallel()
	m := play(t, cutAt("# Title\n\nThe first half of a sentence that goes"), says(" half of a sentence that goes on to its end."))
	out, err := Run(t.Context(), Turn{Model: m}, task())
	if err != nil || out.Text != "# Title\n\nThe first half of a sentence that goes on to its end." {
		t.Errorf("text %q, error %v", out.Text, err)
	}
	if n := len(out.Messages); n != 3 || out.Messages[2].Text != out.Text {
		t.Errorf("conversation %+v", out.Messages)
	}
	out, err = Run(t.Context(), Turn{Model: play(t, cutAt("a"), cutAt("b"))}, task())
	if faultOf(err) != FaultCut || out.Text != "" {
		t.Errorf("outcome %+v, error %v", out, err)
	}
}

func TestReasoningThatUsedTheBudgetIsNamedAndGetsMoreOnce(t *testing.T) {
	t.Parallel()
	thinks := func(model.Request) (model.Reply, error) {
		return model.Reply{Reasoning: strings.Repeat("hmm ", 2000), Finish: model.FinishLength}, nil
	}
	m := play(t, thinks, says("the answer"))
	out, err := Run(t.Context(), Turn{Model: m, Thinking: true}, task())
	if err != nil || out.Text != "the answer" {
		t.Fatalf("outcome %+v, error %v", out, err)
	}
	if m.got[0].MaxOutput != 2048 || m.got[1].MaxOutput != 8192 || m.got[1].Thinking {
		t.Errorf("asked with %d, then %d tokens", m.got[0].MaxOutput, m.got[1].MaxOutput)
	}
	_, err = Run(t.Context(), Turn{Model: play(t, thinks, thinks)}, task())
	if faultOf(err) != FaultReasoning || !strings.Contains(err.Error(), "the reasoning used the whole budget of 8192 tokens") {
		t.Errorf("error %v", err)
	}
}

func TestFilteredReplyIsAnError(t *testing.T) {
	t.Parallel()
	m := play(t, func(model.Request) (model.Reply, error) {
		return model.Reply{Text: "half", Finish: model.FinishFiltered}, nil
	})
	if _, err := Run(t.Context(), Turn{Model: m}, task()); faultOf(err) != FaultFiltered {
		t.Errorf("error %v", err)
	}
}

func TestAnotherModelsReplyIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked, answered string
		ok              bool
	}{
		{"ollama/qwen3:8b", "ollama/qwen3:8b", true},
		{"ollama/qwen3", "ollama/qwen3:latest", true},
		{"openai/gpt-4o", "openai/gpt-4o-2024-08-06", true},
		{"llamacpp/qwen.gguf", "llamacpp//models/qwen.gguf", true},
		{"lmstudio/Qwen/Qwen3-8B", "lmstudio/qwen3-8b", true},
		{"replay/a.jsonl", "replay/a.jsonl", true},
		{"local/smollm2-135m", "local/smollm2-135m", true},
		{"ollama/qwen3:8b", "ollama/llama3:8b", false},
		{"ollama/qwen3:8b", "ollama/qwen3:4b", false},
		{"openai/gpt-4o", "openai/gpt-4", false},
	} {
		m := play(t, func(model.Request) (model.Reply, error) {
			return model.Reply{Text: "text here", Finish: model.FinishStop, Model: c.answered}, nil
		})
		_, err := Run(t.Context(), Turn{Model: m, Info: model.Info{ID: c.asked}}, task())
		if c.ok && err != nil || !c.ok && faultOf(err) != FaultModel {
			t.Errorf("asked %s, answered %s: %v", c.asked, c.answered, err)
		}
	}
}

func TestPlanIsNotAResult(t *testing.T) {
	t.Parallel()
	for _, plan := range []string{
		"I will start by reading the files.",
		"I have gathered all the information.",
		"Okay, I'll search for the topic first. Then I will write the notes.",
		"Thought: I need data\nAction: search\nAction Input: locks",
		"Спочатку я прочитаю файли.",
	} {
		m := play(t, says(plan), says("# Notes\n\nReal ones."))
		out, err := Run(t.Context(), Turn{Model: m}, task())
		if err != nil || out.Text != "# Notes\n\nReal ones." || len(out.Candidates) != 1 {
			t.Errorf("%q: outcome %+v, error %v", plan, out, err)
		}
	}
	_, err := Run(t.Context(), Turn{Model: play(t, says("I will start by reading."), says("I will now begin."))}, task())
	if faultOf(err) != FaultPlan {
		t.Errorf("error %v", err)
	}
}

func TestShortResultsAreNotPlans(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"1. I will explain locks.\n2. I will show a deadlock.",
		"Let me be clear about one thing. Locks are slow.",
		"The lock is held by one process.",
		"# I will survive\n\nA song.",
		"I can swim. The water is cold.",
		"We will learn how locks work.",
		"I will survive.",
		"42",
		"I love Go.",
	} {
		out, err := Run(t.Context(), Turn{Model: play(t, says(text))}, task())
		if err != nil || out.Text != text {
			t.Errorf("%q: outcome %+v, error %v", text, out, err)
		}
	}
}

func TestRequiredToolIsForcedWhereTheServerHonoursIt(t *testing.T) {
	t.Parallel()
	m := play(t, calls("web_search", `{"query":"a"}`), says("the notes"))
	out, err := Run(t.Context(), Turn{Model: m, Info: model.Info{Required: true}, Offers: offer(reads("search", "x"), reads("other", "y")),
		Required: [][]string{{"web_search", "web_other"}}}, task())
	if err != nil || out.Text != "the notes" {
		t.Fatalf("outcome %+v, error %v", out, err)
	}
	if m.got[0].ToolChoice != model.ChoiceRequired || m.got[1].ToolChoice != model.ChoiceAuto {
		t.Errorf("choices %q, %q", m.got[0].ToolChoice, m.got[1].ToolChoice)
	}
}

func TestRequiredToolGetsTwoNudgesThenFails(t *testing.T) {
	t.Parallel()
	m := play(t, says("invented notes"), says("invented again"), says("and again"))
	out, err := Run(t.Context(), Turn{Model: m, Offers: offer(reads("search", "x")), Required: [][]string{{"web_search"}}}, task())
	if faultOf(err) != FaultRequired || out.Text != "" || len(out.Candidates) != 3 || !strings.Contains(err.Error(), "web_search") {
		t.Errorf("outcome %+v, error %v", out, err)
	}
}

func TestRequiredToolThatOnlyFailsDoesNotCount(t *testing.T) {
	t.Parallel()
	bad := reads("search", "")
	bad.do = func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{Text: "the index is missing", IsError: true}, nil
	}
	m := play(t, calls("web_search", `{"query":"a"}`), says("x1"), says("x2"), says("x3"))
	_, err := Run(t.Context(), Turn{Model: m, Offers: offer(bad), Required: [][]string{{"web_search"}}}, task())
	if faultOf(err) != FaultRequired || !strings.Contains(err.Error(), "the index is missing") {
		t.Errorf("error %v", err)
	}
}

func TestDegenerateReplyIsDroppedAndAskedForOnceMore(t *testing.T) {
	t.Parallel()
	endless := fails(&model.Error{Kind: model.KindDegenerate, Message: "the reply repeats itself", Raw: "I will begin. I will begin."})
	m := play(t, endless, says("the notes"))
	out, err := Run(t.Context(), Turn{Model: m}, task())
	if err != nil || out.Text != "the notes" {
		t.Fatalf("outcome %+v, error %v", out, err)
	}
	for _, msg := range m.got[1].Messages {
		if strings.Contains(msg.Text, "begin") {
			t.Errorf("the text is still in the conversation: %q", msg.Text)
		}
	}
	_, err = Run(t.Context(), Turn{Model: play(t, endless, endless)}, task())
	if model.KindOf(err) != model.KindDegenerate {
		t.Errorf("error %v", err)
	}
}

func TestWholeReplyInAFenceIsUnwrapped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"markdown with a block inside", "```markdown\n# A\n```py\nx\n```\n```", "# A\n```py\nx\n```"},
		{"md", "```md\ntext\n```\n", "text"},
		{"no language, with headings", "```\n# A\n\ntext\n```", "# A\n\ntext"},
		{"no language, a script", "```\n# install\nnpm i\n```", "```\n# install\nnpm i\n```"},
		{"python", "```python\nprint(1)\n```", "```python\nprint(1)\n```"},
		{"not whole", "```markdown\n# A\n```\nmore", "```markdown\n# A\n```\nmore"},
		{"two blocks", "```markdown\n# A\n```\ntext\n```\ncode\n```", "```markdown\n# A\n```\ntext\n```\ncode\n```"},
		{"longer fence", "````markdown\n# A\n```\nx\n```\n````", "# A\n```\nx\n```"},
		{"tildes", "~~~markdown\n# A\n~~~", "# A"},
		{"twice", "````md\n```md\n# A\n```\n````", "# A"},
		{"CRLF", "```markdown\r\n# A\r\n```\r\n", "# A"},
		{"never closed", "```markdown\n# A", "```markdown\n# A"},
	} {
		if got := Unwrap(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := Unwrap("```json\n[1]\n```", "json"); got != "[1]" {
		t.Errorf("a language that is given is not taken off: %q", got)
	}
}

func FuzzUnwrap(f *testing.F) {
	for _, s := range []string{"```markdown\n# A\n```py\nx\n```\n```", "```\n# A\n\nb\n```", "~~~md\n~~~", "```md\n```md\n```\n```"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Unwrap(s)
		if twice := Unwrap(once); twice != once {
			t.Errorf("%q becomes %q, then %q", s, once, twice)
		}
		if !strings.Contains(s, once) {
			t.Errorf("%q became %q, which is not in it", s, once)
		}
	})
}

func FuzzPlans(f *testing.F) {
	f.Add("I will start. Then I'll go...")
	f.Fuzz(func(t *testing.T, s string) {
		_ = onlyPlans(s)
		if n := len(sentences(s)); n > len(s) {
			t.Errorf("%d sentences in %d bytes", n, len(s))
		}
	})
}

// TestInvisibleReplyIsEmpty: a zero-width space and a byte order mark are no
// result, though they are no white space either.
func TestInvisibleReplyIsEmpty(t *testing.T) {
	t.Parallel()
	for _, nothing := range []string{" \n\u200b\ufeff", "\u2060\x00", "```markdown\n\u200b\n```"} {
		out, err := Run(t.Context(), Turn{Model: play(t, says(nothing), says("the notes"))}, task())
		if err != nil || out.Text != "the notes" {
			t.Errorf("%q: outcome %+v, error %v", nothing, out, err)
		}
	}
}
