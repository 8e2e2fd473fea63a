package settings

import (
	"strconv"
	"strings"
)

// Configured reports whether something other than the defaults sets the key or
// anything below it.
func (s *Settings) Configured(key string) bool {
	for name, v := range s.values {
		if v.rank > rankDefault && (name == key || below(key, name)) {
			return true
		}
	}
	return false
}

// StateDir is the user's folder for what the program keeps of its own use:
// what is trusted, conversations, lines that were typed. "" where no folder of
// the user's is known.
func (s *Settings) StateDir() string { return s.env.stateDir() }

// KeyPart is one part of a key as it is written between dots.
func KeyPart(part string) string { return keyName([]string{part}) }

// ServerOf gives the name of the tool server that a key is about.
func ServerOf(key string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(key, "servers.")
	if !ok {
		return "", false
	}
	if !strings.HasPrefix(rest, `"`) {
		name, _, _ = strings.Cut(rest, ".")
		return name, name != ""
	}
	prefix, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return "", false
	}
	name, err = strconv.Unquote(prefix)
	return name, err == nil
}
