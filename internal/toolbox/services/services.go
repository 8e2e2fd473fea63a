// Package services asks the servers that a person may run beside the program,
// SearXNG and camofox-browser, whether they are ready: one request each, the one
// that real work would begin with. What is not ready is told apart, each way
// with its cause and its mend.
//
// Requests go to the given address and nowhere else.
package services

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// The bounds of a request.
const (
	patience  = 5 * time.Second
	mostBytes = 4 << 20 // of an answer, unpacked
	redirects = 3
)

// Asker asks services for their health. It is safe for use by several
// goroutines.
type Asker struct {
	Patience time.Duration // for one service; 0 is 5 s
}

// Health is what a service that is ready says of itself.
type Health struct {
	Text  string // what it does, one clause
	Doubt string // what does not work although the service does, "" if nothing
}

// NotReadyError says why a service cannot be used.
type NotReadyError struct {
	Why    string // one clause
	Mend   string // what to do
	Absent bool   // nothing listens at the address
}

// Error gives cause and mend.
func (e *NotReadyError) Error() string { return e.Why + "; " + e.Mend }

func notReady(mend, format string, args ...any) error {
	return &NotReadyError{Why: fmt.Sprintf(format, args...), Mend: mend}
}

// service is what differs between the two.
type service struct {
	name, key string // as people call it, and the setting of its address
	unit      string // its name in the compose file
}

func (s service) logs() string {
	return "read its log: docker compose -f services/compose.yaml logs " + s.unit
}

func (s service) check() string { return "check the address in " + s.key }

// answer is an HTTP answer whose body was read within the bound.
type answer struct {
	status int
	kind   string // of the content, lower case, without parameters
	body   []byte
}

// get makes the one request. Its errors are *NotReadyError.
func (a Asker) get(ctx context.Context, s service, address, path string, query url.Values) (answer, error) {
	base, err := url.Parse(address)
	if err != nil || base.Hostname() == "" || base.Scheme != "http" && base.Scheme != "https" {
		return answer{}, notReady(s.check(), "%q is no address", clean(address))
	}
	target := base.JoinPath(path)
	target.RawQuery, target.Fragment = query.Encode(), ""
	wait := a.Patience
	if wait <= 0 {
		wait = patience
	}
	ctx, stop := context.WithTimeout(ctx, wait)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return answer{}, notReady(s.check(), "%q is no address", clean(address))
	}
	// SearXNG's limiter takes a request without these for one of a bot.
	req.Header.Set("Accept", "application/json, text/html;q=0.5")
	req.Header.Set("Accept-Language", "en")
	req.Header.Set("User-Agent", "towpath")
	client := &http.Client{CheckRedirect: stay, Transport: &http.Transport{
		Proxy: proxy, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
	}}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, s.unreachable(err, wait)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return answer{}, s.leads(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostBytes+1))
	if err != nil {
		return answer{}, s.unreachable(err, wait)
	}
	if len(body) > mostBytes {
		return answer{}, notReady(s.check(), "the answer is larger than %d MiB; %s would send less", mostBytes>>20, s.name)
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return answer{resp.StatusCode, strings.ToLower(strings.TrimSpace(kind)), body}, nil
}

// proxy is the environment's, but never for this machine.
func proxy(r *http.Request) (*url.URL, error) {
	host := strings.TrimSuffix(strings.ToLower(r.URL.Hostname()), ".")
	ip, err := netip.ParseAddr(host)
	if err == nil && ip.Unmap().IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return nil, nil
	}
	return http.ProxyFromEnvironment(r)
}

// stay follows redirects within the server that was named and to no other.
func stay(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > redirects || next.URL.Scheme != first.Scheme || !strings.EqualFold(next.URL.Host, first.Host) {
		return http.ErrUseLastResponse
	}
	return nil
}

// leads is about a redirect that was not followed.
func (s service) leads(resp *http.Response) error {
	to, err := resp.Location()
	if err != nil {
		return notReady(s.check(), "it redirects to nowhere (status %d)", resp.StatusCode)
	}
	if strings.EqualFold(to.Host, resp.Request.URL.Host) && to.Scheme == resp.Request.URL.Scheme {
		return notReady(s.check(), "it redirects again and again")
	}
	return notReady("if that is where "+s.name+" is, name it in "+s.key,
		"it redirects to %s, which was not followed", clean(to.Scheme+"://"+to.Host))
}

// unreachable is about a request that got no whole answer.
func (s service) unreachable(err error, wait time.Duration) error {
	var (
		errno  syscall.Errno
		dns    *net.DNSError
		record tls.RecordHeaderError
		cert   *tls.CertificateVerificationError
		timed  net.Error
	)
	const refusedWindows = 10061
	switch {
	case errors.Is(err, context.Canceled):
		return notReady("run towpath doctor again", "the question was interrupted")
	case errors.As(err, &timed) && timed.Timeout():
		return notReady("see whether it is busy or still starting; "+s.logs(), "it did not answer within %v", wait)
	case errors.As(err, &dns):
		return notReady(s.check(), "the host %q is not known", clean(dns.Name))
	case errors.As(err, &errno) && (errno == syscall.ECONNREFUSED || errno == refusedWindows):
		return &NotReadyError{Absent: true, Why: "nothing listens there",
			Mend: "start it: docker compose -f services/compose.yaml up -d, a file that towpath init --services writes"}
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return notReady("write http:// in "+s.key, "it does not speak https")
	case errors.As(err, &cert):
		return notReady("name the host that the certificate is for in "+s.key, "its certificate is not accepted: %s", clean(cert.Err.Error()))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return notReady("it may still be starting, so try again in a minute; "+s.logs(), "it closed the connection before it had answered")
	case strings.Contains(err.Error(), "malformed HTTP"):
		return notReady(s.check(), "what listens there does not speak HTTP")
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return notReady(s.check(), "it cannot be reached: %s", clean(err.Error()))
}

// failed is about a status that is none of the service's own.
func (s service) failed(a answer) error {
	begins := ""
	if len(a.body) > 0 {
		begins = ", and its answer begins with " + first(a.body)
	}
	switch {
	case a.status == http.StatusNotFound, a.status == http.StatusMethodNotAllowed:
		return notReady(s.check(), "something other than %s is there: it answers with status %d%s", s.name, a.status, begins)
	case a.status == http.StatusUnauthorized, a.status == http.StatusProxyAuthRequired, a.status == http.StatusForbidden:
		return notReady("towpath sends no password to it, so let requests of this machine through", "it asks who you are (status %d)", a.status)
	case a.status >= 500:
		return notReady(s.logs(), "it fails with status %d%s", a.status, begins)
	}
	return notReady(s.check(), "it answers with status %d%s", a.status, begins)
}

// notJSON is about an answer that is something else.
func (s service) notJSON(a answer) error {
	switch {
	case len(a.body) == 0:
		return notReady(s.check(), "it sent an empty answer where JSON was asked for")
	case strings.HasSuffix(a.kind, "html") || a.body[0] == '<':
		return notReady(s.check()+", which should be that of "+s.name+" and nothing else",
			"it sent a web page where JSON was asked for, beginning with %s", first(a.body))
	}
	return notReady(s.check(), "it sent no whole JSON, but something that begins with %s", first(a.body))
}

func (s service) other(a answer) error {
	return notReady(s.check(), "something other than %s is there: its JSON begins with %s", s.name, first(a.body))
}

// first quotes the first bytes of an answer.
func first(body []byte) string {
	const most = 60
	text := string(body[:min(len(body), 4*most)])
	return fmt.Sprintf("%q", cut(strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " "), most))
}

// clean makes foreign text fit for one line of a terminal.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return cut(strings.Join(strings.Fields(text), " "), 120)
}

// cut leaves at most n characters.
func cut(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n]) + "..."
}
