package engine_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"towpath/internal/engine"
	"towpath/internal/fakeserver"
	"towpath/internal/journal"
)

// modules is a workspace whose one stage runs once a module of an outline.
func modules(n int, forEach, outputs string, more ...string) map[string]string {
	var outline strings.Builder
	outline.WriteString("# Outline\n\nWords before.\n\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&outline, "## Module %d: Part %d\n\n- point %d\n\n", i, i, i)
	}
	return map[string]string{
		"outline.md": outline.String(),
		"pipeline/01-draft/CONTEXT.md": "# Stage\n\n## Inputs\n- Layer 3 (reference): ../../voice.md\n\n## For each\n" + forEach +
			"\n\n## Process\nDraft this module.\n\n## Outputs\n" + outputs + "\n\n" + strings.Join(more, "\n\n") + "\n",
		"voice.md": "Plain.\n",
	}
}

var itemHead = regexp.MustCompile(`(?m)^## Module (\d+): Part \d+$`)

// module gives the number of the module that a request is about.
func module(r fakeserver.Request) string {
	m := itemHead.FindAllStringSubmatch(user(r), -1)
	if len(m) == 0 {
		return "?"
	}
	return m[len(m)-1][1]
}

func drafted(n string) string {
	return fmt.Sprintf("## Module %s: Part %s\n\nText of module %s.", n, n, n)
}

const draftOut = "pipeline/01-draft/output/draft.md"

func TestPiecesAreJoinedInTheSourcesOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t, modules(3, "module in ../../outline.md, 3 at a time", "- draft.md -> output/"), func(r fakeserver.Request) fakeserver.Reply {
		return say("\n" + drafted(module(r)) + "\n\n")
	})
	b.mustRun(engine.Options{}, engine.HowAllDone)
	wants(t, "the draft", b.read(draftOut), drafted("1")+"\n\n"+drafted("2")+"\n\n"+drafted("3")+"\n")
	for _, c := range b.server.Chats() {
		if len(c.Messages) != 2 {
			t.Errorf("an item's conversation begins with %d messages, want 2", len(c.Messages))
		}
	}
}

func TestHeadingIsNotPrintedTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t, modules(3, "module in ../../outline.md", "- draft.md -> output/"), func(r fakeserver.Request) fakeserver.Reply {
		switch n := module(r); n {
		case "1":
			return say("# Module 1: Part 1\n\n" + drafted(n)) // twice
		case "2":
			return say("Text without a heading, and more of it.")
		default:
			return say(drafted(n))
		}
	})
	b.mustRun(engine.Options{}, engine.HowAllDone)
	wants(t, "the draft", b.read(draftOut), drafted("1")+"\n\nText without a heading, and more of it.\n\n"+drafted("3")+"\n")
}

func TestFailedItemsKeepTheirSlot(t *testing.T) {
	t.Parallel()
	var bad atomic.Bool
	bad.Store(true)
	b := newBench(t, modules(5, "module in ../../outline.md, 2 at a time", "- draft.md -> output/"), func(r fakeserver.Request) fakeserver.Reply {
		n := module(r)
		if bad.Load() && (n == "2" || n == "4") {
			return fakeserver.Reply{Status: 400, Body: "no"}
		}
		return say(drafted(n))
	})
	err := b.mustFail(engine.Options{}, engine.CodeError)
	contains(t, "the error", err.Error(), "2 of 5 items", "item 2 (Module 2: Part 2)", "item 4 (Module 4: Part 4)")
	if b.exists(draftOut) {
		t.Error("a draft with missing items was written")
	}
	if s := b.status("01-draft"); s.State != engine.Failed {
		t.Errorf("01-draft is %+v", s)
	}
	bad.Store(false)
	before := len(b.server.Chats())
	b.mustRun(engine.Options{}, engine.HowAllDone)
	if n := len(b.server.Chats()) - before; n != 2 {
		t.Errorf("%d model calls, want 2: the finished items are reused", n)
	}
	for i := 1; i <= 5; i++ {
		contains(t, "the draft", b.read(draftOut), drafted(fmt.Sprint(i)))
	}
}

func TestFinishedItemsAreMadeAnewWhenTheirInputsChanged(t *testing.T) {
	t.Parallel()
	var bad atomic.Bool
	bad.Store(true)
	b := newBench(t, modules(3, "module in ../../outline.md", "- draft.md -> output/"), func(r fakeserver.Request) fakeserver.Reply {
		n := module(r)
		if bad.Load() && n == "3" {
			return fakeserver.Reply{Status: 400, Body: "no"}
		}
		return say(drafted(n))
	})
	err := b.mustFail(engine.Options{}, engine.CodeError)
	if n := strings.Count(err.Error(), "run the same command"); n != 1 {
		t.Errorf("the mend is said %d times: %v", n, err)
	}
	bad.Store(false)
	b.write("outline.md", strings.Replace(b.read("outline.md"), "point 1", "another point", 1))
	before := len(b.server.Chats())
	b.mustRun(engine.Options{}, engine.HowAllDone)
	if n := len(b.server.Chats()) - before; n != 2 {
		t.Errorf("%d model calls, want 2: the first item changed, the third failed", n)
	}
}

func TestReferenceChangeMakesEveryItemAnew(t *testing.T) {
	t.Parallel()
	var bad atomic.Bool
	bad.Store(true)
	b := newBench(t, modules(3, "module in ../../outline.md", "- draft.md -> output/"), func(r fakeserver.Request) fakeserver.Reply {
		if bad.Load() && module(r) == "3" {
			return fakeserver.Reply{Status: 400, Body: "no"}
		}
		return say(drafted(module(r)))
	})
	b.mustFail(engine.Options{}, engine.CodeError)
	bad.Store(false)
	b.write("voice.md", "Lively.\n")
	before := len(b.server.Chats())
	b.mustRun(engine.Options{}, engine.HowAllDone)
	if n := len(b.server.Chats()) - before; n != 3 {
		t.Errorf("%d model calls, want 3", n)
	}
}

func TestBatchSeesTheBatchesBeforeIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, modules(4, "module in ../../outline.md, 2 at a time, with summaries", "- draft.md -> output/"), func(r fakeserver.Request) fakeserver.Reply {
		return say(drafted(module(r)))
	})
	b.mustRun(engine.Options{}, engine.HowAllDone)
	for _, c := range b.server.Chats() {
		text, n := user(c), module(c)
		sees := strings.Contains(text, "Text of module 1.") && strings.Contains(text, "Text of module 2.")
		if late := n == "3" || n == "4"; sees != late {
			t.Errorf("module %s sees the first batch: %v, want %v", n, sees, late)
		}
		if strings.Contains(text, "Text of module 3.") {
			t.Errorf("module %s sees the third", n)
		}
	}
}

func TestEveryItemMakesEveryOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t, modules(2, "module in ../../outline.md", "- draft.md -> output/\n- quiz-{{n}}.md -> output/\n- {{item}}.md -> output/"), func(r fakeserver.Request) fakeserver.Reply {
		last := r.Messages[len(r.Messages)-1].Content
		n := itemNumber(r)
		switch {
		case strings.Contains(last, "quiz") && len(r.Messages) > 2:
			return say("Quiz of " + n)
		case len(r.Messages) > 4:
			return say("Sheet of " + n)
		}
		return say(drafted(n))
	})
	b.mustRun(engine.Options{}, engine.HowAllDone)
	wants(t, "the draft", b.read(draftOut), drafted("1")+"\n\n"+drafted("2")+"\n")
	wants(t, "quiz 2", b.read("pipeline/01-draft/output/quiz-2.md"), "Quiz of 2\n")
	wants(t, "sheet 1", b.read("pipeline/01-draft/output/module-1-part-1.md"), "Sheet of 1\n")
	if s := b.status("01-draft"); s.State != engine.Done || len(s.Outputs) != 5 || len(s.Undeclared) != 0 {
		t.Errorf("01-draft is %+v", s)
	}
	b.remove("pipeline/01-draft/output/quiz-1.md")
	if s := b.status("01-draft"); s.State == engine.Done {
		t.Error("01-draft is done with a file missing")
	}
}

// itemNumber gives the module that the first message of the user is about.
func itemNumber(r fakeserver.Request) string {
	for _, m := range r.Messages {
		if m.Role == "user" {
			if f := itemHead.FindStringSubmatch(m.Content); f != nil {
				return f[1]
			}
		}
	}
	return "?"
}

// A title may be what another's number makes: "a-3" beside two that are "a".
func TestNoTwoItemsShareAFile(t *testing.T) {
	t.Parallel()
	files := modules(0, "module in ../../outline.md", "- {{item}}.md -> output/")
	files["outline.md"] = "## Module: A 3\n\nx\n\n## Module: A\n\ny\n\n## Module: A\n\nz\n"
	var n atomic.Int32
	b := newBench(t, files, func(fakeserver.Request) fakeserver.Reply {
		return say(fmt.Sprintf("Text number %d, long enough.", n.Add(1)))
	})
	b.mustRun(engine.Options{}, engine.HowAllDone)
	texts := map[string]bool{}
	for _, o := range b.status("01-draft").Outputs {
		texts[b.read(o)] = true
	}
	if len(texts) != 3 {
		t.Errorf("three items left %d texts in %v", len(texts), b.status("01-draft").Outputs)
	}
}

func TestItemFilesHaveSafeNames(t *testing.T) {
	t.Parallel()
	files := modules(0, "module in ../../outline.md", "- {{item}}.md -> output/")
	files["outline.md"] = "## Module: CON: a/b?\n\nx\n\n## Module: Con a b\n\ny\n\n## Module: ../../etc\n\nz\n"
	n := 0
	b := newBench(t, files, func(fakeserver.Request) fakeserver.Reply {
		n++
		return say(fmt.Sprintf("Text number %d, long enough.", n))
	})
	b.mustRun(engine.Options{}, engine.HowAllDone)
	seen := map[string]bool{}
	s := b.status("01-draft")
	for _, o := range s.Outputs {
		low := strings.ToLower(o)
		name := strings.TrimPrefix(o, "pipeline/01-draft/output/")
		if seen[low] || strings.ContainsAny(name, `/\:?*`) || !b.exists(o) {
			t.Errorf("item file %q is not safe, not there, or a twin", o)
		}
		seen[low] = true
	}
	if len(s.Outputs) != 3 || s.State != engine.Done {
		t.Errorf("01-draft is %+v", s)
	}
}

func TestParallelItemsCannotOvershootABudget(t *testing.T) {
	t.Parallel()
	files := modules(4, "module in ../../outline.md, 4 at a time", "- draft.md -> output/", "## Tools\nledger: note", "## Stop\n- tool calls: 4")
	b := newBench(t, files, func(r fakeserver.Request) fakeserver.Reply {
		if len(r.Tools) > 0 {
			return ask("ledger_note", fmt.Sprintf(`{"text":"%s/%d"}`, module(r), gave(r)))
		}
		return say(drafted(itemNumber(r)))
	})
	ex := b.mustRun(engine.Options{All: true}, engine.HowGate)
	contains(t, "the reason", ex.Reason, "incomplete")
	if n := len(b.ledger.lines()); n > 4 {
		t.Errorf("%d tool calls ran, the limit is 4", n)
	}
	if s := b.status("01-draft"); !s.Incomplete {
		t.Errorf("01-draft is %+v, want incomplete", s)
	}
}

func TestAllItemsAreTriedButNotAgainstADeadServer(t *testing.T) {
	t.Parallel()
	var b *bench
	b = newBench(t, modules(6, "module in ../../outline.md", "- draft.md -> output/"), func(r fakeserver.Request) fakeserver.Reply {
		if module(r) == "2" {
			go b.server.Close()
			return fakeserver.Reply{Silent: true}
		}
		return say(drafted(module(r)))
	})
	err := b.mustFail(engine.Options{}, engine.CodeError)
	contains(t, "the error", err.Error(), "5 of 6 items", "item 6 (Module 6: Part 6): not begun")
}

func TestItemEventsCarryTheirPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t, modules(2, "module in ../../outline.md", "- draft.md -> output/"), func(r fakeserver.Request) fakeserver.Reply {
		return say(drafted(module(r)))
	})
	b.mustRun(engine.Options{}, engine.HowAllDone)
	for _, ev := range b.events {
		switch ev.Type {
		case journal.ItemStarted, journal.ItemEnded, journal.ModelCall, journal.ModelReply, journal.ContextBuilt:
			if ev.Item == 0 || ev.Of != 2 {
				t.Errorf("%s has item %d of %d", ev.Type, ev.Item, ev.Of)
			}
		}
	}
}

func TestRejectedItemsGetTheirOwnPieceBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, modules(2, "module in ../../outline.md", "- draft.md -> output/"), func(r fakeserver.Request) fakeserver.Reply {
		return say(drafted(itemNumber(r)))
	})
	b.mustRun(engine.Options{}, engine.HowAllDone)
	if _, err := b.engine().Reject("1", "Too SHORT."); err != nil {
		t.Fatal(err)
	}
	before := len(b.server.Chats())
	b.mustRun(engine.Options{}, engine.HowAllDone)
	again := b.server.Chats()[before:]
	if len(again) != 2 {
		t.Fatalf("%d model calls, want 2: nothing rejected is reused", len(again))
	}
	for _, c := range again {
		n := itemNumber(c)
		contains(t, "the prompt", user(c), "Too SHORT.", "Text of module "+n+".")
		if other := map[string]string{"1": "2", "2": "1"}[n]; strings.Contains(user(c), "Text of module "+other+".") {
			t.Errorf("module %s was given the piece of module %s", n, other)
		}
	}
}

// A reason that many items share is read once.
func TestReasonThatItemsShareIsSaidOnce(t *testing.T) {
	t.Parallel()
	same := errors.New("the model calls no tools")
	err := &engine.ItemsError{Total: 4, Failed: []engine.ItemError{{N: 1, Title: "a", Err: same}, {N: 2, Title: "b"}, {N: 4, Title: "d", Err: same}}}
	if got, want := err.Error(), "3 of 4 items have no result; item 1 (a), item 4 (d): the model calls no tools; item 2 (b): not begun"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
