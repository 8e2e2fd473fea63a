package mcpclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"towpath/internal/fakeserver"
	"towpath/internal/tool"
)

// over makes a server that is reached over HTTP.
func over(t testing.TB, url string, edit ...func(*Config)) *Server {
	t.Helper()
	return server(t, append([]func(*Config){func(c *Config) { c.URL = url }}, edit...)...)
}

func refusing(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { http.Error(w, body, status) }
}

func TestServerErrorOverHTTPIsAToolError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer func(http.ResponseWriter)
		want   string
	}{
		{"500", refusing(500, "boom"), "echo failed: the server answered 500 Internal Server Error: boom (whether the call was carried out is not known)"},
		{"503", refusing(503, ""), "echo failed: the server answered 503 Service Unavailable"},
		{"400", refusing(400, "<html>no\nway</html>"), "echo failed: the server answered 400 Bad Request: <html>no way</html>"},
		{"413 in JSON", func(w http.ResponseWriter) {
			w.WriteHeader(413)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"too large"}}`)
		}, "the server refused the call: too large (-32000)"},
		{"a page", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<h1>Log in</h1>")
		}, `echo failed: the server answered 200 OK of the kind "text/html", which is no answer to a call: <h1>Log in</h1>`},
		{"broken JSON", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":`)
		}, `echo failed: the server answered with something else than a result: {"jsonrpc":"2.0","id":`},
		{"nothing", func(w http.ResponseWriter) { w.WriteHeader(202) }, `echo failed: the server answered 202 Accepted of the kind ""`},
		{"a stream without an answer", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ": hello\n\ndata: nonsense\n\nevent: ping\ndata: {}\n\n")
		}, "request terminated without response"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fake := fakeserver.NewToolServer(t, fakeserver.Tools{})
			var bad atomic.Bool
			fake.Before = func(w http.ResponseWriter, _ *http.Request, _ int, method string) bool {
				if method == "tools/call" && bad.Load() {
					c.answer(w)
					return true
				}
				return false
			}
			s := over(t, fake.URL)
			bad.Store(true)
			res, err := attempt(t.Context(), s, "echo", `{"text":"a"}`)
			if err != nil {
				res = tool.Result{IsError: true, Text: err.Error()}
			}
			if !res.IsError || !strings.Contains(res.Text, c.want) {
				t.Errorf("result %+v, error %v\nwant  %s", res, err, c.want)
			}
			bad.Store(false)
			if res := do(t, s, "echo", `{"text":"a"}`); res.Text != "a" {
				t.Errorf("after that: %+v", res)
			}
		})
	}
}

func TestEveryCallSettlesWhenTheServerKeepsFailing(t *testing.T) {
	t.Parallel()
	fake := fakeserver.NewToolServer(t, fakeserver.Tools{})
	var failures atomic.Int32
	fake.Before = func(w http.ResponseWriter, _ *http.Request, _ int, method string) bool {
		if method == "tools/call" && failures.Add(1) <= 5 {
			http.Error(w, "bad gateway", 502)
			return true
		}
		return false
	}
	s := over(t, fake.URL)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var good, bad atomic.Int32
	for range 8 {
		all.Go(func() {
			res, err := attempt(t.Context(), s, "echo", `{"text":"a"}`)
			switch {
			case err != nil:
				t.Errorf("error %v", err)
			case res.IsError && strings.Contains(res.Text, "502 Bad Gateway"):
				bad.Add(1)
			case res.Text == "a":
				good.Add(1)
			}
		})
	}
	all.Wait()
	if good.Load() != 3 || bad.Load() != 5 {
		t.Errorf("%d calls were good and %d bad, want 3 and 5", good.Load(), bad.Load())
	}
}

func TestEveryCallHasACeilingOverHTTP(t *testing.T) {
	t.Parallel()
	fake := fakeserver.NewToolServer(t, fakeserver.Tools{})
	fake.Before = func(w http.ResponseWriter, r *http.Request, _ int, method string) bool {
		if method != "tools/call" {
			return false
		}
		if r.Header.Get("X-Drip") != "" { // an answer that never ends
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
		return true
	}
	for _, headers := range []map[string]string{nil, {"X-Drip": "1"}} {
		s := over(t, fake.URL, func(c *Config) {
			c.Timeouts.Call = 400 * time.Millisecond
			c.Headers = func() (map[string]string, error) { return headers, nil }
		})
		began := time.Now()
		if _, err := attempt(t.Context(), s, "echo", `{}`); err == nil || !strings.Contains(err.Error(), "no answer and no sign of progress within 400ms") {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %s", took)
		}
	}
}

func TestRefusedStreamIsNoStream(t *testing.T) {
	t.Parallel()
	for _, answer := range []func(http.ResponseWriter){
		refusing(400, "no"), refusing(404, "no"), refusing(405, "no"), refusing(501, "no"),
		func(w http.ResponseWriter) { fmt.Fprint(w, "hello") },
		func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }, // ends at once
	} {
		fake := fakeserver.NewToolServer(t, fakeserver.Tools{})
		asked := make(chan struct{}, 100)
		fake.Before = func(w http.ResponseWriter, r *http.Request, _ int, _ string) bool {
			if r.Method != http.MethodGet {
				return false
			}
			answer(w)
			asked <- struct{}{}
			return true
		}
		s := over(t, fake.URL)
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-asked
		if res := do(t, s, "echo", `{"text":"a"}`); res.Text != "a" {
			t.Errorf("result %+v", res)
		}
	}
}

func TestStreamThatNeverAnswersDelaysNothing(t *testing.T) {
	t.Parallel()
	fake := fakeserver.NewToolServer(t, fakeserver.Tools{})
	fake.Before = func(_ http.ResponseWriter, r *http.Request, _ int, _ string) bool {
		if r.Method == http.MethodGet {
			<-r.Context().Done()
			return true
		}
		return false
	}
	s := over(t, fake.URL)
	began := time.Now()
	if res := do(t, s, "echo", `{"text":"a"}`); res.Text != "a" || time.Since(began) > 5*time.Second {
		t.Errorf("result %+v after %s", res, time.Since(began))
	}
}

func TestChangeIsHeardOverTheStream(t *testing.T) {
	t.Parallel()
	fake := fakeserver.NewToolServer(t, fakeserver.Tools{})
	tell := make(chan struct{})
	fake.Before = func(w http.ResponseWriter, r *http.Request, _ int, _ string) bool {
		if r.Method != http.MethodGet {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-tell
		fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
		return true
	}
	s := over(t, fake.URL)
	if tools(t, s)["echo"] == nil {
		t.Error("there is no echo")
	}
	do(t, s, "change", `{}`)
	close(tell)
	until(t, "the new tool", 5*time.Second, func() bool { return tools(t, s)["new1"] != nil })
}

func TestLostSessionIsMadeAgain(t *testing.T) {
	t.Parallel()
	fake := fakeserver.NewToolServer(t, fakeserver.Tools{})
	var n notes
	s := over(t, fake.URL, func(c *Config) { c.Note = n.add })
	tools(t, s)
	fake.Forget()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if res := do(t, s, "echo", `{"text":"a"}`); res.Text != "a" {
				t.Errorf("result %+v", res)
			}
		})
	}
	all.Wait()
	fake.Forget()
	if len(tools(t, s)) != 11 {
		t.Error("the tools were not listed again")
	}
	if !strings.Contains(n.all(), "the server box forgot the session; a new one is made") {
		t.Errorf("notes %q", n.all())
	}
}

func TestServerThatForgetsEverySessionIsAnError(t *testing.T) {
	t.Parallel()
	fake := fakeserver.NewToolServer(t, fakeserver.Tools{})
	fake.Before = func(_ http.ResponseWriter, _ *http.Request, _ int, method string) bool {
		if method == "tools/call" {
			fake.Forget()
		}
		return false
	}
	s := over(t, fake.URL)
	if _, err := attempt(t.Context(), s, "echo", `{}`); err == nil || !strings.Contains(err.Error(), "forgot the session again") {
		t.Errorf("error %v", err)
	}
}

func TestRefusedTokenIsReadAgain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	var valid atomic.Value
	valid.Store("Bearer one")
	fake := fakeserver.NewToolServer(t, fakeserver.Tools{})
	fake.Before = func(w http.ResponseWriter, r *http.Request, _ int, _ string) bool {
		if r.Header.Get("Authorization") == valid.Load() {
			return false
		}
		http.Error(w, "expired", 401)
		return true
	}
	s := over(t, fake.URL, func(c *Config) {
		c.Headers = func() (map[string]string, error) {
			b, err := os.ReadFile(file)
			return map[string]string{"Authorization": "Bearer " + string(b)}, err
		}
	})
	for range 2 {
		if res := do(t, s, "echo", `{"text":"a"}`); res.Text != "a" {
			t.Errorf("result %+v", res)
		}
	}
	valid.Store("Bearer two")
	write("two")
	if res := do(t, s, "echo", `{"text":"b"}`); res.Text != "b" {
		t.Errorf("with a new token: %+v", res)
	}
	valid.Store("Bearer three")
	res := do(t, s, "echo", `{"text":"b"}`)
	if !res.IsError || !strings.Contains(res.Text, "the server answered 401 Unauthorized; set servers.box.token_file or servers.box.headers") {
		t.Errorf("with a wrong token: %+v", res)
	}
	write("three")
	if res := do(t, s, "echo", `{"text":"c"}`); res.Text != "c" {
		t.Errorf("with the right token again: %+v", res)
	}
}

func TestHeadersStayWithTheirHost(t *testing.T) {
	t.Parallel()
	var leaked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked.Add(1)
		t.Errorf("another host got a request with %v", r.Header)
	}))
	t.Cleanup(other.Close)
	fake := fakeserver.NewToolServer(t, fakeserver.Tools{})
	var away atomic.Bool
	fake.Before = func(w http.ResponseWriter, r *http.Request, _ int, _ string) bool {
		if r.Header.Get("X-Api-Key") != "k" {
			t.Errorf("the server got %v", r.Header)
		}
		if away.Load() && r.Method == http.MethodPost {
			http.Redirect(w, r, other.URL+"/mcp", http.StatusTemporaryRedirect)
			return true
		}
		return false
	}
	s := over(t, fake.URL, func(c *Config) {
		c.Headers = func() (map[string]string, error) {
			return map[string]string{"X-Api-Key": "k", "Authorization": "Bearer k"}, nil
		}
	})
	do(t, s, "echo", `{}`)
	away.Store(true)
	_, err := attempt(t.Context(), s, "echo", `{}`)
	if err == nil || !strings.Contains(err.Error(), "it sends on to another address, "+other.URL+"/mcp;") {
		t.Errorf("error %v", err)
	}
	if leaked.Load() != 0 {
		t.Errorf("%d requests went to another host", leaked.Load())
	}
}

func TestVersionIsNegotiatedOverHTTP(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		script fakeserver.Tools
		before func(http.ResponseWriter, *http.Request, int, string) bool
		want   string
	}{
		{"oldest alone", fakeserver.Tools{Versions: []string{"2024-11-05"}}, nil, "2024-11-05"},
		{"refused with a list", fakeserver.Tools{Versions: []string{"2025-03-26", "2025-06-18"}},
			func(w http.ResponseWriter, r *http.Request, _ int, method string) bool {
				if v := r.Header.Get("Mcp-Protocol-Version"); method == "initialize" && r.Header.Get("X-Try") == "" || v == "2025-11-25" {
					// what is asked for stands in the body alone; the first try is refused
					http.Error(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Unsupported protocol version (supported versions: 2025-06-18, 2025-03-26)"}}`, 400)
					return true
				}
				return false
			}, "2025-06-18"},
		{"no answer to the question", fakeserver.Tools{}, func(_ http.ResponseWriter, r *http.Request, _ int, method string) bool {
			if method == "server/discover" {
				<-r.Context().Done()
				return true
			}
			return false
		}, "2025-11-25"},
		{"an error page for the question", fakeserver.Tools{}, func(w http.ResponseWriter, _ *http.Request, _ int, method string) bool {
			if method == "server/discover" {
				http.Error(w, "what?", 500)
				return true
			}
			return false
		}, "2025-11-25"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fake := fakeserver.NewToolServer(t, c.script)
			if c.name == "refused with a list" {
				var tries atomic.Int32
				refuse := c.before
				c.before = func(w http.ResponseWriter, r *http.Request, n int, method string) bool {
					return method == "initialize" && tries.Add(1) == 1 && refuse(w, r, n, method)
				}
			}
			fake.Before = c.before
			s := over(t, fake.URL)
			if res := do(t, s, "echo", `{"text":"a"}`); res.Text != "a" {
				t.Errorf("result %+v", res)
			}
			if _, _, protocol := s.About(); protocol != c.want {
				t.Errorf("protocol %q, want %q", protocol, c.want)
			}
		})
	}
}

func TestServerThatIsNotThereIsSaid(t *testing.T) {
	t.Parallel()
	s := over(t, "http://127.0.0.1:9/mcp?key=secret")
	err := s.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the server box at http://127.0.0.1:9/mcp cannot be used:") || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
	if err := over(t, "ftp://127.0.0.1/").Start(t.Context()); err == nil || !strings.Contains(err.Error(), `its url "ftp://127.0.0.1/" is no http address`) {
		t.Errorf("error %v", err)
	}
	_, err = attempt(t.Context(), s, "echo", `{}`)
	var unsent *tool.NotSentError
	if !errors.As(err, &unsent) {
		t.Errorf("a call that was never sent gave %v", err)
	}
}

func TestBigAnswersOverHTTP(t *testing.T) {
	t.Parallel()
	fake := fakeserver.NewToolServer(t, fakeserver.Tools{})
	fake.Before = func(w http.ResponseWriter, r *http.Request, _ int, method string) bool {
		if method == "tools/call" && r.Header.Get("X-Stream") != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"")
			chunk := []byte(strings.Repeat("x", 1<<20))
			for range maxMessage>>20 + 1 {
				w.Write(chunk)
			}
			fmt.Fprint(w, "\"}]}}\n\n")
			return true
		}
		return false
	}
	s := over(t, fake.URL)
	if res := do(t, s, "big", fmt.Sprintf(`{"bytes":%d}`, 20<<20)); len(res.Text) != 20<<20 {
		t.Errorf("of 20 MiB %d bytes came", len(res.Text))
	}
	if res := do(t, s, "big", fmt.Sprintf(`{"bytes":%d}`, maxMessage+1)); !res.IsError || !strings.Contains(res.Text, "more than the 67108864 bytes that are read") {
		t.Errorf("result %.200s", res.Text)
	}
	streaming := over(t, fake.URL, func(c *Config) {
		c.Headers = func() (map[string]string, error) { return map[string]string{"X-Stream": "1"}, nil }
	})
	if res := do(t, streaming, "big", `{"bytes":1}`); !res.IsError || !strings.Contains(res.Text, "more than the 67108864 bytes that are read") {
		t.Errorf("result %.200s", res.Text)
	}
}
