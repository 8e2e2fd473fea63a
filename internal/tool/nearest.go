package tool

import (
	"fmt"
	"strings"

	"github.com/xrash/smetrics"
)

// UnknownError names a server or tool that is not there.
type UnknownError struct {
	What    string   // "server" or "tool"
	Name    string   // as it was asked for
	Server  string   // of a tool in a contract: its server
	Line    int      // in the contract, 0 outside of one
	Nearest string   // the most similar name, "" if none is similar
	Known   []string // what there is
}

// Error gives the name, what is nearest and what there is.
func (e *UnknownError) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	fmt.Fprintf(&b, "there is no %s %q", e.What, e.Name)
	if e.Server != "" {
		fmt.Fprintf(&b, " on %q", e.Server)
	}
	there := "; there is"
	if e.Nearest != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Nearest)
		there = " There is"
	}
	known, more := e.Known, ""
	if len(known) > 40 {
		known, more = known[:40], fmt.Sprintf(" and %d more", len(e.Known)-40)
	}
	if len(known) == 0 {
		known = []string{"none at all"}
	}
	fmt.Fprintf(&b, "%s: %s%s", there, strings.Join(known, ", "), more)
	return b.String()
}

// Nearest gives the name that is most like name, or "" if none is.
func Nearest(name string, known []string) string {
	best, score := "", 0.75
	for _, k := range known {
		s := smetrics.JaroWinkler(loose(name), loose(k), 0.7, 4)
		if s > score {
			best, score = k, s
		}
	}
	return best
}

// loose makes names comparable that differ in case and separators.
func loose(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' || r == '.' {
			return '_'
		}
		return r
	}, strings.ToLower(s))
}
