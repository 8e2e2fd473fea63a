package stream

import (
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"towpath/internal/model"
)

func TestSplitKeepsReasoningOutByPosition(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"plain":                            {"", "plain"},
		"<think>s</think>ANSWER":           {"s", "ANSWER"},
		"\n <think>\ns\n</think>\n\nA\n":   {"s", "A\n"},
		"<thinking>s</thinking>A":          {"s", "A"},
		"[THINK]s[/THINK]A":                {"s", "A"},
		"◁think▷s◁/think▷A":                {"s", "A"},
		"<think>s":                         {"s", ""},
		"<think></think>A":                 {"", "A"},
		"s\n</think>\nA":                   {"s", "A"},
		"s.</think>A":                      {"s.", "A"},
		"all of it</think>":                {"all of it", ""},
		"The </think> tag ends it.":        {"", "The </think> tag ends it."},
		"Close with '</think>'.":           {"", "Close with '</think>'."},
		"```\ns\n</think>\nA\n```\n":       {"", "```\ns\n</think>\nA\n```\n"},
		"Use <think>x</think> so.":         {"", "Use <think>x</think> so."},
		"<think>a `</think>` b</think>A":   {"a `</think>` b", "A"},
		"<think>a</think>b\n</think>\nA":   {"a\nb", "A"},
		"<think>a</think>b </think> c":     {"a", "b </think> c"},
		"<think>a</think>A</think>":        {"a", "A</think>"},
		"<think>a</think><think>b</think>": {"a\nb", ""},
		"<|channel|>analysis<|message|>s<|end|><|start|>assistant<|channel|>final<|message|>A<|return|>": {"s", "A"},
		"<thin":    {"", "<thin"},
		"a < b":    {"", "a < b"},
		"<b>A</b>": {"", "<b>A</b>"},
	} {
		if r, text := Split(in); r != want[0] || text != want[1] {
			t.Errorf("Split(%q) = %q, %q; want %q, %q", in, r, text, want[0], want[1])
		}
	}
}

func TestClosingTagCutAcrossPieces(t *testing.T) {
	t.Parallel()
	text := "<think>I mention `</think>` and a < b</think>\n\nThe ANSWER is a < b."
	for i := range len(text) {
		for j := i; j <= len(text); j += 3 {
			var mind, said strings.Builder
			a := New(Options{Emit: func(d model.Delta) { mind.WriteString(d.Reasoning); said.WriteString(d.Text) }})
			for _, p := range []string{text[:i], text[i:j], text[j:]} {
				if err := a.Text(p); err != nil {
					t.Fatal(err)
				}
			}
			r, err := a.Finish(model.FinishStop)
			if err != nil || r.Text != "The ANSWER is a < b." || r.Reasoning != "I mention `</think>` and a < b" {
				t.Fatalf("cut at %d and %d: %+v, %v", i, j, r, err)
			}
			if mind.String() != r.Reasoning || said.String() != r.Text {
				t.Fatalf("cut at %d and %d: streamed %q and %q", i, j, mind.String(), said.String())
			}
		}
	}
}

func TestOrdinaryTextIsNotHeldBack(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	a := New(Options{Emit: func(d model.Delta) { said.WriteString(d.Text) }})
	for _, p := range []string{"a < ", "b"} {
		if err := a.Text(p); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(said.String(), p) {
			t.Errorf("%q was held back", p)
		}
	}
}

func TestRepetitionWithoutEndIsNoticedEarly(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]string{
		"sentence": "I will begin. ", "letter": "a", "blank lines": "\n", "paragraph": strings.Repeat("The towpath, once more, runs along the old canal. ", 7) + "So it does.\n\n",
		"letters beyond ASCII": "Я пачну. ",
	} {
		for _, step := range []int{1, 7, 5000} {
			a := New(Options{})
			text := "Once upon a time there was a canal. " + strings.Repeat(unit, 10000/len(unit)+1)
			err, fed := error(nil), 0
			for fed < len(text) && err == nil {
				n := min(step, len(text)-fed)
				err = a.Text(text[fed : fed+n])
				fed += n
			}
			if model.KindOf(err) != model.KindDegenerate || step < 100 && fed > 6000 {
				t.Errorf("%s in pieces of %d: %v after %d bytes", name, step, err, fed)
			}
		}
	}
}

func TestRepetitionThatIsMeantGoesThrough(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	for i := range 300 {
		table.WriteString("| item " + strconv.Itoa(i) + " | yes |\n")
	}
	for name, text := range map[string]string{
		"ruler": strings.Repeat("-", 200) + "\n" + strings.Repeat("=", 1000), "refrain": strings.Repeat("La la la, sing the song.\n", 11),
		"table": table.String(), "empty rows": strings.Repeat("|  |  |  |\n", 40),
	} {
		a := New(Options{})
		if err := a.Text(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServerThatStopsAtARepetitionIsNotJustInterrupted(t *testing.T) {
	t.Parallel()
	a := New(Options{})
	if err := a.Text("Well: " + strings.Repeat("word ", 31)); err != nil {
		t.Fatal(err)
	}
	if err := a.Broken(io.EOF); model.KindOf(err) != model.KindDegenerate {
		t.Errorf("error = %v", err)
	}
}

func TestCallThatWasCutByLengthIsLeftOut(t *testing.T) {
	t.Parallel()
	a := New(Options{})
	for _, p := range []CallPiece{{HasIndex: true, ID: "a", Name: "x", Arguments: `{"q":"a"}`}, {HasIndex: true, Index: 1, ID: "b", Name: "x", Arguments: `{"q":"b`}} {
		if err := a.Call(p); err != nil {
			t.Fatal(err)
		}
	}
	r, err := a.Finish(model.FinishLength)
	if err != nil || len(r.ToolCalls) != 1 || r.ToolCalls[0].ID != "a" || r.Finish != model.FinishLength {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestEventsForEveryWayOfReading(t *testing.T) {
	t.Parallel()
	const source = ": hi\r\nevent: a\r\ndata: 1\r\ndata: 2\r\n\r\n\ndata:\n\nid: 7\ndata:x\n\n{\"error\":1}\ndata: [DONE]"
	want := []Event{{Name: "a", Data: []byte("1\n2")}, {Data: []byte("x")}, {Data: []byte(`{"error":1}`)}, {Data: []byte("[DONE]")}}
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(source), "byte by byte": iotest.OneByteReader(strings.NewReader(source)), "with its end": iotest.DataErrReader(strings.NewReader(source))} {
		events := NewEvents(r)
		for i, w := range want {
			got, err := events.Next()
			if err != nil || !reflect.DeepEqual(got, w) {
				t.Errorf("%s: event %d = %+v, %v; want %+v", name, i, got, err, w)
			}
		}
		if _, err := events.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: at the end: %v", name, err)
		}
	}
}

func TestLineThatIsTooLongIsAnError(t *testing.T) {
	t.Parallel()
	lines := NewLines(io.MultiReader(strings.NewReader(strings.Repeat("a", 100)), strings.NewReader("\nb\n")))
	lines.max = 64
	if _, _, err := lines.Next(); !errors.Is(err, ErrTooLong) {
		t.Errorf("error = %v", err)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[]}\n\n: c\n\nevent: error\ndata: x\n\n"))
	f.Add([]byte("\xef\xbb\xbfdata:\r\rdata: a\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		read := func(r io.Reader) (all []Event) {
			for e := NewEvents(r); ; {
				ev, err := e.Next()
				if err != nil {
					return all
				}
				all = append(all, ev)
			}
		}
		whole := read(strings.NewReader(string(b)))
		if bits := read(iotest.OneByteReader(strings.NewReader(string(b)))); !reflect.DeepEqual(whole, bits) {
			t.Fatalf("%q: %+v whole, %+v byte by byte", b, whole, bits)
		}
	})
}

func FuzzAccumulator(f *testing.F) {
	f.Add("<think>s</think>{\"name\":\"search\",\"arguments\":{\"q\":\"x\"}}", uint8(3), uint8(9))
	f.Add("a `</think>` b</think>\n\nc", uint8(4), uint8(13))
	f.Add("search(q=\"x\")", uint8(1), uint8(2))
	tools := []model.ToolDef{{Name: "search"}}
	f.Fuzz(func(t *testing.T, text string, i, j uint8) {
		reply := func(pieces ...string) (model.Reply, error) {
			a := New(Options{Tools: tools, Emit: func(model.Delta) {}})
			for _, p := range pieces {
				if err := a.Text(p); err != nil {
					return model.Reply{}, err
				}
			}
			return a.Finish(model.FinishStop)
		}
		first, second := min(int(i), len(text)), 0
		second = min(first+int(j), len(text))
		whole, err := reply(text)
		cut, cutErr := reply(text[:first], text[first:second], text[second:])
		if !reflect.DeepEqual(whole, cut) || model.KindOf(err) != model.KindOf(cutErr) {
			t.Fatalf("%q cut at %d and %d: %+v (%v), whole %+v (%v)", text, first, second, cut, cutErr, whole, err)
		}
	})
}

func FuzzCalls(f *testing.F) {
	f.Add("0aName{\"a\"|1--:1}|0b-{}")
	f.Fuzz(func(t *testing.T, script string) {
		a := New(Options{})
		for _, part := range strings.Split(script, "|") {
			if len(part) < 3 {
				continue
			}
			p := CallPiece{Index: int(part[0] % 4), HasIndex: part[0]%8 < 4, Arguments: part[3:]}
			if part[1] != '-' {
				p.ID = part[1:2]
			}
			if part[2] != '-' {
				p.Name = part[2:3]
			}
			if a.Call(p) != nil {
				return
			}
		}
		r, err := a.Finish(model.FinishStop)
		if err != nil {
			return
		}
		ids := map[string]bool{}
		for _, c := range r.ToolCalls {
			if c.ID == "" || ids[c.ID] {
				t.Fatalf("%q: the id %q stands twice or is empty", script, c.ID)
			}
			ids[c.ID] = true
		}
	})
}
