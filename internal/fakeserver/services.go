package fakeserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Service is the script of a server that a person runs beside the program. The
// zero Service is a SearXNG as it is installed: it finds ten things, and refuses
// to say so in JSON.
type Service struct {
	Camofox bool `json:"camofox,omitempty"` // it is a camofox-browser

	// Of SearXNG.
	Formats      []string    `json:"formats,omitempty"`      // that it answers in besides html
	Limiter      bool        `json:"limiter,omitempty"`      // it turns clients away whose headers look like a bot's
	Blocked      bool        `json:"blocked,omitempty"`      // its limiter has seen enough of the client
	Nothing      bool        `json:"nothing,omitempty"`      // it finds nothing
	Unresponsive [][2]string `json:"unresponsive,omitempty"` // engines with their reasons

	// Of camofox-browser.
	Idle       bool `json:"idle,omitempty"` // no browser runs
	Recovering bool `json:"recovering,omitempty"`
	Warming    bool `json:"warming,omitempty"`
	Failures   int  `json:"failures,omitempty"` // page loads in a row

	// Of something that is neither, in place of everything above.
	Status   int    `json:"status,omitempty"`
	Type     string `json:"type,omitempty"`
	Body     string `json:"body,omitempty"`
	Repeat   int    `json:"repeat,omitempty"` // how often the body comes, 1 where 0
	Location string `json:"location,omitempty"`
	Silent   bool   `json:"silent,omitempty"` // sends nothing until the client is gone
	Drops    bool   `json:"drops,omitempty"`  // closes the connection without an answer
}

// ServiceServer is a running Service. It is safe for use by several goroutines.
type ServiceServer struct {
	URL string

	script Service
	http   *http.Server
	stop   context.CancelFunc
	mu     sync.Mutex
	asked  []string
}

// NewService starts a service that ends with the test.
func NewService(t TB, s Service) *ServiceServer {
	t.Helper()
	srv, err := StartService(s)
	if err != nil {
		t.Fatalf("starting the scripted service: %v", err)
	}
	t.Cleanup(srv.Close)
	return srv
}

// StartService starts a service on a free port of 127.0.0.1. Close ends it.
func StartService(s Service) (*ServiceServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	srv := &ServiceServer{URL: "http://" + l.Addr().String(), script: s, stop: stop}
	srv.http = &http.Server{Handler: srv, ReadHeaderTimeout: 30 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	go srv.http.Serve(l)
	return srv, nil
}

// Close ends the service and every request in flight.
func (s *ServiceServer) Close() {
	s.stop()
	s.http.Close()
}

// Asked lists the requests so far: method, a space, path and query.
func (s *ServiceServer) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// ServeHTTP answers as the script says.
func (s *ServiceServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI())
	s.mu.Unlock()
	c := s.script
	switch {
	case c.Silent:
		<-r.Context().Done()
	case c.Drops:
		panic(http.ErrAbortHandler)
	case c.Location != "":
		w.Header().Set("Location", c.Location)
		w.WriteHeader(http.StatusFound)
	case c.Status != 0 || c.Body != "" || c.Type != "":
		page(w, max(c.Status, 0), c.Type, strings.Repeat(c.Body, max(c.Repeat, 1)))
	case c.Camofox:
		c.health(w, r)
	default:
		c.search(w, r)
	}
}

func page(w http.ResponseWriter, status int, kind, body string) {
	if kind == "" {
		kind = "text/html; charset=utf-8"
	}
	if status == 0 {
		status = http.StatusOK
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

func refusal(w http.ResponseWriter, status int, why string) {
	name := http.StatusText(status)
	page(w, status, "", fmt.Sprintf("<!doctype html>\n<html lang=en>\n<title>%d %s</title>\n<h1>%s</h1>\n<p>%s</p>\n", status, name, name, why))
}

// robot are the names of clients that SearXNG's limiter turns away.
var robot = regexp.MustCompile(`(?i)unknown|curl|wget|scrapy|go-http-client|python-requests|java|ruby|bot|spider`)

func (c Service) search(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/search" {
		refusal(w, http.StatusNotFound, "The requested URL was not found on the server.")
		return
	}
	h := r.Header
	bot := !strings.Contains(h.Get("Accept"), "text/html") || h.Get("Accept-Language") == "" ||
		!strings.Contains(h.Get("Accept-Encoding"), "gzip") || h.Get("User-Agent") == "" || robot.MatchString(h.Get("User-Agent"))
	if c.Blocked || c.Limiter && bot {
		page(w, http.StatusTooManyRequests, "", "Too Many Requests")
		return
	}
	format := r.FormValue("format")
	if format == "" || format == "html" {
		page(w, 0, "", "<!DOCTYPE html><title>SearXNG</title>")
		return
	}
	if !slices.Contains(c.Formats, format) {
		refusal(w, http.StatusForbidden, "You don&#39;t have the permission to access the requested resource. It is either read-protected or not readable by the server.")
		return
	}
	found := []any{}
	for i := range 10 {
		if c.Nothing {
			break
		}
		found = append(found, map[string]any{"url": "https://example.org/" + strconv.Itoa(i), "title": "Example", "content": "", "engine": "example"})
	}
	silent := [][2]string{}
	if c.Unresponsive != nil {
		silent = c.Unresponsive
	}
	sendJSON(w, 0, map[string]any{"query": r.FormValue("q"), "number_of_results": 0, "results": found, "answers": []any{},
		"corrections": []any{}, "infoboxes": []any{}, "suggestions": []any{}, "unresponsive_engines": silent})
}

func (c Service) health(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/health":
		refusal(w, http.StatusNotFound, "Cannot "+r.Method+" "+r.URL.Path)
	case c.Recovering:
		sendJSON(w, http.StatusServiceUnavailable, map[string]any{"ok": false, "engine": "camoufox", "recovering": true})
	case c.Warming:
		sendJSON(w, http.StatusServiceUnavailable, map[string]any{"ok": false, "engine": "camoufox", "browserConnected": false, "browserRunning": false, "warming": true})
	default:
		sendJSON(w, 0, map[string]any{"ok": true, "engine": "camoufox", "browserConnected": !c.Idle, "browserRunning": !c.Idle,
			"activeTabs": 0, "activeSessions": 0, "consecutiveFailures": c.Failures})
	}
}

func sendJSON(w http.ResponseWriter, status int, v any) {
	b, _ := json.Marshal(v)
	page(w, status, "application/json", string(b))
}
