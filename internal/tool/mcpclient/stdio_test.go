package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"towpath/internal/fakeserver"
	"towpath/internal/tool"
	"towpath/internal/workspace"
)

func TestBannerOnStdoutIsSurvived(t *testing.T) {
	t.Parallel()
	s := scripted(t, fakeserver.Tools{Banner: "MCP Server started\n\n\x1b[32mready\x1b[0m {\"port\": 1}\n", Chatter: true})
	if n := len(tools(t, s)); n != 11 {
		t.Errorf("%d tools", n)
	}
	if res := do(t, s, "noise", `{}`); res.Text != "quiet again" {
		t.Errorf("result %+v", res)
	}
	if res := do(t, s, "echo", `{"text":"still here"}`); res.Text != "still here" {
		t.Errorf("result %+v", res)
	}
}

func TestCancelledCallLeavesTheServerRunning(t *testing.T) {
	t.Parallel()
	s := scripted(t, fakeserver.Tools{})
	pid := do(t, s, "pid", `{}`).Text
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	began := time.Now()
	if _, err := attempt(ctx, s, "sleep", `{"ms":60000}`); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("giving up took %s", took)
	}
	until(t, "the cancellation", 5*time.Second, func() bool { return do(t, s, "cancelled", `{}`).Text != "" })
	if again := do(t, s, "pid", `{}`).Text; again != pid {
		t.Errorf("the server was %s and is %s", pid, again)
	}
}

func TestServerThatDiesInMidCallIsAnError(t *testing.T) {
	t.Parallel()
	var n notes
	s := scripted(t, fakeserver.Tools{}, func(c *Config) { c.Note = n.add })
	pid := do(t, s, "pid", `{}`).Text
	_, err := attempt(t.Context(), s, "die", `{}`)
	var unsent *tool.NotSentError
	want := "the server box ended during the call of die: exit status 7; it said: panic: out of luck"
	if err == nil || err.Error() != want || errors.As(err, &unsent) {
		t.Errorf("error %v\nwant  %s", err, want)
	}
	if again := do(t, s, "pid", `{}`).Text; again == pid {
		t.Error("the server was not started again")
	}
	if !strings.Contains(n.all(), "is started again: exit status 7") {
		t.Errorf("notes %q", n.all())
	}
}

func TestServerThatKeepsDyingIsNotStartedForever(t *testing.T) {
	t.Parallel()
	s := scripted(t, fakeserver.Tools{}, func(c *Config) { c.Restarts = 2 })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := attempt(t.Context(), s, "die", `{}`); err == nil || !strings.Contains(err.Error(), "ended during the call") {
			t.Errorf("error %v", err)
		}
	}
	_, err := attempt(t.Context(), s, "echo", `{}`)
	var unsent *tool.NotSentError
	if !errors.As(err, &unsent) || !strings.Contains(err.Error(), "the server box ended 3 times in a row and is not started again") {
		t.Errorf("error %v", err)
	}
}

func TestEveryCallSettlesWhenItsServerDies(t *testing.T) {
	t.Parallel()
	s := scripted(t, fakeserver.Tools{})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := attempt(t.Context(), s, "sleep", `{"ms":60000}`); err == nil {
				t.Error("a call of a dead server gave a result")
			}
		})
	}
	all.Go(func() { _, _ = attempt(t.Context(), s, "die", `{}`) })
	all.Wait()
}

func TestProgressExtendsTheTimeoutUpToACap(t *testing.T) {
	t.Parallel()
	s := scripted(t, fakeserver.Tools{}, func(c *Config) {
		c.Timeouts.Call, c.Timeouts.Most = 700*time.Millisecond, 3*time.Second
	})
	if res := do(t, s, "progress", `{"times":6,"ms":300}`); res.Text != "done" {
		t.Errorf("result %+v", res)
	}
	for _, c := range []struct{ name, args, want string }{
		{"sleep", `{"ms":20000}`, "sleep of the server box gave no answer and no sign of progress within 700ms, and was cancelled; if it needs longer, set servers.box.call_timeout"},
		{"progress", `{"times":1000,"ms":100}`, "progress of the server box was cancelled after 3s, the most that a call may take; servers.box.call_limit sets that"},
	} {
		if _, err := attempt(t.Context(), s, c.name, c.args); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v\nwant  %s", c.name, err, c.want)
		}
	}
	if res := do(t, s, "echo", `{"text":"a"}`); res.Text != "a" {
		t.Errorf("after that: %+v", res)
	}
}

func TestServerThatReadsNothingEndsAtTheTimeout(t *testing.T) {
	t.Parallel()
	s := scripted(t, fakeserver.Tools{Deaf: true}, func(c *Config) { c.Timeouts.Call = 500 * time.Millisecond })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	args := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 1<<20)) // more than a pipe holds
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := attempt(t.Context(), s, "echo", args); err == nil || !strings.Contains(err.Error(), "no answer") {
				t.Errorf("error %v", err)
			}
		})
	}
	all.Wait()
}

func TestLongLinesAreRead(t *testing.T) {
	t.Parallel()
	s := scripted(t, fakeserver.Tools{})
	for _, size := range []int{70_000, 5 << 20, 20 << 20} {
		if res := do(t, s, "big", fmt.Sprintf(`{"bytes":%d}`, size)); len(res.Text) != size {
			t.Errorf("of %d bytes %d came", size, len(res.Text))
		}
		if res := do(t, s, "echo", `{"text":"small"}`); res.Text != "small" {
			t.Errorf("after %d bytes: %+v", size, res)
		}
	}
}

func TestLineOverTheMostFailsItsCallAlone(t *testing.T) {
	t.Parallel()
	s := scripted(t, fakeserver.Tools{})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var other sync.WaitGroup
	other.Go(func() {
		if res := do(t, s, "sleep", `{"ms":3000}`); res.Text != "slept" {
			t.Errorf("a call beside it gave %+v", res)
		}
	})
	res := do(t, s, "big", fmt.Sprintf(`{"bytes":%d}`, maxMessage+1))
	if !res.IsError || !strings.Contains(res.Text, "more than the 67108864 that are read") {
		t.Errorf("result of %d bytes: %.200s", len(res.Text), res.Text)
	}
	if res := do(t, s, "echo", `{"text":"small"}`); res.Text != "small" {
		t.Errorf("after that: %+v", res)
	}
	other.Wait()
}

func TestVersionIsNegotiated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		script fakeserver.Tools
		want   string
	}{
		{"newest with a handshake", fakeserver.Tools{}, "2025-11-25"},
		{"oldest alone", fakeserver.Tools{Versions: []string{"2024-11-05"}}, "2024-11-05"},
		{"an older one", fakeserver.Tools{Versions: []string{"2024-11-05", "2025-06-18"}}, "2025-06-18"},
		{"strict about versions", fakeserver.Tools{Versions: []string{"2024-11-05", "2025-03-26"}, Strict: "Unsupported protocol version"}, "2025-03-26"},
		{"both eras", fakeserver.Tools{Modern: true}, "2026-07-28"},
		{"without a handshake alone", fakeserver.Tools{Modern: true, NoShake: true}, "2026-07-28"},
		{"silent at the question", fakeserver.Tools{SilentAtDiscover: true}, "2025-11-25"},
		{"dies of the question", fakeserver.Tools{DiesAtDiscover: true}, "2025-11-25"},
		{"too slow for the question", fakeserver.Tools{Modern: true, NoShake: true, Delay: 2000}, "2026-07-28"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := scripted(t, c.script)
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if name, version, protocol := s.About(); name != "scripted" || version != "1" || protocol != c.want {
				t.Errorf("server %q %q, protocol %q, want %q", name, version, protocol, c.want)
			}
			if res := do(t, s, "echo", `{"text":"a"}`); res.Text != "a" {
				t.Errorf("result %+v", res)
			}
		})
	}
}

func TestUnknownVersionIsSaid(t *testing.T) {
	t.Parallel()
	s := scripted(t, fakeserver.Tools{Versions: []string{"1999-01-01"}})
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "1999-01-01") {
		t.Errorf("error %v", err)
	}
}

func TestSlowStartIsWaitedForAndItsTimeoutShowsWhatWasSaid(t *testing.T) {
	t.Parallel()
	t.Run("slow", func(t *testing.T) {
		t.Parallel()
		s := scripted(t, fakeserver.Tools{Delay: 3000}) // longer than the question for the newer protocol waits
		if n := len(tools(t, s)); n != 11 {
			t.Errorf("%d tools", n)
		}
	})
	t.Run("too slow", func(t *testing.T) {
		t.Parallel()
		s := server(t, func(c *Config) {
			c.Command, c.Args = "sh", []string{"-c", "echo 'npm warn deprecated glob@7' >&2; echo 'building native addon' >&2; sleep 600"}
			c.Timeouts.Start = 1500 * time.Millisecond
		})
		err := s.Start(t.Context())
		want := "the server box did not answer within 1.5s of its start; it said: npm warn deprecated glob@7 | building native addon; if it needs longer, set servers.box.start_timeout"
		if err == nil || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
	})
	t.Run("never answers", func(t *testing.T) {
		t.Parallel()
		s := scripted(t, fakeserver.Tools{Silent: true}, func(c *Config) { c.Timeouts.Start = 1500 * time.Millisecond })
		if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "did not answer within 1.5s") {
			t.Errorf("error %v", err)
		}
	})
}

func TestServerThatDoesNotStartSaysWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		edit       func(*Config)
	}{
		{"no such command", `the server box: the command "no-such-server" cannot be started: it is not in PATH; install it, or give its whole path`,
			func(c *Config) { c.Command = "no-such-server" }},
		{"no such file", `the server box: the command "./server" cannot be started: no such file or directory; install it, or give its whole path`,
			func(c *Config) { c.Command = "./server" }},
		{"a folder", `the command "/" cannot be started: it is a folder`, func(c *Config) { c.Command = "/" }},
		{"dies", "the server box did not start: exit status 3; it said: TypeError: no token (hidden) set",
			func(c *Config) {
				c.Command, c.Args = own(t), []string{scriptedArg, `{"Dies":"TypeError: no token s3cr3t set"}`}
				c.Hide = strings.NewReplacer("s3cr3t", "(hidden)").Replace
			}},
		{"ends at once", "the server box did not start: it ended by itself", func(c *Config) { c.Command = "true" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := server(t, c.edit).Start(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
}

func TestToolsOfEveryPageAreListedAgainAfterAChange(t *testing.T) {
	t.Parallel()
	s := scripted(t, fakeserver.Tools{More: 200, Page: 20})
	if n := len(tools(t, s)); n != 211 {
		t.Errorf("%d tools, want 211", n)
	}
	do(t, s, "change", `{}`)
	until(t, "the new tool", 5*time.Second, func() bool {
		now := tools(t, s)
		return len(now) == 211 && now["new1"] != nil && now["echo"] == nil && now["more200"] != nil
	})
}

func TestPagesWithoutEndEnd(t *testing.T) {
	t.Parallel()
	var n notes
	s := scripted(t, fakeserver.Tools{More: 10, Page: 5, Circular: true}, func(c *Config) { c.Note = n.add })
	if got := len(tools(t, s)); got != 21 {
		t.Errorf("%d tools, want 21", got)
	}
	if !strings.Contains(n.all(), "the same page of its tools again and again") {
		t.Errorf("notes %q", n.all())
	}
}

func TestToolThatIsGoneIsSaidWithThoseThatAreThere(t *testing.T) {
	t.Parallel()
	s := scripted(t, fakeserver.Tools{List: []string{`{"name":"read_file","inputSchema":{"type":"object"}}`, `{"name":"list","inputSchema":{"type":"object"}}`}})
	_, err := tool.Open(t.Context(), []workspace.ToolGrant{{Server: "box", Tools: []string{"read_text"}, Line: 9}}, []tool.Server{s})
	want := `line 9: there is no tool "read_text" on "box"; did you mean "read_file"? There is: read_file, list`
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
	res := do(t, s, "gone", `{}`)
	if !res.IsError || !strings.Contains(res.Text, "Unknown tool: gone") {
		t.Errorf("result %+v", res)
	}
}

func TestToolsAreDescribedAsTheirServerDoes(t *testing.T) {
	t.Parallel()
	var n notes
	schema := `{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"$defs":{"x":{}},"required":["z"]}`
	s := scripted(t, fakeserver.Tools{List: []string{
		`{"name":"plain","inputSchema":` + schema + `}`,
		`{"name":"reads","title":"Reads","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}`,
		`{"name":"adds","annotations":{"title":"Adds","destructiveHint":false,"idempotentHint":true},"inputSchema":{"type":"object"}}`,
		`{"name":"plain","inputSchema":{"type":"object"}}`,
		`{"name":7,"inputSchema":{"type":"object"}}`,
		`{"name":"","inputSchema":{"type":"object"}}`,
		`{"name":"bare"}`,
	}}, func(c *Config) { c.Note = n.add })
	got := tools(t, s)
	if len(got) != 4 {
		t.Fatalf("%d tools; notes %s", len(got), n.all())
	}
	plain, reads, adds := got["plain"].Spec(), got["reads"].Spec(), got["adds"].Spec()
	if string(plain.Input) != schema {
		t.Errorf("schema %s\nwant   %s", plain.Input, schema)
	}
	if plain.ReadOnly || !plain.Destructive || plain.Idempotent {
		t.Errorf("a tool that says nothing is %+v", plain)
	}
	if !reads.ReadOnly || reads.Destructive || reads.Title != "Reads" {
		t.Errorf("a tool that reads is %+v", reads)
	}
	if adds.ReadOnly || adds.Destructive || !adds.Idempotent || adds.Title != "Adds" {
		t.Errorf("a tool that adds is %+v", adds)
	}
	if string(got["bare"].Spec().Input) != `{"type":"object"}` {
		t.Errorf("schema %s", got["bare"].Spec().Input)
	}
	for _, want := range []string{`lists the tool "plain" twice`, "a tool is left out: its description cannot be read", "a tool is left out: it has no name"} {
		if !strings.Contains(n.all(), want) {
			t.Errorf("no note says %q: %s", want, n.all())
		}
	}
}

func TestServerGetsNoSecretsOfTheUser(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/usr/bin:/bin", "HOME=/home/a", "LANG=uk_UA.UTF-8", "LC_TIME=C", "TMPDIR=/tmp", "OPENAI_API_KEY=sk-1", "AWS_SECRET_ACCESS_KEY=x", "SSH_AUTH_SOCK=/s", "LD_PRELOAD=/x.so"}
	s := scripted(t, fakeserver.Tools{}, func(c *Config) { c.Env = Environment(environ, map[string]string{"TOKEN": "for you", "HOME": "/srv"}) })
	got := strings.Split(do(t, s, "env", `{}`).Text, "\n")
	slices.Sort(got)
	want := []string{"HOME=/srv", "LANG=uk_UA.UTF-8", "LC_TIME=C", "PATH=/usr/bin:/bin", "TMPDIR=/tmp", "TOKEN=for you"}
	if !slices.Equal(got, want) {
		t.Errorf("environment %q\nwant        %q", got, want)
	}
}

func TestClosedServerIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	s := scripted(t, fakeserver.Tools{})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	in := make(chan error)
	go func() {
		_, err := attempt(t.Context(), s, "sleep", `{"ms":60000}`)
		in <- err
	}()
	until(t, "the call", 5*time.Second, func() bool {
		l := s.current()
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.tokens > 0
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-in; err == nil || !strings.Contains(err.Error(), "the server box was stopped") {
		t.Errorf("the call in flight: %v", err)
	}
	if _, err := attempt(t.Context(), s, "echo", `{}`); err == nil || !strings.Contains(err.Error(), "the server box was stopped") {
		t.Errorf("a later call: %v", err)
	}
}
