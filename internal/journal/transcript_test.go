package journal

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

func TestTranscriptCannotBeBrokenByWhatWasSaid(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	r := create(t, tr, "01-a", Options{})
	nasty := "before\n````\n# Not a heading\n```\n<script>alert(1)</script>\n"
	message, err := json.Marshal(map[string]string{"role": "user", "text": nasty})
	if err != nil {
		t.Fatal(err)
	}
	n := 7
	add(t, r,
		Event{Type: RunStarted, Started: &Started{Model: "ollama/x", Inputs: map[string]string{"in`put.md": "h"}}},
		Event{Type: ContextBuilt, Context: &Context{Tokens: 9, Files: []ContextFile{{Path: "a|b.md", Layer: 4, Tokens: 9}}}},
		Event{Type: ModelCall, Request: &Request{Model: "ollama/x", Messages: []Body{body(t, r, string(message))}}},
		Event{Type: ModelReply, Reply: &Reply{Model: "ollama/x", Text: body(t, r, nasty), Usage: Usage{Output: &n}}},
		Event{Type: ToolCall, Call: &Call{Server: "search-server", Tool: "search", Arguments: body(t, r, "{}"), ReadOnly: true}},
		Event{Type: ToolResult, Result: &Result{Text: body(t, r, nasty)}},
		Event{Type: Nudge, Note: "line\n# one"},
		Event{Type: Verdict, Data: json.RawMessage(`{"pass":true}`)},
		Event{Type: OutputWritten, Output: &Output{Path: "out.md"}},
		Event{Type: Gate, Gate: &GateOpened{Kind: "stop", Outputs: []string{"out.md"}}},
		Event{Type: Decision, Decision: &Decided{What: "approved", Actor: "me"}},
		Event{Type: Exit, Exit: &Exited{How: "gate"}},
	)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	text := raw(t, tr, "history/"+r.Name()+"/transcript.md")
	inside := ""
	fence := regexp.MustCompile("^`{3,}")
	for line := range strings.Lines(text) {
		marks := fence.FindString(line)
		switch {
		case inside == "" && marks != "":
			inside = marks
		case inside != "" && marks == inside && strings.TrimSpace(line) == inside:
			inside = ""
		case inside == "" && (strings.Contains(line, "Not a heading") || strings.Contains(line, "<script>")):
			t.Errorf("outside a fence: %q", line)
		}
	}
	if inside != "" {
		t.Error("a fence stays open")
	}
	for _, want := range []string{"# 01-a", "unknown prompt tokens, 7 output", "`search`", "`line # one`", "`` in`put.md ``", `a\|b.md`, "approved"} {
		if !strings.Contains(text, want) && !strings.Contains(text, strings.ReplaceAll(want, " ", "")) {
			t.Errorf("the transcript lacks %q:\n%s", want, text)
		}
	}
}

func TestTranscriptOfLongTextsIsBounded(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	r := create(t, tr, "01-a", Options{})
	add(t, r, Event{Type: ToolResult, Result: &Result{Text: body(t, r, strings.Repeat("й", 1<<20))}})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	text := raw(t, tr, "history/"+r.Name()+"/transcript.md")
	if len(text) > transcriptText+1000 || !strings.Contains(text, "the whole text of 2097152 bytes is in the journal") || strings.Contains(text, "\ufffd") {
		t.Errorf("%d bytes", len(text))
	}
}
