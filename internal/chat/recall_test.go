package chat_test

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"towpath/internal/chat"
	"towpath/internal/durable"
	"towpath/internal/fakeserver"
	"towpath/internal/journal"
)

// list gives the conversations in the bench's history.
func (b *bench) list() []chat.Past {
	b.t.Helper()
	tree, err := durable.OpenDir(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	defer tree.Close()
	all, err := chat.List(tree, ".")
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// resume takes up the conversation with that name, "" the newest.
func (b *bench) resume(id string) (*chat.Session, chat.Line, []string) {
	b.t.Helper()
	p, err := chat.Pick(b.list(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	s := b.open()
	last, notes, err := s.Resume(p)
	if err != nil {
		b.t.Fatal(err)
	}
	return s, last, notes
}

// cutAfter leaves of a run's journal what a process would have written that was
// killed right after the n-th event of a type, and half of the next line.
func (b *bench) cutAfter(run string, typ journal.Type, n int) {
	b.t.Helper()
	name := filepath.Join(b.dir, "history", run, "journal.jsonl")
	data, err := os.ReadFile(name)
	if err != nil {
		b.t.Fatal(err)
	}
	var kept strings.Builder
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if n == 0 {
			kept.WriteString(lines.Text()[:len(lines.Text())/2])
			break
		}
		kept.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), `"type":"`+string(typ)+`"`) {
			n--
		}
	}
	if n > 0 {
		b.t.Fatalf("the journal of %s has not so many events %s", run, typ)
	}
	if err := os.WriteFile(name, []byte(kept.String()), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func TestResumedConversationIsSentAsItWas(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeserver.Script{Replies: []fakeserver.Reply{
		{Text: "A."}, call("ledger_page", ""), {Text: "B."}, {Text: "C."}, {Text: "C."}, {Text: "D."}}})
	s := b.open()
	b.ask(s, "one")
	b.ask(s, "two "+strings.Repeat("long ", 400))
	b.ask(s, "three")
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	all := b.list()
	if len(all) != 1 || all[0].ID != id || all[0].Turns != 3 || all[0].Title != "one" || all[0].Model != "ollama/test" {
		t.Fatalf("the list is %+v", all)
	}
	r, last, notes := b.resume("")
	if last.Question != "three" || last.Answer != "C." || len(notes) != 0 || r.Last() != "C." {
		t.Errorf("it goes on from %+v with the notes %q", last, notes)
	}
	b.ask(r, "four")
	// What the fourth question was sent with is what the third was, and its answer.
	third, fourth := b.sent(4), b.sent(5)
	if want := third + "assistant: C.\nuser: four\n"; fourth != want {
		t.Errorf("the fourth call was sent\n%s\nwant\n%s", fourth, want)
	}
	if !strings.Contains(fourth, "[BEGIN UNTRUSTED TEXT") {
		t.Error("text from outside is no longer marked")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	all = b.list()
	if len(all) != 1 || all[0].ID == id || all[0].Turns != 4 || all[0].Title != "one" {
		t.Errorf("the list is %+v", all)
	}
	// The earlier point can still be gone on from, by its own name.
	again, last, _ := b.resume(id)
	if last.Question != "four" { // it belongs to the same conversation
		t.Errorf("it goes on from %+v", last)
	}
	b.ask(again, "five")
	if got := b.sent(6); !strings.Contains(got, "user: four\nassistant: C.\nuser: five\n") {
		t.Errorf("the fifth call was sent\n%s", got)
	}
}

// TestLeaveDoesNotOutliveTheSession: what was allowed is asked for again, and
// that text from outside was read is known.
func TestLeaveDoesNotOutliveTheSession(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeserver.Script{Replies: []fakeserver.Reply{
		call("ledger_page", ""), call("ledger_add", "a"), {Text: "A."}, call("ledger_add", "b"), {Text: "B."}}})
	b.leave = chat.Always
	s := b.open()
	b.ask(s, "one")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b.leave = chat.No
	r, _, _ := b.resume("")
	b.ask(r, "two")
	if len(b.asked) != 2 || !b.asked[1].Untrusted || b.lines() != "a\n" {
		t.Errorf("it asked %d times, %+v; the ledger holds %q", len(b.asked), b.asked, b.lines())
	}
}

// TestCallThatWasCutOffIsTold: whether it took effect nobody knows, so that
// person and model are told; it is not made again.
func TestCallThatWasCutOffIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeserver.Script{Replies: []fakeserver.Reply{
		call("ledger_read", ""), call("ledger_add", "a"), {Text: "A."}, {Text: "B."}}})
	b.leave = chat.Once
	s := b.open()
	b.ask(s, "one")
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b.cutAfter(id, journal.ToolCall, 2)
	r, last, notes := b.resume("")
	if len(notes) != 1 || !strings.Contains(notes[0], "the call ledger add was started and nothing says whether it was done") {
		t.Errorf("the notes are %q", notes)
	}
	if last.Question != "one" || !strings.Contains(last.Answer, "the program ended before this was answered") {
		t.Errorf("it goes on from %+v", last)
	}
	b.ask(r, "two")
	got := b.sent(4)
	for _, want := range []string{"user: one", "empty", "no result of this call was kept", "nobody knows whether the call ledger add took effect", "user: two"} {
		if !strings.Contains(got, want) {
			t.Errorf("the call after it does not hold %q:\n%s", want, got)
		}
	}
	if b.lines() != "a\n" {
		t.Errorf("the ledger holds %q", b.lines())
	}
}

func TestKilledAtAnyEventTheConversationGoesOn(t *testing.T) {
	t.Parallel()
	for _, at := range []journal.Type{journal.RunStarted, journal.Said, journal.ModelCall, journal.ModelReply, journal.ToolCall, journal.ToolResult, journal.TurnEnded} {
		b := newBench(t, fakeserver.Script{Replies: []fakeserver.Reply{call("ledger_read", ""), {Text: "A."}, {Text: "B."}}})
		s := b.open()
		b.ask(s, "one")
		id := s.ID()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		b.cutAfter(id, at, 1)
		if at == journal.RunStarted {
			if all := b.list(); len(all) != 0 {
				t.Errorf("a conversation without a question is listed: %+v", all)
			}
			continue
		}
		r, _, _ := b.resume(id)
		if a := b.ask(r, "two"); a.Text != "B." {
			t.Errorf("after %s the answer is %q", at, a.Text)
		}
		if got := b.sent(3); !strings.Contains(got, "user: one\n") || !strings.HasSuffix(got, "user: two\n") || strings.Contains(got, "A.") != (at == journal.TurnEnded) {
			t.Errorf("after %s it was sent\n%s", at, got)
		}
	}
}

func TestWhatWasClearedStaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeserver.Script{Replies: []fakeserver.Reply{{Text: "A."}, {Text: "B."}, {Text: "C."}}})
	s := b.open()
	b.ask(s, "one")
	if err := s.Clear(); err != nil {
		t.Fatal(err)
	}
	b.ask(s, "two")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, _, _ := b.resume("")
	b.ask(r, "three")
	if got, want := b.sent(3), "user: two\nassistant: B.\nuser: three\n"; got != want {
		t.Errorf("it was sent\n%s\nwant\n%s", got, want)
	}
}

// TestResumedWithASmallerModel: what no longer fits is left out, the newest
// stays.
func TestResumedWithASmallerModel(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeserver.Script{
		Models: []fakeserver.Model{{Name: "test", Window: 16384}},
		Answer: func(fakeserver.Request) fakeserver.Reply { return fakeserver.Reply{Text: strings.Repeat("word ", 100)} }})
	b.tools = nil
	s := b.open()
	for range 40 {
		b.ask(s, "again "+strings.Repeat("and ", 40))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b.window = 2048
	r, _, _ := b.resume("")
	if a := b.ask(r, "the end?"); a.Text == "" {
		t.Error("there is no answer")
	}
	chats := b.server.Chats()
	if n := len(chats[len(chats)-1].Body); n > 2048*5 {
		t.Errorf("it was sent %d bytes", n)
	}
	if r.Turns() < 3 {
		t.Errorf("%d questions are left", r.Turns())
	}
}

func TestDamagedConversationIsNamedAndTheOthersStay(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeserver.Script{Replies: []fakeserver.Reply{{Text: "A."}, {Text: "B."}}})
	var ids []string
	for _, q := range []string{"one", "two"} {
		s := b.open()
		b.ask(s, q)
		ids = append(ids, s.ID())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(b.dir, "history", ids[0], "journal.jsonl")
	if err := os.WriteFile(name, []byte("<<<<<<< HEAD\n{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	all := b.list()
	if len(all) != 2 || !strings.Contains(all[0].Problem, "journal.jsonl:1") || all[1].Problem != "" {
		t.Fatalf("the list is %+v", all)
	}
	if _, _, err := b.open().Resume(all[0]); err == nil || !strings.Contains(err.Error(), "journal.jsonl:1") {
		t.Errorf("the error is %v", err)
	}
	for _, id := range []string{"20000101T000000Z", ids[0][:4]} {
		if _, err := chat.Pick(all, id); err == nil {
			t.Errorf("%q is taken for a conversation", id)
		}
	}
	if p, err := chat.Pick(all, ids[1]); err != nil || p.Title != "two" {
		t.Errorf("it found %+v, %v", p, err)
	}
	if _, err := chat.Pick(nil, ""); err == nil {
		t.Error("there is a conversation where there is none")
	}
	if _, err := b.open().Ask(context.Background(), " \n"); err == nil {
		t.Error("an empty question is asked")
	}
}
