package settings

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// environment is what Load knows of the process: variables and folders.
type environment struct {
	vars            map[string]string
	dir             string
	userDir, states string
}

func newEnvironment(opt Options) *environment {
	e := &environment{vars: map[string]string{}, dir: opt.Dir, userDir: opt.UserDir, states: opt.StateDir}
	for _, v := range opt.Environ {
		if name, text, ok := strings.Cut(v, "="); ok && name != "" {
			e.vars[name] = text
		}
	}
	return e
}

func (e *environment) home() string {
	if runtime.GOOS == "windows" {
		return e.vars["USERPROFILE"]
	}
	return e.vars["HOME"]
}

// folder gives the user's folder of a kind, "" if it is not known.
func (e *environment) folder(set, xdg, windows, below string) string {
	if set != "" {
		return set
	}
	if d := e.vars[xdg]; filepath.IsAbs(d) {
		return filepath.Join(d, "towpath")
	}
	if d := e.vars[windows]; runtime.GOOS == "windows" && d != "" {
		return filepath.Join(d, "towpath")
	}
	if h := e.home(); h != "" {
		return filepath.Join(h, below, "towpath")
	}
	return ""
}

func (e *environment) userFile() string {
	d := e.folder(e.userDir, "XDG_CONFIG_HOME", "APPDATA", ".config")
	if d == "" {
		return ""
	}
	return filepath.Join(d, UserFile)
}

func (e *environment) stateDir() string {
	return e.folder(e.states, "XDG_STATE_HOME", "LOCALAPPDATA", filepath.Join(".local", "state"))
}

// abs makes a path absolute that a flag or a variable gave.
func (e *environment) abs(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	if e.dir != "" {
		return filepath.Join(e.dir, p)
	}
	if a, err := filepath.Abs(p); err == nil {
		return a
	}
	return p
}

// InputError is a flag or a variable with a wrong value.
type InputError struct {
	Name string // --model, TOWPATH_MODEL
	Why  string
}

// Error names it.
func (e *InputError) Error() string { return e.Name + ": " + e.Why }

// ExitCode is 2: what the user typed is wrong.
func (e *InputError) ExitCode() int { return 2 }

// readEnv reads the TOWPATH_ variables and OLLAMA_HOST. An empty variable
// counts as not set. A variable that looks like a misspelt one is warned of;
// others may be somebody else's.
func readEnv(env *environment) (layer, []string, error) {
	l := layer{}
	known := map[string]bool{}
	for _, k := range keys() {
		name := k.Env()
		if name == "" {
			continue
		}
		known[name] = true
		text := env.vars[name]
		if text == "" {
			continue
		}
		data, err := k.fromText(text)
		if err != nil {
			return nil, nil, &InputError{Name: name, Why: err.Error()}
		}
		l[k.Name] = value{key: k, path: strings.Split(k.Name, "."), data: data, rank: rankEnv, origin: Origin{Name: name}}
	}
	if host := env.vars["OLLAMA_HOST"]; host != "" {
		address, err := ollamaAddress(host)
		if err != nil {
			return nil, nil, &InputError{Name: "OLLAMA_HOST", Why: err.Error()}
		}
		path := []string{"providers", "ollama", "url"}
		k, _ := find(path)
		l[keyName(path)] = value{key: k, path: path, data: address, rank: rankEnv, origin: Origin{Name: "OLLAMA_HOST"}}
	}
	return l, misspelt(env, known), nil
}

func misspelt(env *environment, known map[string]bool) []string {
	var warnings []string
	for name := range env.vars {
		if !strings.HasPrefix(name, "TOWPATH_") || known[name] {
			continue
		}
		for k := range known {
			if distance(name, k) <= 2 {
				warnings = append(warnings, fmt.Sprintf("the variable %s sets nothing; did you mean %s?", name, k))
				break
			}
		}
	}
	slices.Sort(warnings)
	return warnings
}

// ollamaAddress reads OLLAMA_HOST as Ollama does: host, port and scheme may be
// left out. The address of all interfaces, at which a server listens, is this
// machine's for a client.
func ollamaAddress(s string) (string, error) {
	s = strings.Trim(strings.TrimSpace(s), `"'`)
	bad := fmt.Errorf("it takes an address such as 127.0.0.1:11434, not %q", s)
	scheme, rest, ok := strings.Cut(s, "://")
	port := "11434"
	switch {
	case !ok:
		scheme, rest = "http", s
	case scheme == "http":
		port = "80"
	case scheme == "https":
		port = "443"
	default:
		return "", bad
	}
	rest, path, _ := strings.Cut(rest, "/")
	host, p, err := net.SplitHostPort(rest)
	if err != nil {
		host = strings.Trim(rest, "[]")
	} else if p != "" {
		port = p
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	u := url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port), Path: strings.TrimRight("/"+path, "/")}
	if _, err := url.Parse(u.String()); err != nil || strings.ContainsAny(host, " /@?#") || strings.Trim(port, "0123456789") != "" {
		return "", bad
	}
	return u.String(), nil
}

// readFlags reads what the command line set, by key.
func readFlags(flags map[string]string) (layer, error) {
	l := layer{}
	for name, text := range flags {
		path, err := parsePath(name)
		if err != nil {
			return nil, &InputError{Name: name, Why: "this is not a key"}
		}
		k, ok := find(path)
		if !ok {
			return nil, &InputError{Name: name, Why: unknown(path)}
		}
		flag := "--" + strings.ReplaceAll(name, "_", "-")
		data, err := k.fromText(text)
		if err != nil {
			return nil, &InputError{Name: flag, Why: err.Error()}
		}
		l[keyName(path)] = value{key: k, path: path, data: data, rank: rankFlag, origin: Origin{Name: flag}}
	}
	return l, nil
}

// parsePath reads a key as TOML writes it.
func parsePath(name string) ([]string, error) {
	var p unstable.Parser
	p.Reset([]byte(name + " = 0"))
	if !p.NextExpression() || p.Expression().Kind != unstable.KeyValue {
		return nil, fmt.Errorf("%q is not a key", name)
	}
	var path []string
	for it := p.Expression().Key(); it.Next(); {
		path = append(path, string(it.Node().Data))
	}
	if p.NextExpression() || p.Error() != nil || len(path) == 0 {
		return nil, fmt.Errorf("%q is not a key", name)
	}
	return path, nil
}
