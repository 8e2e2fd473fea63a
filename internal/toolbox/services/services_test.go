package services

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"towpath/internal/fakeserver"
)

type (
	script = fakeserver.Service
	ask    func(Asker, context.Context, string) (Health, error)
)

// refused asks a service of the script and expects why and mend to hold texts.
func refused(t *testing.T, question ask, s script, why, mend string) *fakeserver.ServiceServer {
	t.Helper()
	srv := fakeserver.NewService(t, s)
	h, err := question(Asker{}, t.Context(), srv.URL)
	expect(t, h, err, why, mend)
	return srv
}

func expect(t *testing.T, h Health, err error, why, mend string) {
	t.Helper()
	var not *NotReadyError
	if !errors.As(err, &not) {
		t.Fatalf("got %+v, %v", h, err)
	}
	if !strings.Contains(not.Why, why) || !strings.Contains(not.Mend, mend) {
		t.Errorf("got %q, mend %q; want %q, mend %q", not.Why, not.Mend, why, mend)
	}
	if strings.ContainsAny(err.Error(), "\x1b\n\r") {
		t.Errorf("%q is not for one line of a terminal", err)
	}
}

func TestSearXNGThatIsReady(t *testing.T) {
	t.Parallel()
	srv := fakeserver.NewService(t, script{Formats: []string{"json"}})
	h, err := Asker{}.SearXNG(t.Context(), srv.URL+"/")
	if diff := cmp.Diff(Health{Text: "answers in JSON, 10 results"}, h); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if diff := cmp.Diff([]string{"GET /search?format=json&q=wikipedia"}, srv.Asked()); diff != "" {
		t.Error(diff)
	}
}

func TestJSONThatIsNotEnabledIsNamed(t *testing.T) {
	t.Parallel()
	srv := refused(t, Asker.SearXNG, script{}, "refuses to answer in JSON (status 403)", "write json below search: formats: in its settings.yml")
	if n := len(srv.Asked()); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

func TestWebPageWhereJSONWasAskedForIsQuoted(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]script{
		"type and body": {Body: "<!DOCTYPE html>\n<html><title>Router\x1b[31m</title>"},
		"body alone":    {Type: "application/json", Body: "<!DOCTYPE html> <html>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, q := range []ask{Asker.SearXNG, Asker.Camofox} {
				refused(t, q, s, `beginning with "<!DOCTYPE html> <html>`, "check the address in ")
			}
		})
	}
}

func TestLimiterLetsCompleteHeadersThrough(t *testing.T) {
	t.Parallel()
	srv := fakeserver.NewService(t, script{Formats: []string{"json"}, Limiter: true})
	if _, err := (Asker{}).SearXNG(t.Context(), srv.URL); err != nil {
		t.Error(err)
	}
}

func TestLimiterIsNamed(t *testing.T) {
	t.Parallel()
	srv := refused(t, Asker.SearXNG, script{Formats: []string{"json"}, Blocked: true}, "its limiter holds requests back (status 429)", "limiter: false")
	if n := len(srv.Asked()); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

func TestSuspendedEnginesAreUnavailableNotNothingFound(t *testing.T) {
	t.Parallel()
	silent := [][2]string{{"brave", "Suspended: too many requests"}, {"duckduckgo", "CAPTCHA\x1b[2J"}}
	srv := refused(t, Asker.SearXNG, script{Formats: []string{"json"}, Nothing: true, Unresponsive: silent},
		"no engine gave a result: brave (Suspended: too many requests), duckduckgo (CAPTCHA [2J)", "suspended engines come back by themselves")
	if n := len(srv.Asked()); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

func TestSomeSilentEnginesAreADoubt(t *testing.T) {
	t.Parallel()
	srv := fakeserver.NewService(t, script{Formats: []string{"json"}, Unresponsive: [][2]string{{"qwant", "access denied"}}})
	h, err := Asker{}.SearXNG(t.Context(), srv.URL)
	want := Health{Text: "answers in JSON, 10 results", Doubt: "engines that gave nothing: qwant (access denied)"}
	if diff := cmp.Diff(want, h); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestSearXNGThatIsNotReady(t *testing.T) {
	t.Parallel()
	json := "application/json"
	for name, c := range map[string]struct {
		script    script
		why, mend string
	}{
		"nothing at all":    {script{Formats: []string{"json"}, Nothing: true}, `finds nothing, not even for "wikipedia"`, "enable engines"},
		"fails":             {script{Status: 502, Body: "Bad Gateway"}, `fails with status 502, and its answer begins with "Bad Gateway"`, "logs searxng"},
		"own error":         {script{Type: json, Body: `{"error": "search error"}`}, `the error "search error"`, "logs searxng"},
		"not found":         {script{Status: 404, Body: "nope"}, "something other than SearXNG is there", "search.searxng"},
		"password":          {script{Status: 401, Body: "who?"}, "asks who you are (status 401)", "no password"},
		"cut":               {script{Type: json, Body: `{"results": [`}, `no whole JSON, but something that begins with "{\"results\": ["`, "search.searxng"},
		"empty":             {script{Type: json}, "an empty answer", "search.searxng"},
		"other JSON":        {script{Type: json, Body: `{"status": "up"}`}, "something other than SearXNG is there", "search.searxng"},
		"other shape":       {script{Type: json, Body: `{"results": "many"}`}, "something other than SearXNG is there", "search.searxng"},
		"a list":            {script{Type: json, Body: `[1]`}, "something other than SearXNG is there", "search.searxng"},
		"a camofox-browser": {script{Camofox: true}, "something other than SearXNG is there", "search.searxng"},
		"endless":           {script{Type: json, Body: strings.Repeat("x", 1024), Repeat: 5 << 10}, "larger than 4 MiB", "search.searxng"},
		"round and round":   {script{Location: "/search"}, "redirects again and again", "search.searxng"},
		"drops":             {script{Drops: true}, "closed the connection before it had answered", "may still be starting"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, Asker.SearXNG, c.script, c.why, c.mend)
		})
	}
}

func TestRedirectToAnotherHostIsNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := fakeserver.NewService(t, script{Formats: []string{"json"}})
	refused(t, Asker.SearXNG, script{Location: elsewhere.URL + "/search?q=wikipedia&format=json"}, "redirects to "+elsewhere.URL+", which was not followed", "search.searxng")
	refused(t, Asker.Camofox, script{Location: elsewhere.URL + "/health"}, "which was not followed", "fetch.camofox")
	if got := elsewhere.Asked(); len(got) != 0 {
		t.Errorf("the other host was asked %q", got)
	}
}

func TestSilentServiceIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	srv := fakeserver.NewService(t, script{Silent: true})
	for _, q := range []ask{Asker.SearXNG, Asker.Camofox} {
		h, err := q(Asker{Patience: 30 * time.Millisecond}, t.Context(), srv.URL)
		expect(t, h, err, "did not answer within 30ms", "docker compose")
	}
}

func TestNothingListens(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	l.Close()
	h, err := Asker{}.SearXNG(t.Context(), address)
	expect(t, h, err, "nothing listens there", "up -d")
	var not *NotReadyError
	if errors.As(err, &not); !not.Absent {
		t.Error("it is not said to be absent")
	}
}

func TestWhatDoesNotSpeakHTTP(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write([]byte("220 mail.example ESMTP\r\n"))
			c.Close()
		}
	}()
	h, err := Asker{}.Camofox(t.Context(), "http://"+l.Addr().String())
	expect(t, h, err, "does not speak HTTP", "fetch.camofox")
	plain := fakeserver.NewService(t, script{Camofox: true})
	h, err = Asker{}.Camofox(t.Context(), strings.Replace(plain.URL, "http:", "https:", 1))
	expect(t, h, err, "does not speak https", "http://")
}

func TestCamofox(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script script
		want   Health
	}{
		"running": {script{Camofox: true}, Health{Text: "answers, its browser runs"}},
		"idle":    {script{Camofox: true, Idle: true}, Health{Text: "answers; its browser is not running and starts with the first page"}},
		"trouble": {script{Camofox: true, Failures: 3}, Health{Text: "answers, its browser runs", Doubt: "its last 3 page loads failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakeserver.NewService(t, c.script)
			h, err := Asker{}.Camofox(t.Context(), srv.URL)
			if diff := cmp.Diff(c.want, h); diff != "" || err != nil {
				t.Error(err, diff)
			}
			if diff := cmp.Diff([]string{"GET /health"}, srv.Asked()); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, c := range map[string]struct {
		script    script
		why, mend string
	}{
		"not running": {script{Camofox: true, Idle: true, Failures: 1}, "its browser is not running, and its last page load failed", "restart camofox"},
		"recovering":  {script{Camofox: true, Recovering: true}, "starting its browser again", "in a minute"},
		"warming":     {script{Camofox: true, Warming: true}, "still starting", "in a minute"},
		"not well":    {script{Type: "application/json", Body: `{"ok": false, "engine": "camoufox"}`}, "not well", "logs camofox"},
		"fails":       {script{Status: 503, Body: "no healthy upstream"}, "fails with status 503", "logs camofox"},
		"other":       {script{Type: "application/json", Body: `{"ok": true}`}, "something other than camofox-browser is there", "fetch.camofox"},
		"a SearXNG":   {script{}, "something other than camofox-browser is there: it answers with status 404", "fetch.camofox"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, Asker.Camofox, c.script, c.why, c.mend)
		})
	}
}

func TestThisMachineIsNeverReachedThroughAProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://proxy.invalid:3128")
	for _, address := range []string{"http://localhost:8090", "http://127.0.0.1:1", "http://[::1]:1", "http://LOCALHOST.:1", "http://a.localhost"} {
		r, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if u, err := proxy(r); u != nil || err != nil {
			t.Errorf("%s: %v %v", address, u, err)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add(200, `{"results": [{}], "unresponsive_engines": [["a", "b"], "c", [], [1]]}`)
	f.Add(503, `{"ok": false, "engine": "camoufox", "recovering": true}`)
	f.Add(200, "<html>\xff\x1b")
	f.Add(200, "")
	f.Fuzz(func(t *testing.T, status int, body string) {
		got := answer{status: status, body: []byte(body)}
		if _, err := readFound(got); err != nil && strings.ContainsAny(err.Error(), "\x1b\n\r\x00") {
			t.Errorf("%q", err)
		}
		for _, s := range []service{searxng, camofox} {
			if s.failed(got).Error() == "" {
				t.Error("no sentence")
			}
		}
	})
}
