package endpoint

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// pastProxy takes the proxy for hosts elsewhere only: a proxy that stands in the
// environment knows nothing of this machine and its network.
func pastProxy(proxy func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(r *http.Request) (*url.URL, error) {
		if nearby(r.URL.Hostname()) {
			return nil, nil
		}
		return proxy(r)
	}
}

// nearby says whether host is this machine or on its network, by its name or
// address alone.
func nearby(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || carrierGrade.Contains(ip)
	}
	if !strings.Contains(host, ".") { // localhost, or a name that only the local network knows
		return true
	}
	for _, suffix := range []string{".localhost", ".local", ".lan", ".home", ".home.arpa", ".internal", ".intranet", ".docker.internal"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

// carrierGrade is the range that private overlay networks use.
var carrierGrade = netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, 0, 0}), 10)

// sameServer follows a redirect only within the server that was asked, since
// keys and prompts are meant for nobody else, and only one that repeats the
// request instead of turning it into another.
func sameServer(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) >= 4 || next.Method != first.Method || !sameHost(first.URL, next.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// sameHost takes a step from http to https on the default ports as the same host.
func sameHost(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	if from.Scheme == to.Scheme {
		return port(from) == port(to)
	}
	return from.Scheme == "http" && to.Scheme == "https" && port(from) == "80" && port(to) == "443"
}

func port(u *url.URL) string {
	if _, p, err := net.SplitHostPort(u.Host); err == nil && p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}
