package workspace

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first needed:
// commands that read no contract do not pay for it.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
