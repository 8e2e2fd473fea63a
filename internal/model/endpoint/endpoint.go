// Package endpoint is one HTTP address of a model server: how requests are sent
// to it, within which times and sizes, and what its refusals mean.
//
// An Endpoint is safe for use by several goroutines.
package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"towpath/internal/model"
)

// Timeouts bound a call by kind. A zero field is the default.
type Timeouts struct {
	Connect   time.Duration // until the connection stands, 10 s
	FirstByte time.Duration // until the first piece of the reply, 15 min: local models load and read long prompts
	Idle      time.Duration // between two pieces, 3 min
	Total     time.Duration // of the whole call, 60 min
}

func (t Timeouts) filled() Timeouts {
	fill := func(d *time.Duration, by time.Duration) {
		if *d <= 0 {
			*d = by
		}
	}
	fill(&t.Connect, 10*time.Second)
	fill(&t.FirstByte, 15*time.Minute)
	fill(&t.Idle, 3*time.Minute)
	fill(&t.Total, 60*time.Minute)
	return t
}

// maxLookUp is how long a question is waited for that no model has to answer.
const maxLookUp = time.Minute

// Sizes in bytes that an answer may have after it was unpacked.
const (
	maxAnswer  = 16 << 20 // of an answer that comes in one piece
	maxRefusal = 64 << 10 // of the body of a refusal
	maxStream  = 256 << 20
)

// Config says where the server is.
type Config struct {
	BaseURL  string
	Header   map[string]string // sent with each request, never to another host
	Timeouts Timeouts
	Clock    func() time.Time
	Dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	// Proxy gives the proxy of a request to a host that is not on this machine
	// or its network; nil takes it from the environment.
	Proxy func(*http.Request) (*url.URL, error)
}

// Endpoint is the address of one server.
type Endpoint struct {
	base   *url.URL
	bad    error // why base is nil
	header map[string]string
	limits Timeouts
	clock  func() time.Time
	client *http.Client
}

// New makes an Endpoint. It contacts nothing; a base URL that cannot be read is
// reported by every call.
func New(cfg Config) *Endpoint {
	e := &Endpoint{header: cfg.Header, limits: cfg.Timeouts.filled(), clock: cfg.Clock}
	if e.clock == nil {
		e.clock = time.Now
	}
	e.base, e.bad = parseBase(cfg.BaseURL)
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: e.limits.Connect}).DialContext
	}
	proxy := cfg.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	e.client = &http.Client{
		Transport: &http.Transport{
			Proxy:                  pastProxy(proxy),
			DialContext:            boundedDial(dial, e.limits.Connect),
			TLSHandshakeTimeout:    e.limits.Connect,
			MaxIdleConnsPerHost:    8,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: 1 << 20,
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: sameServer,
	}
	return e
}

func parseBase(s string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &model.Error{Kind: model.KindUnreachable, Err: err,
			Message: fmt.Sprintf("%q is not the address of a model server", s),
			Mend:    "write it like http://127.0.0.1:11434 or https://api.openai.com/v1"}
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

// URL is the server's address without credentials.
func (e *Endpoint) URL() string {
	if e.base == nil {
		return ""
	}
	u := *e.base
	u.User = nil
	return u.String()
}

// Now is the time by the endpoint's clock.
func (e *Endpoint) Now() time.Time { return e.clock() }

// ServerOnly is the address without its path, for calls beside the chat protocol.
func (e *Endpoint) ServerOnly() *Endpoint {
	if e.base == nil {
		return e
	}
	other := *e
	base := *e.base
	base.Path, base.RawPath = "", ""
	other.base = &base
	return &other
}

// Local says whether the server runs on this machine or its network.
func (e *Endpoint) Local() bool { return e.base != nil && nearby(e.base.Hostname()) }

// JSON sends one request and decodes the answer, which comes in one piece, into
// out. in is nil for a GET. A refusal is a *Refusal.
func (e *Endpoint) JSON(ctx context.Context, path string, in, out any) error {
	short := *e
	short.limits.FirstByte = min(e.limits.FirstByte, maxLookUp)
	s, err := short.Stream(ctx, path, in)
	if err != nil {
		return err
	}
	defer s.Close()
	b, err := io.ReadAll(io.LimitReader(s, maxAnswer+1))
	if err != nil {
		return err
	}
	if len(b) > maxAnswer {
		return &model.Error{Kind: model.KindProtocol, URL: e.URL(), Message: fmt.Sprintf("the answer of %s%s is larger than %d MiB", e.URL(), path, maxAnswer>>20)}
	}
	if err := json.Unmarshal(b, out); err != nil {
		return e.notAModelServer(path, b, err)
	}
	return nil
}

// notAModelServer is the error for an answer that is not JSON at all.
func (e *Endpoint) notAModelServer(path string, b []byte, err error) error {
	return &model.Error{Kind: model.KindProtocol, URL: e.URL(), Err: err, Raw: bounded(string(b), 400),
		Message: fmt.Sprintf("%s%s answers with something that is not JSON", e.URL(), path),
		Mend:    "another program may listen there: check the address"}
}

// Stream sends a request and waits until its answer begins. The caller closes
// the Stream. A refusal is a *Refusal; what goes wrong on the way is a
// *model.Error or the context's error.
func (e *Endpoint) Stream(ctx context.Context, path string, in any) (*Stream, error) {
	if e.base == nil {
		return nil, e.bad
	}
	method, body := http.MethodGet, io.Reader(nil)
	if in != nil {
		b, err := encode(in)
		if err != nil {
			return nil, fmt.Errorf("writing the request: %w", err)
		}
		method, body = http.MethodPost, bytes.NewReader(b)
	}
	w := e.watch(ctx)
	req, err := http.NewRequestWithContext(w.ctx, method, e.base.String()+path, body)
	if err != nil {
		w.stop()
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	req.Header.Set("User-Agent", "towpath")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range e.header {
		req.Header.Set(k, v)
	}
	res, err := e.client.Do(req)
	if err != nil {
		err = e.explain(w, err, false)
		w.stop()
		return nil, err
	}
	s := &Stream{body: res.Body, watch: w, end: e, left: maxStream}
	if res.StatusCode != http.StatusOK {
		defer s.Close()
		return nil, e.readRefusal(res, s)
	}
	if s.Type = res.Header.Get("Content-Type"); strings.Contains(s.Type, "text/html") {
		defer s.Close()
		b, _ := io.ReadAll(io.LimitReader(s, 4096))
		return nil, e.notAModelServer(path, b, nil)
	}
	return s, nil
}

// encode writes JSON without the HTML escapes that would make prompts longer.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// explain turns what the transport says into an error with a kind.
func (e *Endpoint) explain(w *watch, err error, begun bool) error {
	if cause := context.Cause(w.ctx); cause != nil {
		var late *late
		if errors.As(cause, &late) {
			return e.timeout(late)
		}
		return cause
	}
	var dial *dialTimeout
	if errors.As(err, &dial) {
		return e.timeout(&late{"connecting", e.limits.Connect})
	}
	if begun {
		return &model.Error{Kind: model.KindInterrupted, URL: e.URL(), Err: err,
			Message: fmt.Sprintf("the reply of %s broke off: %s", e.URL(), plain(err))}
	}
	return &model.Error{Kind: model.KindUnreachable, URL: e.URL(), Err: err,
		Message: fmt.Sprintf("no model server answers at %s: %s", e.URL(), plain(err)),
		Mend:    "start it, or check the address"}
}

// plain is the innermost part of a transport error, which is what a person can use.
func plain(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	s := err.Error()
	if i := strings.LastIndex(s, "connect: "); i >= 0 {
		s = s[i+len("connect: "):]
	}
	return bounded(s, 300)
}

func (e *Endpoint) timeout(l *late) error {
	return &model.Error{Kind: model.KindTimeout, URL: e.URL(), Err: context.DeadlineExceeded,
		Message: fmt.Sprintf("%s took longer than %s at %s", l.what, l.limit, e.URL()),
		Mend:    "try again, or allow more time in the settings"}
}

// bounded cuts s to n bytes, at a rune.
func bounded(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
