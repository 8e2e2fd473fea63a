package cli

import (
	"strings"
	"testing"
	"time"

	"towpath/internal/journal"
)

func TestTextIsCutToColumns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in      string
		columns int
		want    string
	}{
		{"short", 10, "short"},
		{"exactly ten", 11, "exactly ten"},
		{"a longer text", 10, "a longe..."},
		{"日本語のテキスト", 9, "日本語..."},
		{"Вхідні дані", 8, "Вхідн..."},
		{"x", 0, "x"},
	} {
		if got := clip(c.in, c.columns); got != c.want || columnsOfText(got) > max(c.columns, 4) {
			t.Errorf("clip(%q, %d) = %q, want %q", c.in, c.columns, got, c.want)
		}
	}
}

func TestControlCharactersDoNotReachTheTerminal(t *testing.T) {
	t.Parallel()
	evil := "a\x1b[2Jb\x07c\u202ed\r\ne"
	for name, got := range map[string]string{"clean": clean(evil), "oneLine": oneLine(evil)} {
		if strings.ContainsAny(got, "\x1b\x07\r\n\u202e") {
			t.Errorf("%s lets %q through", name, got)
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1034: "1,034", 1234567: "1,234,567", -1234: "-1,234"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 400 * time.Millisecond: "0.4s", 12 * time.Second: "12s", 185 * time.Second: "3m05s", 62 * time.Minute: "1h02m",
	} {
		if got := short(d); got != want {
			t.Errorf("short(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestPathsAreQuotedForAShell(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"my-course": "my-course", "my course": "'my course'", "it's": `'it'\''s'`, "курс": "курс"} {
		if got := quoted(in); got != want {
			t.Errorf("quoted(%q) = %q, want %q", in, got, want)
		}
	}
}

// watch is a progress off a terminal with a clock of the test's own.
type watch struct {
	*progress
	out strings.Builder
	now time.Time
}

func newWatch(t *testing.T, tty bool) *watch {
	t.Helper()
	w := &watch{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	w.progress = &progress{w: &w.out, tty: tty, wide: func() int { return 40 }, clock: func() time.Time { return w.now },
		shown: func(s string) string { return s }}
	return w
}

func TestLongCallsShowAHeartbeatOffATerminal(t *testing.T) {
	t.Parallel()
	w := newWatch(t, false)
	w.observe(journal.Event{Type: journal.ModelCall, Stage: "01-scope", Request: &journal.Request{Purpose: "turn"}})
	for range 40 {
		w.now = w.now.Add(time.Second)
		w.draw()
	}
	want := "01-scope: model: waiting for the first word, 15s\n01-scope: model: waiting for the first word, 30s\n"
	if got := w.out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestStatusLineFitsANarrowTerminal(t *testing.T) {
	t.Parallel()
	w := newWatch(t, true)
	w.observe(journal.Event{Type: journal.ModelCall, Stage: "04-a-stage-with-a-long-name", Item: 3, Of: 12, Request: &journal.Request{}})
	for _, line := range strings.Split(strings.ReplaceAll(w.out.String(), "\x1b[2K", ""), "\r") {
		if n := columnsOfText(bare(line)); n > 39 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

func TestAFailureIsSaidOnce(t *testing.T) {
	t.Parallel()
	w := newWatch(t, false)
	w.observe(journal.Event{Type: journal.ModelReply, Stage: "01-scope", Reply: &journal.Reply{Error: "it broke"}})
	w.observe(journal.Event{Type: journal.Exit, Stage: "01-scope", Exit: &journal.Exited{How: "failed", Reason: "it broke"}})
	if got := w.out.String(); got != "" {
		t.Errorf("the progress says %q, and the end says it too", got)
	}
	w.observe(journal.Event{Type: journal.ModelReply, Stage: "01-scope", Reply: &journal.Reply{Error: "it broke"}})
	w.observe(journal.Event{Type: journal.ModelCall, Stage: "01-scope", Request: &journal.Request{}})
	if got := w.out.String(); got != "01-scope: it broke\n" {
		t.Errorf("got %q", got)
	}
}

func TestLinesBreakAtBlanks(t *testing.T) {
	t.Parallel()
	got := wrap("review gate: read and edit ws/a-long-path-of-its-own.md, then go on", 24)
	want := "review gate: read and\n  edit\n  ws/a-long-path-of-its-own.md,\n  then go on"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := wrap("a\n\nb c", 80); got != "a\n\nb c" {
		t.Errorf("got %q", got)
	}
}

// TestServersCannotSteerTheTerminal: what a server says of a failure is shown
// while a run waits, and names are shown in tables; neither moves the cursor,
// sets the title or colours what follows.
func TestServersCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	evil := "\x1b[31mboom\x1b]0;title\x07 \x1b[2J\u009b2J\u202e"
	for _, tty := range []bool{false, true} {
		w := newWatch(t, tty)
		w.typed = same
		w.observe(journal.Event{Type: journal.Waiting, Stage: "01-" + evil, Note: evil})
		w.observe(journal.Event{Type: journal.Notice, Stage: "01-" + evil, Note: evil})
		w.observe(journal.Event{Type: journal.ItemEnded, Stage: "01-" + evil, Ended: &journal.Ended{Error: evil}})
		got := strings.ReplaceAll(strings.ReplaceAll(w.out.String(), "\r\x1b[2K", ""), "\x1b[2m", "")
		got = strings.ReplaceAll(got, "\x1b[0m", "")
		if !strings.Contains(got, "boom") || strings.ContainsAny(got, "\x1b\x07\u009b\u202e") {
			t.Errorf("terminal %v: shows %q", tty, got)
		}
	}
	if got := (style{}).safe("a" + evil + "\tb\nc"); got != "a[31mboom]0;title [2J2J\tb\nc" {
		t.Errorf("safe without colours gives %q", got)
	}
	on := style{on: true}
	if got := on.safe(on.bold("x") + "\x1b[8m" + evil); got != "\x1b[1mx\x1b[0m[8m\x1b[31mboom]0;title [2J2J" {
		t.Errorf("safe with colours gives %q", got)
	}
}
