package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Shown is one key as towpath config prints it.
type Shown struct {
	Key    string `json:"key"`
	Value  string `json:"value"`  // as TOML writes it; secrets hidden
	Origin string `json:"origin"` // file:line, a variable, a flag, or "default"
	Note   string `json:"note,omitempty"`
	Inert  bool   `json:"inert,omitempty"` // not in force
}

// Values lists what is set, where it came from, and what is set but not in
// force, in the table's order.
func (s *Settings) Values() []Shown {
	var all []value
	for _, v := range s.values {
		all = append(all, v)
	}
	all = append(all, s.beaten...)
	slices.SortFunc(all, inTableOrder())
	shown := make([]Shown, 0, len(all))
	for _, v := range all {
		shown = append(shown, Shown{Key: v.name(), Value: v.shown(), Origin: v.origin.String(), Note: v.note,
			Inert: strings.HasPrefix(v.note, "not in force")})
	}
	return shown
}

// inTableOrder compares values by where their keys stand in the table, those of
// one name (a provider, a server) together.
func inTableOrder() func(a, b value) int {
	group, order := map[string]int{}, map[string]int{}
	for i, k := range keys() {
		order[k.Name] = i
		top, _, _ := strings.Cut(k.Name, ".")
		if _, ok := group[top]; !ok {
			group[top] = i
		}
	}
	named := func(v value) string {
		if strings.Contains(v.key.Name, "*") {
			return v.path[1]
		}
		return ""
	}
	return func(a, b value) int {
		return cmp.Or(
			cmp.Compare(group[a.path[0]], group[b.path[0]]),
			cmp.Compare(named(a), named(b)),
			cmp.Compare(order[a.key.Name], order[b.key.Name]),
			cmp.Compare(a.name(), b.name()),
			cmp.Compare(a.rank, b.rank),
		)
	}
}

// Reference is the page that documents every key, made from the table.
func Reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	section := ""
	for _, k := range keys() {
		here := "At the top"
		if top, _, ok := strings.Cut(k.Name, "."); ok {
			here = "[" + top + "]"
		}
		if here != section {
			fmt.Fprintf(&b, "\n## %s\n\n", here)
			section = here
		}
		writeKey(&b, k)
	}
	return b.String()
}

func writeKey(b *strings.Builder, k Key) {
	fmt.Fprintf(b, "- `%s` (%s", strings.ReplaceAll(k.Name, "*", "NAME"), k.Type)
	if k.Default != "" {
		fmt.Fprintf(b, ", default `%s`", k.Default)
	}
	if env := k.Env(); env != "" {
		fmt.Fprintf(b, ", `%s`", env)
	}
	b.WriteString("): " + k.Meaning)
	switch k.Rule {
	case Tighten:
		b.WriteString(" A workspace's file cannot go beyond what your own file allows.")
	case NeedsTrust:
		b.WriteString(" In a workspace's file it waits for `towpath trust`.")
	case Outside:
		b.WriteString(" In a workspace's file, a place outside the repository waits for `towpath trust`.")
	}
	b.WriteString("\n")
}

const referenceHead = `# Settings

This page is made from the program's own table; ` + "`towpath config`" + ` prints what is in force and where each value came from.

What comes first wins: flags, then ` + "`TOWPATH_*`" + ` variables, then the nearest ` + "`towpath.toml`" + ` (in the workspace or a folder above
it, up to the repository's root; only that one is read), then your own file (` + "`$XDG_CONFIG_HOME/towpath/config.toml`" + `, else
` + "`~/.config/towpath/config.toml`" + `), then the default. A key that does not exist is an error with its line.

Keys of model servers are never written into these files: name the variable or the file that holds one.
What a stranger's ` + "`towpath.toml`" + ` could do harm with is not in force until you have read it and said ` + "`towpath trust`" + `.
A change of the file asks again.

Lists in variables are written with commas. An empty variable counts as not set.
`
