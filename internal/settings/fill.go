package settings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// fill puts the values in force into the fields that everybody reads.
func (s *Settings) fill() error {
	s.Vars, s.Use = map[string]string{}, map[string]string{}
	s.Headings = map[string][]string{}
	s.Models = map[string]Params{}
	s.Providers, s.Servers = map[string]Provider{}, map[string]Server{}
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		s.set(s.values[name])
	}
	if err := s.checkServers(); err != nil {
		return err
	}
	return s.checkProviders()
}

func (s *Settings) set(v value) {
	switch v.path[0] {
	case "vars":
		s.Vars[v.path[1]] = v.text()
	case "use":
		s.Use[v.path[1]] = v.text()
	case "headings":
		s.Headings[v.path[1]] = v.list()
	case "models":
		p := s.Models[v.path[1]]
		p.set(v)
		s.Models[v.path[1]] = p
	case "providers":
		p := s.Providers[v.path[1]]
		p.set(v, s.env)
		s.Providers[v.path[1]] = p
	case "servers":
		p := s.Servers[v.path[1]]
		p.set(v, s.env)
		s.Servers[v.path[1]] = p
	default:
		s.setGeneral(v)
	}
}

func (s *Settings) setGeneral(v value) {
	switch v.key.Name {
	case "model":
		s.Model = v.text()
	case "suggest":
		s.Suggest = v.list()
	case "temperature":
		s.Temperature = v.number()
	case "window":
		s.Window = v.whole()
	case "reply":
		s.Reply = v.whole()
	case "think":
		s.Think = v.truth()
	case "timeouts.connect":
		s.Timeouts.Connect = v.duration()
	case "timeouts.first_byte":
		s.Timeouts.FirstByte = v.duration()
	case "timeouts.idle":
		s.Timeouts.Idle = v.duration()
	case "timeouts.total":
		s.Timeouts.Total = v.duration()
	case "limits.tool_calls":
		s.Limits.ToolCalls = v.whole()
	case "limits.time":
		s.Limits.Time = v.duration()
	case "limits.tokens":
		s.Limits.Tokens = v.whole()
	case "limits.result_bytes":
		s.Limits.ResultBytes = v.whole()
	case "limits.wait":
		s.Limits.Wait = v.duration()
	case "search.library":
		s.Search.Library = v.text()
	case "search.max_results":
		s.Search.MaxResults = v.whole()
	case "search.searxng":
		s.Search.SearXNG = v.text()
	case "fetch.camofox":
		s.Fetch.Camofox = v.text()
	case "write":
		s.Write = v.list()
	case "fetch.allow":
		s.Fetch.Allow = v.list()
	}
}

func (p *Params) set(v value) {
	switch v.path[2] {
	case "temperature":
		p.Temperature = v.number()
	case "window":
		p.Window = v.whole()
	case "reply":
		p.Reply = v.whole()
	case "think":
		p.Think = v.truth()
	case "tools":
		p.Tools = v.truth()
	case "parallel":
		p.Parallel = v.whole()
	case "first_byte":
		p.Timeouts.FirstByte = v.duration()
	case "idle":
		p.Timeouts.Idle = v.duration()
	case "total":
		p.Timeouts.Total = v.duration()
	}
}

func (p *Server) set(v value, env *environment) {
	p.Name = v.path[1]
	switch v.path[2] {
	case "builtin":
		p.Builtin = v.text()
	case "command":
		p.Command = v.text()
	case "args":
		p.Args = v.list()
	case "url":
		p.URL = v.text()
	case "optional":
		p.Optional = *v.truth()
	case "env":
		p.Env = with(p.Env, v.path[3], p.taken(v, env))
	case "headers":
		p.Headers = with(p.Headers, v.path[3], p.taken(v, env))
	case "token_file":
		p.TokenFile = v.text()
	case "start_timeout":
		p.StartTimeout = v.duration()
	case "call_timeout":
		p.CallTimeout = v.duration()
	case "call_limit":
		p.CallLimit = v.duration()
	}
}

// taken gives a value and notes a variable that it names and that is not set.
func (p *Server) taken(v value, env *environment) Secret {
	s, unset := env.taken(v)
	if unset != "" {
		p.Unset = append(p.Unset, unset)
		slices.Sort(p.Unset)
	}
	return s
}

func with(m map[string]Secret, name string, s Secret) map[string]Secret {
	if m == nil {
		m = map[string]Secret{}
	}
	m[name] = s
	return m
}

// secret gives the text of a header or variable: "$NAME" stands for what the
// environment holds under that name, also after one word ("Bearer $NAME").
func (e *environment) secret(v value) Secret {
	s, _ := e.taken(v)
	return s
}

// taken is secret, with the name of a variable that is not set.
func (e *environment) taken(v value) (s Secret, unset string) {
	s, _ = v.data.(Secret)
	word, name, ok := strings.Cut(s.Reveal(), "$")
	if !ok || !isBare(name) || word != "" && (!strings.HasSuffix(word, " ") || !isBare(word[:len(word)-1])) {
		return s, ""
	}
	text, ok := e.vars[name]
	if !ok {
		return Secret{}, name
	}
	return NewSecret(word + text), ""
}

// checkServers wants one of the three kinds for each server, also of those
// that still wait for trust.
func (s *Settings) checkServers() error {
	kinds := map[string][]value{}
	first := map[string]value{}
	all := slices.Concat(slices.Collect(maps.Values(s.values)), s.beaten)
	slices.SortFunc(all, func(a, b value) int {
		return cmp.Or(cmp.Compare(a.origin.Line, b.origin.Line), strings.Compare(a.name(), b.name()))
	})
	for _, v := range all {
		if v.path[0] != "servers" {
			continue
		}
		name := v.path[1]
		if _, ok := first[name]; !ok {
			first[name] = v
		}
		if kind := v.path[2]; kind == "builtin" || kind == "command" || kind == "url" {
			kinds[name] = append(kinds[name], v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(first)) {
		switch k := kinds[name]; {
		case len(k) == 0:
			return fault(first[name], "a server has one of builtin, command and url")
		case len(k) > 1 && k[0].path[2] != k[len(k)-1].path[2]:
			return fault(k[len(k)-1], fmt.Sprintf("a server has one of builtin, command and url, and %s is set too", k[0].name()))
		}
	}
	return nil
}

func (v value) text() string            { s, _ := v.data.(string); return s }
func (v value) list() []string          { l, _ := v.data.([]string); return l }
func (v value) whole() int              { n, _ := v.data.(int64); return int(n) }
func (v value) duration() time.Duration { d, _ := v.data.(time.Duration); return d }

func (v value) number() *float64 {
	n, _ := v.data.(float64)
	return &n
}

func (v value) truth() *bool {
	b, _ := v.data.(bool)
	return &b
}
