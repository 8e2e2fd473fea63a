package ollama

import (
	"net"
	"strconv"
	"strings"
)

const defaultPort = "11434"

// hostURL gives the address that OLLAMA_HOST means: a host, a host with a port, a
// port alone, or a URL. An address that a server listens on everywhere means
// this machine.
func hostURL(s string) string {
	s = strings.Trim(strings.TrimSpace(s), `"'`)
	scheme, rest, ok := strings.Cut(s, "://")
	port := defaultPort
	switch {
	case !ok:
		scheme, rest = "http", s
		if s == "ollama.com" {
			scheme, port = "https", "443"
		}
	case scheme == "http":
		port = "80"
	case scheme == "https":
		port = "443"
	}
	rest, path, _ := strings.Cut(rest, "/")
	user := ""
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		user, rest = rest[:i+1], rest[i+1:]
	}
	host, p := rest, ""
	if h, hp, err := net.SplitHostPort(rest); err == nil {
		host, p = h, hp
	}
	if n, err := strconv.Atoi(p); err == nil && n > 0 && n <= 65535 {
		port = p
	}
	host = strings.Trim(host, "[]")
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	base := scheme + "://" + user + net.JoinHostPort(host, port)
	if path = strings.Trim(path, "/"); path != "" {
		base += "/" + path
	}
	return base
}
