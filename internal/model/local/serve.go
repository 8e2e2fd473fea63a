package local

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"towpath/internal/model/local/gguf"
)

// ServeOptions are the choices of Serve.
type ServeOptions struct {
	Addr  string       // host:port; the host must be loopback unless Token is set
	Names []string     // models to offer; all that are pulled if empty
	Token string       // required of every request as a bearer token, if set
	Ready func(string) // called with the base URL once the server listens
}

// Serve answers OpenAI's chat protocol over TCP for other programs until ctx
// ends. A child that dies is started again at the next request. Close p
// afterwards.
func (p *Provider) Serve(ctx context.Context, opt ServeOptions) error {
	names, err := p.offered(opt.Names)
	if err != nil {
		return err
	}
	l, err := listen(opt)
	if err != nil {
		return err
	}
	defer l.Close()
	sub := New(p.cfg)
	sub.catalog, sub.only = p.catalog, names
	defer sub.Close()
	if _, _, err := sub.ensure(ctx); err != nil {
		return err
	}
	hs := &http.Server{Handler: sub.front(opt), ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute}
	stop := context.AfterFunc(ctx, func() { hs.Close() })
	defer stop()
	if opt.Ready != nil {
		opt.Ready("http://" + l.Addr().String() + "/v1")
	}
	if err := hs.Serve(l); ctx.Err() == nil {
		return err
	}
	return nil
}

// offered checks the models that are to be served.
func (p *Provider) offered(names []string) ([]string, error) {
	if len(names) == 0 {
		list, err := Known(p.cfg.CacheDir)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if e.Pulled {
				names = append(names, e.Name)
			}
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("no model is pulled; run: towpath models pull %s", DefaultModel)
		}
	}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = strings.TrimPrefix(name, Prefix)
		if strings.Contains(out[i], ",") {
			return nil, fmt.Errorf("the model %q cannot be served: its name holds a comma", name)
		}
		m := &localModel{p: p, name: out[i]}
		if _, _, err := m.check(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// listen opens the address. Anything but loopback needs a token.
func listen(opt ServeOptions) (net.Listener, error) {
	host, _, err := net.SplitHostPort(opt.Addr)
	if err != nil {
		return nil, fmt.Errorf("the address %q is not host:port, such as 127.0.0.1:8080", opt.Addr)
	}
	if opt.Token == "" && !loopback(host) {
		return nil, fmt.Errorf("the address %s can be reached from elsewhere; take 127.0.0.1, or set a token", opt.Addr)
	}
	l, err := net.Listen("tcp", opt.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; take another port", opt.Addr, err)
	}
	return l, nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// front checks requests and passes them to the child.
func (p *Provider) front(opt ServeOptions) http.Handler {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, _, err := p.ensure(ctx)
			if err != nil {
				return nil, err
			}
			return c.dial(ctx)
		},
		DisableKeepAlives: true, // a child that was replaced leaves no dead connections
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "local"})
			r.Out.Header.Del("Authorization")
		},
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				deny(w, http.StatusBadGateway, "server_error", "the process that runs the model failed: "+err.Error())
			}
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case opt.Token == "" && !localRequest(r):
			deny(w, http.StatusForbidden, "permission_error", "this server answers programs on this machine only")
		case opt.Token != "" && !bearer(r, opt.Token):
			deny(w, http.StatusUnauthorized, "authentication_error", "the token is missing or wrong")
		default:
			proxy.ServeHTTP(w, r)
		}
	})
}

// localRequest refuses what a web page could send: a page may reach loopback
// through a name of its own, or from its own origin.
func localRequest(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if !loopback(strings.Trim(host, "[]")) {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && loopback(u.Hostname())
}

func bearer(r *http.Request, token string) bool {
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(got), []byte(token)) == 1
}

func deny(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":%d,"type":%q,"message":%q}}`+"\n", status, kind, message)
}

// entries lists the catalog with what is there.
func (s store) entries(c catalog) []Entry {
	libErr := errors.New("no library")
	if lib, err := c.here(); err == nil {
		libErr = s.checkLibrary(lib)
	}
	var out []Entry
	for _, w := range c.models {
		e := Entry{Name: w.name, About: w.about, License: w.license, Bytes: w.bytes, Window: w.window, Tools: true, Schema: true}
		path := s.weights(w)
		if h, err := gguf.ReadFile(path); err == nil && h.Needs <= w.bytes {
			e.Path = path
			e.Pulled = libErr == nil
		}
		out = append(out, e)
	}
	return out
}
