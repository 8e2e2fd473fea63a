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

// neverSent reports that no connection was made.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// plain is an error's innermost reason, without the chain of who passed it on.
func plain(err error) string {
	var rpc *rpcError
	if errors.As(err, &rpc) {
		return rpc.Message
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}
