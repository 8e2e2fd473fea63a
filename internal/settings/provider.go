package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Provider is a server of models.
type Provider struct {
	Name     string
	Kind     string // "ollama" or "openai"
	URL      string
	KeyEnv   string
	KeyFile  string // absolute
	Headers  map[string]Secret
	Parallel int // calls at once; 0 is the kind's default
	env      *environment
}

func (p *Provider) set(v value, env *environment) {
	p.Name, p.env = v.path[1], env
	switch v.path[2] {
	case "kind":
		p.Kind = v.text()
	case "url":
		p.URL = v.text()
	case "key_env":
		p.KeyEnv = v.text()
	case "key_file":
		p.KeyFile = v.text()
	case "headers":
		p.Headers = with(p.Headers, v.path[3], env.secret(v))
	case "parallel":
		p.Parallel = v.whole()
	}
}

// Key reads the provider's key: from its variable, else from its file, each
// time anew since files are renewed. An empty Secret means that there is none.
func (p Provider) Key() (Secret, error) {
	if k := strings.TrimSpace(p.env.vars[p.KeyEnv]); p.KeyEnv != "" && k != "" {
		return NewSecret(k), nil
	}
	if p.KeyFile == "" {
		return Secret{}, nil
	}
	return oneLine(p.KeyFile, "the key of "+p.Name)
}

// Token reads the server's bearer token from its file, each time anew since
// files are renewed. An empty Secret means that there is none.
func (p Server) Token() (Secret, error) {
	if p.TokenFile == "" {
		return Secret{}, nil
	}
	return oneLine(p.TokenFile, "the token of "+p.Name)
}

// oneLine reads a file that holds one line with a secret.
func oneLine(file, what string) (Secret, error) {
	data, err := readSmall(file)
	if err != nil {
		return Secret{}, fmt.Errorf("reading %s: %w", what, err)
	}
	k := strings.TrimSpace(string(data))
	if k == "" || strings.ContainsAny(k, "\r\n\x00") {
		return Secret{}, fmt.Errorf("reading %s: %s does not hold one line with a key", what, file)
	}
	return NewSecret(k), nil
}

// Provider gives what is known of a provider; false when nothing is.
func (s *Settings) Provider(name string) (Provider, bool) {
	p, ok := s.Providers[name]
	return p, ok
}

// Secrets lists every configured value that must never be written down: keys,
// headers, variables of tool servers. Keys that cannot be read now are left
// out.
func (s *Settings) Secrets() []string {
	var all []string
	add := func(secret Secret) {
		if !secret.IsZero() {
			all = append(all, secret.Reveal())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		p := s.Providers[name]
		if k, err := p.Key(); err == nil {
			add(k)
		}
		for _, h := range slices.Sorted(maps.Keys(p.Headers)) {
			add(p.Headers[h])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		sv := s.Servers[name]
		for _, e := range slices.Sorted(maps.Keys(sv.Env)) {
			add(sv.Env[e])
		}
		for _, h := range slices.Sorted(maps.Keys(sv.Headers)) {
			add(sv.Headers[h])
			if _, token, ok := strings.Cut(sv.Headers[h].Reveal(), " "); ok { // "Bearer ..."
				add(NewSecret(token))
			}
		}
		if t, err := sv.Token(); err == nil {
			add(t)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// builtinProviders are the servers that can be named without being set.
func builtinProviders() []Provider {
	return []Provider{
		{Name: "groq", Kind: "openai", URL: "https://api.groq.com/openai/v1", KeyEnv: "GROQ_API_KEY"},
		{Name: "llamacpp", Kind: "openai", URL: "http://127.0.0.1:8080/v1"},
		{Name: "lmstudio", Kind: "openai", URL: "http://127.0.0.1:1234/v1"},
		{Name: "ollama", Kind: "ollama", URL: "http://127.0.0.1:11434"},
		{Name: "openai", Kind: "openai", URL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY"},
		{Name: "openrouter", Kind: "openai", URL: "https://openrouter.ai/api/v1", KeyEnv: "OPENROUTER_API_KEY"},
	}
}

// ownProviders are names that the program itself answers for.
var ownProviders = []string{"local", "replay"}

func (s *Settings) checkProviders() error {
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		v := s.values[name]
		if v.path[0] == "providers" && slices.Contains(ownProviders, v.path[1]) {
			return fault(v, v.path[1]+" is a part of towpath and has no address; give the provider another name")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		p := s.Providers[name]
		if p.URL != "" && p.Kind == "" {
			p.Kind = "openai"
			s.Providers[name] = p
		}
	}
	return nil
}

// defaults is the lowest layer.
func defaults() layer {
	l := layer{}
	add := func(path []string, text string) {
		k, ok := find(path)
		if !ok {
			return
		}
		data, err := k.fromText(text)
		if err != nil {
			return // a test holds the table to its own types
		}
		l[keyName(path)] = value{key: k, path: path, data: data, rank: rankDefault, origin: Origin{Name: "default"}}
	}
	for _, k := range keys() {
		if k.Default != "" && k.Env() != "" {
			add(strings.Split(k.Name, "."), k.Default)
		}
	}
	for _, p := range builtinProviders() {
		add([]string{"providers", p.Name, "kind"}, p.Kind)
		add([]string{"providers", p.Name, "url"}, p.URL)
		if p.KeyEnv != "" {
			add([]string{"providers", p.Name, "key_env"}, p.KeyEnv)
		}
	}
	return l
}
