package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// dial connects to a server over HTTP.
func (s *Server) dial(ctx context.Context) (*link, error) {
	at, err := url.Parse(s.cfg.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, fmt.Errorf("the server %s: its url %q is no http address", s.cfg.Name, s.cfg.URL)
	}
	version := ""
	for tries := 0; ; tries++ {
		l := s.newLink()
		d, err := newDoor(s, at)
		if err != nil {
			return nil, fmt.Errorf("the server %s: %w", s.cfg.Name, err)
		}
		err = l.open(ctx, &mcp.StreamableClientTransport{
			Endpoint: s.cfg.URL, MaxEventSize: -1, // the door bounds events
			HTTPClient: &http.Client{Transport: d, CheckRedirect: d.redirect},
		}, version)
		if err == nil {
			return l, nil
		}
		if v := listedVersion(err, version); v != "" && tries < maxLaunches {
			version = v
			continue
		}
		return nil, s.notReached(ctx, err)
	}
}

// notReached says why there is no connection.
func (s *Server) notReached(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errLateStart):
		return fmt.Errorf("the server %s at %s did not answer within %s", s.cfg.Name, shown(s.cfg.URL), s.time.Start)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("the server %s at %s cannot be used: %w", s.cfg.Name, shown(s.cfg.URL), &hidden{s.cfg.Hide(plain(err)), err})
}

// hidden is an error whose text was cleared of secrets.
type hidden struct {
	text string
	err  error
}

func (h *hidden) Error() string { return h.text }
func (h *hidden) Unwrap() error { return h.err }

// shown is an address without what may be secret in it.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "its address"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// neverSent reports that no connection was made, or that the call was sent on
// and did not follow.
func neverSent(err error) bool {
	var op *net.OpError
	var elsewhere *elsewhereError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &elsewhere)
}

// answerIn gives the error that the server answered with; nil if err is none.
// The SDK marks what never came to an answer with errors of the same type.
func answerIn(err error) *rpcError {
	switch e := err.(type) {
	case nil:
		return nil
	case *rpcError:
		switch e.Message {
		case "rejected by transport", "server is closing", "client is closing":
			return nil
		}
		return e
	case interface{ Unwrap() error }:
		return answerIn(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if found := answerIn(one); found != nil {
				return found
			}
		}
	}
	return nil
}

// plain is an error's innermost reason, without the chain of who passed it on.
func plain(err error) string {
	if rpc := answerIn(err); rpc != nil {
		return rpc.Message
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}
