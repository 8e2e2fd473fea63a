package settings

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// merge puts the layers, lowest first, over each other. A key's value comes
// whole from one of them.
func (s *Settings) merge(layers []layer, root string) error {
	s.values = map[string]value{}
	for _, l := range layers {
		home := s.homeOnly() // what the layers below say, in whatever order this one is read
		for name, v := range l {
			v, err := s.place(v)
			if err != nil {
				return err
			}
			if v.rank == rankProject {
				if danger := s.needsTrust(v, root, home); danger != "" && s.TrustState != Trusted {
					s.inert(v, danger)
					continue
				}
				if low, ok := s.values[name]; ok && low.rank == rankUser {
					v = tighten(v, low)
				}
			}
			s.values[name] = v
		}
	}
	slices.SortFunc(s.Inert, func(a, b Inert) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return strings.Compare(a.Key, b.Key)
	})
	return nil
}

// place makes a value's paths absolute.
func (s *Settings) place(v value) (value, error) {
	from := s.env.abs(".")
	if v.origin.File != "" {
		from = filepath.Dir(v.origin.File)
	}
	var err error
	switch {
	case v.key.Path:
		v.data, err = s.env.path(from, v.data.(string))
	case v.key.Name == "write":
		if s.Subject.Dir != "" {
			from = s.Subject.Dir
		}
		list := slices.Clone(v.data.([]string))
		for i := range list {
			if list[i], err = s.env.path(from, list[i]); err != nil {
				break
			}
		}
		v.data = list
	}
	if err != nil {
		return v, fault(v, err.Error())
	}
	return v, nil
}

// fault gives an error about a value where it was set.
func fault(v value, why string) error {
	if v.origin.File != "" {
		return &FileError{File: v.origin.File, Line: v.origin.Line, Key: v.name(), Why: why}
	}
	return &InputError{Name: v.origin.Name, Why: why}
}

// needsTrust gives what a workspace's value could do, "" where it needs no
// trust.
func (s *Settings) needsTrust(v value, root string, home bool) (danger string) {
	switch {
	case v.key.Rule == NeedsTrust, v.key.Rule == Outside && leadsOut(v.data.(string), root):
		return v.key.Danger
	case v.key.Model:
		id := v.data.(string)
		if home && s.away(id) {
			return "sends the workspace's text to another machine, and your own settings keep it on this one"
		}
		return s.modelDanger(id, root)
	}
	return ""
}

// homeOnly reports whether the user's own file keeps text on this machine: it
// names models, and every one of them answers here.
func (s *Settings) homeOnly() bool {
	names := 0
	for _, v := range s.values {
		if v.rank != rankUser || !v.key.Model {
			continue
		}
		if names++; s.away(v.text()) {
			return false
		}
	}
	return names > 0
}

// away reports whether a model answers on another machine.
func (s *Settings) away(id string) bool {
	provider, _, _ := strings.Cut(id, "/")
	at, err := url.Parse(s.values[keyName([]string{"providers", provider, "url"})].text())
	if err != nil || at.Host == "" {
		return false
	}
	ip := net.ParseIP(at.Hostname())
	return at.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// modelDanger is about models that are files: a stranger's weights are read by
// native code, and a recording may lie anywhere.
func (s *Settings) modelDanger(id, root string) string {
	provider, name, _ := strings.Cut(id, "/")
	switch {
	case provider == "local" && strings.HasSuffix(strings.ToLower(name), ".gguf"):
		return "loads a model's file into a program"
	case provider == "replay" && leadsOut(s.env.abs(name), root):
		return "reads a file outside the repository"
	}
	return ""
}

// leadsOut reports whether an absolute path leads out of the repository.
func leadsOut(p, root string) bool {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		p = real
	}
	return !within(root, p)
}

func (s *Settings) inert(v value, danger string) {
	v.note = "not in force: not trusted"
	s.beaten = append(s.beaten, v)
	s.Inert = append(s.Inert, Inert{Key: v.name(), File: v.origin.File, Line: v.origin.Line, Why: danger, Value: v.shown()})
}

// tighten holds what a workspace's file sets within what the user's file
// allows.
func tighten(own, user value) value {
	held := false
	switch {
	case own.key.Name == "fetch.allow":
		own.data, held = common(own.data.([]string), user.data.([]string), rangeWithin)
	case own.key.Name == "write":
		own.data, held = common(own.data.([]string), user.data.([]string), func(a, b string) bool { return covers(b, a) })
	case own.key.Rule == Tighten:
		if looser(own, user) {
			own.data, held = user.data, true
		}
	}
	if held {
		own.note = fmt.Sprintf("held to what %s allows", user.origin)
	}
	return own
}

// looser reports whether own allows more. No limit is written as 0 tokens.
func looser(own, user value) bool {
	switch o := own.data.(type) {
	case int64:
		u := user.data.(int64)
		return u != 0 && (o > u || o == 0)
	case time.Duration:
		return o > user.data.(time.Duration)
	}
	return false
}

// common keeps those of own that lie within one of user's.
func common(own, user []string, within func(a, b string) bool) (kept []string, held bool) {
	kept = []string{}
	for _, o := range own {
		if slices.ContainsFunc(user, func(u string) bool { return within(o, u) }) {
			kept = append(kept, o)
		}
	}
	return kept, len(kept) < len(own)
}

func rangeWithin(a, b string) bool {
	x, errX := netip.ParsePrefix(a)
	y, errY := netip.ParsePrefix(b)
	return errX == nil && errY == nil && y.Bits() <= x.Bits() && y.Contains(x.Addr())
}

// covers reports whether an absolute pattern allows an absolute path: it is the
// path, a folder above it, or a pattern that matches it.
func covers(pattern, path string) bool {
	if pattern == path || strings.HasPrefix(path, strings.TrimSuffix(pattern, string(filepath.Separator))+string(filepath.Separator)) {
		return true
	}
	ok, err := doublestar.PathMatch(pattern, path)
	return err == nil && ok
}
