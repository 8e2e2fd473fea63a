package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The codes of errors that the door makes up, beside codeLocal.
const codeLost = -32098

var errSessionLost = errors.New("the server forgot the session again right after a new one was made")

const (
	maxRefusal    = 64 << 10 // bytes that are read of a refusal
	sessionHeader = "Mcp-Session-Id"
)

// door stands between the SDK and a server over HTTP. It adds the headers of the
// user, to this server alone, and reads them again when they are refused; and it
// turns whatever goes wrong with one call into an answer to that call, so that
// the others go on.
type door struct {
	server *Server
	base   http.RoundTripper
	at     *url.URL

	mu      sync.Mutex
	headers map[string]string
}

func newDoor(s *Server, at *url.URL) (*door, error) {
	d := &door{server: s, at: at, base: newTransport()}
	return d, d.readHeaders()
}

// newTransport has connections of its own, so that closing them troubles nobody.
func newTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = 256 << 10
	t.ResponseHeaderTimeout = 0 // each call has its own end
	t.MaxIdleConnsPerHost = 16
	return t
}

// readHeaders reads the user's headers.
func (d *door) readHeaders() error {
	if d.server.cfg.Headers == nil {
		return nil
	}
	h, err := d.server.cfg.Headers()
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.headers = h
	d.mu.Unlock()
	return nil
}

// current are the user's headers as they were read last.
func (d *door) current() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.headers
}

// redirect lets a request be sent on only within the server's own address.
func (d *door) redirect(req *http.Request, via []*http.Request) error {
	if !d.mine(req.URL) {
		return &elsewhereError{fmt.Sprintf("it sends on to another address, %s; what is meant for one server is not sent to another: set servers.%s.url to the new address if you trust it",
			shown(req.URL.String()), d.server.cfg.Name)}
	}
	if req.Method != via[0].Method {
		return &elsewhereError{fmt.Sprintf("it sends on to %s in a way that loses the call: set servers.%s.url to that address", shown(req.URL.String()), d.server.cfg.Name)}
	}
	if len(via) >= 5 {
		return &elsewhereError{"it sends on from one address to the next without end"}
	}
	return nil
}

// elsewhereError is a call that a server sent on, and that did not go there.
type elsewhereError struct{ why string }

// Error says where it would have gone.
func (e *elsewhereError) Error() string { return e.why }

func (d *door) mine(u *url.URL) bool { return u.Scheme == d.at.Scheme && u.Host == d.at.Host }

// asked is what a request over HTTP is about.
type asked struct {
	id      jsonrpc.ID
	call    bool // it waits for an answer
	method  string
	session bool // it belongs to a session
	catch   *catch
}

// RoundTrip sends one request.
func (d *door) RoundTrip(req *http.Request) (*http.Response, error) {
	if !d.mine(req.URL) {
		return nil, fmt.Errorf("a request to %s was not sent", shown(req.URL.String()))
	}
	a := askedBy(req)
	switch {
	case req.Method == http.MethodGet && req.Header.Get("Last-Event-ID") == "" && a.catch == nil:
		return d.stream(req), nil
	case a.method == "subscriptions/listen":
		return d.stream(req), nil
	case req.Method == http.MethodDelete:
		return d.send(req)
	}
	if a.method == methodDiscover {
		return d.discover(req, a)
	}
	res, err := d.send(req)
	if err != nil {
		return nil, err
	}
	return d.check(req, res, a)
}

// discover sends the question for the newer protocol, which older servers may
// leave unanswered.
func (d *door) discover(req *http.Request, a asked) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), d.server.time.Probe)
	res, err := d.send(req.WithContext(ctx))
	if err == nil {
		res, err = d.check(req.WithContext(ctx), res, a)
	}
	if err != nil {
		defer cancel()
		if neverSent(err) || req.Context().Err() != nil {
			return nil, err
		}
		return answer(req, failure(a.id, "there was no answer to "+methodDiscover)), nil
	}
	res.Body = &endingBody{res.Body, cancel}
	return res, nil
}

// endingBody ends a request's context with its body.
type endingBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close ends the request.
func (b *endingBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// askedBy reads what a request is about.
func askedBy(req *http.Request) asked {
	a := asked{session: req.Header.Get(sessionHeader) != "", catch: caught(req.Context())}
	if req.Method != http.MethodPost || req.GetBody == nil {
		return a
	}
	body, err := req.GetBody()
	if err != nil {
		return a
	}
	defer body.Close()
	var head [128]byte // where the SDK writes both
	n, err := io.ReadFull(body, head[:])
	if id, method, ok := callHead(head[:n]); ok {
		a.id, a.call, a.method = id, true, method
		return a
	}
	rest := []byte(nil)
	if err == nil {
		if rest, err = io.ReadAll(body); err != nil {
			return a
		}
	}
	if m, err := decode(append(head[:n:n], rest...)); err == nil {
		if r, ok := m.(*jsonrpc.Request); ok {
			a.id, a.call, a.method = r.ID, r.IsCall(), r.Method
		}
	}
	return a
}

// callHead reads id and method from the beginning of a call as the SDK writes
// it.
func callHead(b []byte) (id jsonrpc.ID, method string, ok bool) {
	rest, ok := bytes.CutPrefix(b, []byte(`{"jsonrpc":"2.0","id":`))
	if !ok {
		return id, "", false
	}
	number, rest, ok := bytes.Cut(rest, []byte(`,"method":"`))
	if !ok {
		return id, "", false
	}
	name, _, ok := bytes.Cut(rest, []byte(`"`))
	if !ok || bytes.ContainsRune(name, '\\') {
		return id, "", false
	}
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil {
		return id, "", false
	}
	id, err = jsonrpc.MakeID(float64(n))
	return id, string(name), err == nil
}

// send sends a request with the user's headers, and once more with headers that
// were read again if these were refused and have changed.
func (d *door) send(req *http.Request) (*http.Response, error) {
	used := d.current()
	res, err := d.base.RoundTrip(dressed(req, used))
	if err != nil || res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
		return res, err
	}
	if d.readHeaders() != nil || maps.Equal(used, d.current()) {
		return res, nil
	}
	again := fresh(req, "")
	if again == nil {
		return res, nil
	}
	drain(res)
	return d.base.RoundTrip(dressed(again, d.current()))
}

// dressed is the request with the user's headers.
func dressed(req *http.Request, headers map[string]string) *http.Request {
	if len(headers) == 0 {
		return req
	}
	out := req.Clone(req.Context())
	for name, value := range headers {
		out.Header.Set(name, value)
	}
	return out
}

// fresh is the request once more, for a stream from the last event on; nil where
// it cannot be sent again.
func fresh(req *http.Request, last string) *http.Request {
	out := req.Clone(req.Context())
	if req.Body != nil && req.Body != http.NoBody {
		if req.GetBody == nil {
			return nil
		}
		body, err := req.GetBody()
		if err != nil {
			return nil
		}
		out.Body = body
	}
	if last != "" && req.Method == http.MethodGet {
		out.Header.Set("Last-Event-ID", last)
	}
	return out
}

// check makes sure that what comes back is what the SDK can take, for this call
// alone.
func (d *door) check(req *http.Request, res *http.Response, a asked) (*http.Response, error) {
	ok := res.StatusCode >= 200 && res.StatusCode < 300
	resumed := req.Method == http.MethodGet
	switch {
	case resumed && ok:
		res.Body = d.events(res.Body, a)
		return res, nil
	case resumed:
		return nil, fmt.Errorf("the answer was cut off and cannot be had again: %s", d.refusal(res))
	case res.StatusCode >= 300 && res.StatusCode < 400 && res.Header.Get("Location") != "":
		return res, nil // see redirect
	case !ok && !a.call:
		drain(res)
		return empty(req), nil // a notification that nobody wanted
	case !ok:
		return d.refused(req, res, a)
	case !a.call:
		return res, nil
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch kind {
	case "text/event-stream":
		res.Body = d.events(res.Body, a)
		return res, nil
	case "application/json":
		return d.whole(req, res, a)
	}
	text := fmt.Sprintf("the server answered %s of the kind %q, which is no answer to a call", res.Status, kind)
	if said := d.excerpt(res); said != "" {
		text += ": " + said
	}
	return keep(res, answer(req, failure(a.id, text))), nil
}

// whole reads an answer that is one piece of JSON.
func (d *door) whole(req *http.Request, res *http.Response, a asked) (*http.Response, error) {
	data, err := io.ReadAll(io.LimitReader(res.Body, maxMessage+1))
	res.Body.Close()
	switch {
	case err != nil && req.Context().Err() != nil:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("the connection broke within the answer: %w", err)
	case len(data) > maxMessage:
		return keep(res, answer(req, failure(a.id, fmt.Sprintf("the answer has more than the %d bytes that are read", maxMessage)))), nil
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if len(text) > 0 {
		if msgs, err := messages(text); err == nil {
			for _, m := range msgs {
				if r, ok := m.(*jsonrpc.Response); ok && r.ID == a.id {
					a.catch.put(r.Result)
					if len(msgs) == 1 {
						res.Body = io.NopCloser(bytes.NewReader(text))
						return res, nil
					}
					return keep(res, answer(req, r)), nil
				}
			}
		}
	}
	return keep(res, answer(req, failure(a.id, "the server answered with something else than a result: "+d.short(text)))), nil
}

// refused turns a refusal of a call into an answer to that call.
func (d *door) refused(req *http.Request, res *http.Response, a asked) (*http.Response, error) {
	data, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	drain(res)
	var said *jsonrpc.Error
	if m, err := decode(data); err == nil {
		if r, ok := m.(*jsonrpc.Response); ok {
			errors.As(r.Error, &said)
		}
	} else { // an answer without an id
		var w struct {
			Error *jsonrpc.Error `json:"error"`
		}
		if json.Unmarshal(data, &w) == nil && w.Error != nil && w.Error.Message != "" {
			said = w.Error
		}
	}
	lost := a.session && (res.StatusCode == http.StatusNotFound ||
		res.StatusCode == http.StatusBadRequest && strings.Contains(strings.ToLower(string(data)), "session"))
	switch {
	case lost:
		return answer(req, &jsonrpc.Response{ID: a.id, Error: &jsonrpc.Error{Code: codeLost, Message: errSessionLost.Error()}}), nil
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		return answer(req, failure(a.id, d.unwelcome(res))), nil
	case said != nil:
		return answer(req, &jsonrpc.Response{ID: a.id, Error: said}), nil
	}
	text := "the server answered " + res.Status
	if s := d.short(data); s != "" {
		text += ": " + s
	}
	if res.StatusCode >= 500 && a.method == "tools/call" {
		text += " (whether the call was carried out is not known)"
	}
	return answer(req, failure(a.id, text)), nil
}

// unwelcome is a refusal for want of credentials.
func (d *door) unwelcome(res *http.Response) string {
	name := d.server.cfg.Name
	text := fmt.Sprintf("the server answered %s; set servers.%s.token_file or servers.%s.headers", res.Status, name, name)
	if strings.Contains(res.Header.Get("WWW-Authenticate"), "resource_metadata") {
		text += " (it offers signing in with OAuth, which is not supported here: get a token from it in another way)"
	}
	return text
}

func (d *door) refusal(res *http.Response) string {
	said := d.excerpt(res)
	if said == "" {
		return res.Status
	}
	return res.Status + ": " + said
}

// excerpt is the beginning of a body that is no answer.
func (d *door) excerpt(res *http.Response) string {
	data, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	drain(res)
	return d.short(data)
}

func (d *door) short(data []byte) string {
	text := printable(strings.Join(strings.Fields(strings.ToValidUTF8(string(data), "\uFFFD")), " "))
	if r := []rune(text); len(r) > 200 {
		text = string(r[:200]) + " ..."
	}
	return d.server.cfg.Hide(text)
}

// drain reads what little may be left, so that the connection can be used again.
func drain(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, maxRefusal)
	res.Body.Close()
}

// answer is a response that holds one message.
func answer(req *http.Request, m *jsonrpc.Response) *http.Response {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		data = nil
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		ContentLength: int64(len(data)), Body: io.NopCloser(bytes.NewReader(data)),
	}
}

// keep gives an answer the session that the server's response named.
func keep(from, to *http.Response) *http.Response {
	if id := from.Header.Get(sessionHeader); id != "" {
		to.Header.Set(sessionHeader, id)
	}
	return to
}

// empty is the response to something that nobody has to answer.
func empty(req *http.Request) *http.Response {
	return &http.Response{
		Status: "202 Accepted", StatusCode: http.StatusAccepted, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Request: req, Body: http.NoBody,
	}
}

// between is how long a stream of notifications that ended is left alone.
func between(failures int) time.Duration {
	return min(time.Second<<min(failures, 5), 30*time.Second)
}
