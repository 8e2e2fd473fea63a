package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"towpath/internal/fakeserver"
)

func replies(r ...fakeserver.Reply) fakeserver.Script { return fakeserver.Script{Replies: r} }

func TestChatShowsMarkdownWhileItStreams(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t, replies(fakeserver.Reply{
		Text: "# Answer\n\nThis is **bold** and `code`.\n\n```sh\nls -l   *.go\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"}))
	x := newSession(t, s.URL).start(80, 24, "chat")
	x.ready()
	x.types("Show me\r")
	x.sees("| 1 | 2 |\n\n>")
	x.look(func(s *screen) {
		for _, want := range []string{"\nAnswer\n\nThis is bold and code.\n", "```sh\nls -l   *.go\n```\n"} {
			if !strings.Contains(s.text(), want) {
				t.Errorf("%q is not on the screen:\n%s", want, s.text())
			}
		}
		if !s.coloured {
			t.Error("nothing is set off")
		}
	})
	x.types("\x04")
	x.sees("-chat takes this conversation up again")
	x.exits(0)
}

func TestChatCompletesCommands(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t, replies())
	ses := newSession(t, s.URL)
	if err := os.WriteFile(filepath.Join(ses.dir, "notes.md"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	x := ses.start(80, 24, "chat")
	x.ready()
	x.types("/con\t")
	x.sees("> /context")
	x.types("\r")
	x.sees("of 8,192 tokens, estimated")
	x.ready()
	x.types("/s\t") // /show and /save
	x.sees("/show   /save")
	x.types("a\tno\t")
	x.sees("> /save notes.md")
	x.types("\x03") // clears the line
	x.ready()
	x.types("/model ol\t")
	x.sees("> /model ollama/test")
	x.types("\r")
	x.sees("going on with ollama/test")
	x.types("/cntext\r")
	x.sees("did you mean /context?")
	if n := len(s.Chats()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	x.types("/exit\r")
	x.exits(0)
}

func TestChatInterruptKeepsTheConversation(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t, replies(fakeserver.Reply{Text: "Once upon a ", Stall: true}, fakeserver.Reply{Text: "Still here."}))
	x := newSession(t, s.URL).start(80, 24, "chat")
	x.ready()
	x.types("A story\r")
	x.sees("Once upon")
	x.types("\x03")
	x.sees("interrupted; the conversation is kept")
	x.ready()
	x.types("And now?\r")
	x.sees("Still here.")
	all, _ := json.Marshal(s.Chats()[1].Messages)
	if !strings.Contains(string(all), "A story") || !strings.Contains(string(all), "Once upon") {
		t.Errorf("the second call was sent %s", all)
	}
	x.ready()
	x.types("\x03") // at an empty prompt
	x.exits(0)
}

func TestChatSecondInterruptEndsTheProgram(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t, replies(fakeserver.Reply{Silent: true}))
	x := newSession(t, s.URL).start(80, 24, "chat")
	x.ready()
	x.types("A story\r")
	x.sees("waiting for the model")
	x.types("\x03\x03")
	select {
	case <-x.exited:
	case <-t.Context().Done():
	}
	if code := x.cmd.ProcessState.ExitCode(); code != 130 && code != 0 { // 0: the turn had let go in between
		t.Errorf("exit code %d", code)
	}
}

func TestChatGoesOnAfterKill(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t, replies(fakeserver.Reply{Text: "Blue."}, fakeserver.Reply{Text: "Half of", Stall: true}, fakeserver.Reply{Text: "You said blue."}))
	ses := newSession(t, s.URL)
	x := ses.start(80, 24, "chat")
	x.ready()
	x.types("My colour?\r")
	x.sees("Blue.")
	x.ready()
	x.types("Another one?\r")
	x.sees("Half")
	if err := x.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-x.exited
	y := ses.start(80, 24, "chat", "--resume")
	y.sees("2 questions")
	y.ready()
	y.types("What did you say?\r")
	y.sees("You said blue.")
	all, _ := json.Marshal(s.Chats()[2].Messages)
	for _, want := range []string{"My colour?", "Blue.", "Another one?", "the program ended before this was answered", "What did you say?"} {
		if !strings.Contains(string(all), want) {
			t.Errorf("the call after the kill does not hold %q: %s", want, all)
		}
	}
	y.types("\x04")
	y.exits(0)
	z := ses.start(80, 24, "chat", "--list")
	z.sees("My colour?")
	z.exits(0)
	z.look(func(s *screen) {
		if strings.Count(s.text(), "-chat") != 1 {
			t.Errorf("the list is\n%s", s.text())
		}
	})
}

// TestEscapeSequencesNeverReachTheTerminal: neither from the model nor from a
// tool, nor from what a page is called.
func TestEscapeSequencesNeverReachTheTerminal(t *testing.T) {
	t.Parallel()
	const evil = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\u009b5A\u202eback\r\x08"
	args, _ := json.Marshal(map[string]string{"query": evil})
	s := fakeserver.New(t, replies(
		fakeserver.Reply{Calls: []fakeserver.ToolCall{{Name: "search-server_search", Arguments: args}}},
		fakeserver.Reply{Text: "A " + evil + " answer\n\n```\n" + evil + "\n```\n| " + evil + " |\n", Pieces: []int{3, 1, 1, 1, 2, 5, 1, 1}}))
	ses := newSession(t, s.URL)
	lib := filepath.Join(ses.dir, "library")
	if err := os.MkdirAll(lib, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(lib, "red.md"), []byte("# red owned "+evil+"\n\n"+evil+" red back owned\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ses.env = append(ses.env, "TOWPATH_SEARCH_LIBRARY="+lib, "NO_COLOR=1")
	x := ses.start(80, 24, "chat")
	x.ready()
	x.types("search\r")
	x.sees("[1] search-server search")
	x.sees("answer")
	x.ready()
	x.types("/last\r")
	x.sees("[1] search-server search {")
	x.ready()
	x.look(func(s *screen) {
		if len(s.odd) > 0 {
			t.Errorf("the terminal got %s", s.odd)
		}
		if strings.ContainsRune(s.text(), '\u202e') {
			t.Error("the terminal got a mark that turns text round")
		}
		if s.coloured {
			t.Error("with NO_COLOR the terminal got colours")
		}
	})
}

func TestChatFitsNarrowTerminals(t *testing.T) {
	t.Parallel()
	text := "A paragraph with enough words that it has to be broken several times at a narrow terminal.\n\n- an item that is long enough to be broken as well, twice even\n\n日本語のテキストはスペースなしで続きます。"
	s := fakeserver.New(t, replies(fakeserver.Reply{Text: text}))
	x := newSession(t, s.URL).start(32, 12, "chat")
	x.ready()
	x.types("a question that is longer than the line of this terminal is wide 日本語 yes")
	x.sees("yes")
	x.types("\x1b[D\x1b[D\x1b[D\x17") // back over yes, and the word before it is gone
	x.until("the word gone", func(s *screen) bool { return !strings.Contains(s.text(), "日本") })
	x.types("\r")
	x.sees("\n  be broken as well, twice even\n")
	x.sees("続きます。")
	x.ready()
	x.look(func(s *screen) {
		if s.wrapped > 0 {
			t.Errorf("%d lines ran over the edge:\n%s", s.wrapped, s.text())
		}
	})
	if got := s.Chats()[0].Messages; got[len(got)-1].Content != "a question that is longer than the line of this terminal is wide yes" {
		t.Errorf("the question arrived as %q", got[len(got)-1].Content)
	}
}

func TestPastedLinesAreOneQuestion(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t, replies(fakeserver.Reply{Text: "Read."}))
	x := newSession(t, s.URL).start(80, 24, "chat")
	x.ready()
	x.types("\x1b[200~first line\rsecond line\nthird\x1b[201~")
	x.sees("> first line\n  second line\n  third")
	x.types(" and more\r")
	x.sees("Read.")
	msgs := s.Chats()[0].Messages
	if got := msgs[len(msgs)-1].Content; got != "first line\nsecond line\nthird and more" {
		t.Errorf("the question arrived as %q", got)
	}
}

// TestPlainWritesNothingOver: a screen reader reads each line once.
func TestPlainWritesNothingOver(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t, replies(fakeserver.Reply{Text: "# Head\n\nAn **answer** of two lines.\nThe second."}))
	x := newSession(t, s.URL).start(80, 24, "chat", "--plain")
	x.ready()
	before := 0
	x.look(func(s *screen) { before = s.cleared })
	x.types("hi\r")
	x.sees("# Head\n\nAn **answer** of two lines.\nThe second.\n")
	x.ready()
	x.look(func(s *screen) {
		if s.coloured {
			t.Error("there are colours")
		}
		if s.cleared-before > 2 { // the line that was typed is drawn once more, and the next prompt
			t.Errorf("%d lines were cleared", s.cleared-before)
		}
	})
}

func TestTypedLinesComeBackButSecretsDoNot(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t, fakeserver.Script{Replies: []fakeserver.Reply{{Text: "Yes.", Times: -1}}})
	ses := newSession(t, s.URL)
	x := ses.start(80, 24, "chat")
	x.ready()
	x.types("an ordinary question\r")
	x.seesTimes("Yes.", 1)
	x.ready()
	x.types("is sk-abcdefghijklmnop1234567890 a key?\r")
	x.seesTimes("Yes.", 2)
	x.ready()
	x.types("\x04")
	x.exits(0)
	y := ses.start(80, 24, "chat")
	y.ready()
	y.types("\x1b[A")
	y.sees("> an ordinary question")
	y.types("\x03")
	y.ready()
	y.types("\x12ordin\r")
	y.sees("Yes.")
	y.seesTimes("> an ordinary question", 2)
	err := filepath.WalkDir(strings.TrimPrefix(ses.env[0], "HOME="), func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if strings.Contains(string(data), "abcdefghijklmnop1234567890") {
			t.Errorf("%s holds the key", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestResizeDrawsTheLineAnew(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t, replies())
	x := newSession(t, s.URL).start(60, 20, "chat")
	x.ready()
	x.types("some words that are typed before the terminal changes")
	x.sees("changes")
	x.look(func(s *screen) { s.resize(30) })
	x.size(30, 20)
	x.sees("  Ctrl-D ends.\n> some words that are typed be\nfore the terminal changes\n")
	x.types(" and go on")
	x.sees("\nfore the terminal changes and\ngo on\n")
	x.look(func(s *screen) { s.resize(60) })
	x.size(60, 20)
	x.sees("\n> some words that are typed before the terminal changes and\ngo on\n")
}

// TestChatAsksBeforeACallWithEffects also shows how far the answer "always"
// goes: not past the first text from outside, which the tool itself gives here.
func TestChatAsksBeforeACallWithEffects(t *testing.T) {
	t.Parallel()
	call := fakeserver.Reply{Calls: []fakeserver.ToolCall{{Name: "mine_change", Arguments: json.RawMessage(`{}`)}}}
	s := fakeserver.New(t, replies(call, fakeserver.Reply{Text: "Not done."}, call, fakeserver.Reply{Text: "Done once."},
		call, fakeserver.Reply{Text: "Done twice."}, call, fakeserver.Reply{Text: "Done again."}))
	ses := newSession(t, s.URL)
	config := filepath.Join(strings.TrimPrefix(ses.env[0], "HOME="), "config", "towpath")
	if err := os.MkdirAll(config, 0o755); err != nil {
		t.Fatal(err)
	}
	server := "[servers.mine]\ncommand = \"toolserver\"\nargs = [\"{}\"]\n"
	if err := os.WriteFile(filepath.Join(config, "config.toml"), []byte(server), 0o644); err != nil {
		t.Fatal(err)
	}
	x := ses.start(80, 24, "chat")
	x.ready()
	x.types("/tools\r")
	x.sees("change() (asks you first)")
	x.ready()
	x.types("Change it\r")
	x.sees("mine change may change something: {}")
	x.types("n")
	x.sees("Not done.")
	x.ready()
	x.types("Change it now\r")
	x.seesTimes("mine change may change something: {}", 2)
	x.types("a")
	x.sees("Done once.")
	x.ready()
	x.types("Once more\r")
	x.sees("text from outside was read before the model asked for it")
	x.types("a")
	x.sees("Done twice.")
	x.ready()
	x.types("And again\r")
	x.sees("Done again.")
	x.look(func(s *screen) {
		if n := strings.Count(s.text(), "may change something"); n != 3 {
			t.Errorf("it asked %d times", n)
		}
	})
	x.ready()
	x.types("/last\r")
	x.sees("[3] mine change {}")
	x.types("\x04")
	x.exits(0)
}

// TestCallsWrittenAsTextAreFolded: what a model writes in the place of a call is
// shown as the call, and an answer that begins alike is shown as it is.
func TestCallsWrittenAsTextAreFolded(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t, replies(
		fakeserver.Reply{Text: "```json\n{\"name\": \"search-server_search\", \"arguments\": {\"query\": \"reeds\"}}\n```"},
		fakeserver.Reply{Text: "{\"an\": \"answer\"} that begins like one"}))
	ses := newSession(t, s.URL)
	if err := os.MkdirAll(filepath.Join(ses.dir, "library"), 0o755); err != nil {
		t.Fatal(err)
	}
	ses.env = append(ses.env, "TOWPATH_SEARCH_LIBRARY="+filepath.Join(ses.dir, "library"))
	x := ses.start(80, 24, "chat")
	x.ready()
	x.types("search\r")
	x.sees("{\"an\": \"answer\"} that begins like one")
	x.ready()
	x.look(func(s *screen) {
		if strings.Contains(s.text(), "arguments") || !strings.Contains(s.text(), `[1] search-server search {"query":`) {
			t.Errorf("the screen shows\n%s", s.text())
		}
	})
}

func TestWhatIsTypedMeanwhileComesNext(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	s := fakeserver.New(t, replies(fakeserver.Reply{Text: "One.", Hold: hold}, fakeserver.Reply{Text: "Two."}))
	x := newSession(t, s.URL).start(80, 24, "chat")
	x.ready()
	x.types("first\r")
	x.sees("waiting for the model")
	x.types("second\r")
	close(hold)
	x.sees("Two.")
	x.ready()
	if got := s.Chats()[1].Messages; got[len(got)-1].Content != "second" {
		t.Errorf("the second question is %q", got[len(got)-1].Content)
	}
}

// TestTerminalThatCanDoNothing: lines are read as they are, and commands work.
func TestTerminalThatCanDoNothing(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t, replies(fakeserver.Reply{Text: "An **answer**."}))
	ses := newSession(t, s.URL)
	ses.env = append(ses.env, "TERM=dumb")
	x := ses.start(80, 24, "chat")
	x.ready()
	x.types("hi\n")
	x.sees("An **answer**.\n")
	x.types("/context\n")
	x.sees("of 8,192 tokens")
	x.look(func(s *screen) {
		if s.cleared > 0 || s.coloured || len(s.odd) > 0 {
			t.Errorf("it was sent sequences: %d, %v, %q", s.cleared, s.coloured, s.odd)
		}
	})
	x.types("/exit\n")
	x.exits(0)
}

// TestChatEndsCleanlyWhenItIsTold: the terminal is given back, and the record is
// closed.
func TestChatEndsCleanlyWhenItIsTold(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t, replies(fakeserver.Reply{Text: "Half of ", Stall: true}))
	ses := newSession(t, s.URL)
	x := ses.start(80, 24, "chat")
	x.ready()
	x.types("go\r")
	x.sees("Half of")
	if err := x.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	x.sees("-chat takes this conversation up again")
	x.exits(130)
	runs, err := filepath.Glob(filepath.Join(strings.TrimPrefix(ses.env[0], "HOME="), "state", "towpath", "chat", "history", "*", "transcript.md"))
	if err != nil || len(runs) != 1 {
		t.Errorf("the record is not closed: %v, %v", runs, err)
	}
}
