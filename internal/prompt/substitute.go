package prompt

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"towpath/internal/workspace"
)

// Substitute replaces {{name}} by its value, once: what a value holds is not
// looked at again, and a name without a value stays as written.
func Substitute(text string, vars map[string]string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	var b strings.Builder
	at := 0
	for _, p := range placeholders(text) {
		value, ok := vars[p.name]
		if !ok {
			continue
		}
		b.WriteString(text[at:p.start])
		b.WriteString(value)
		at = p.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// Unresolved gives the placeholders of a stage's contract that nothing will
// fill in, with their lines in the contract. vars is [vars] of the settings.
func Unresolved(st *workspace.Stage, vars map[string]string) []workspace.Placeholder {
	known := values(st, Options{Vars: vars})
	if st.Contract.ForEach != nil {
		known["item"], known["n"], known["total"] = "", "", ""
	}
	return unresolved(st, known)
}

// values are the placeholders that have a value in this call.
func values(st *workspace.Stage, o Options) map[string]string {
	v := make(map[string]string, len(o.Vars)+4)
	for name, value := range o.Vars {
		v[name] = value
	}
	v["stage"] = st.Name
	if o.Item != nil {
		v["item"] = o.Item.Title
		v["n"] = strconv.Itoa(o.Item.N)
		v["total"] = strconv.Itoa(max(o.Total, o.Item.N))
	}
	return v
}

// unresolved looks at what is substituted, the process text and the outputs,
// and gives each place in the contract where such a name stands.
func unresolved(st *workspace.Stage, known map[string]string) []workspace.Placeholder {
	c := &st.Contract
	lines := map[string]int{} // name -> a line, where the source does not tell
	look := func(text string, line int) {
		for _, p := range placeholders(text) {
			if _, ok := known[p.name]; !ok && lines[p.name] == 0 {
				lines[p.name] = max(line, 1)
			}
		}
	}
	look(c.Process, c.ProcessLine)
	for _, o := range c.Outputs {
		look(o.Name, o.Line)
		look(o.Description, o.Line)
	}
	if len(lines) == 0 {
		return nil
	}
	var list []workspace.Placeholder
	source, at, line := string(c.Source), 0, 1
	for _, p := range placeholders(source) {
		if _, ok := lines[p.name]; ok {
			line += strings.Count(source[at:p.start], "\n")
			at = p.start
			list = append(list, workspace.Placeholder{Name: p.name, Line: line})
		}
	}
	if len(list) == 0 {
		for name, line := range lines {
			list = append(list, workspace.Placeholder{Name: name, Line: line})
		}
		slices.SortFunc(list, func(a, b workspace.Placeholder) int {
			return cmp.Or(a.Line-b.Line, strings.Compare(a.Name, b.Name))
		})
	}
	return list
}

// MendPlaceholder says what to do about a placeholder that has no value.
func MendPlaceholder(name string) string {
	switch name {
	case "item", "n", "total":
		return "add a For each section, or take it out"
	}
	return "define " + name + " under [vars] in towpath.toml, or take it out; known are {{item}}, {{n}}, {{total}} and {{stage}}"
}

type placeholder struct {
	name       string
	start, end int // of the braces
}

// placeholders finds {{name}}, with or without spaces inside the braces. A
// name begins with a letter and holds letters, digits, _ and -. What else
// stands in double braces belongs to some other language.
func placeholders(text string) []placeholder {
	var list []placeholder
	for at := 0; ; {
		open := strings.Index(text[at:], "{{")
		if open < 0 {
			return list
		}
		open += at
		for strings.HasPrefix(text[open+1:], "{{") {
			open++ // the innermost pair counts
		}
		end := strings.Index(text[open+2:], "}}")
		if end < 0 {
			return list
		}
		end += open + 2
		name := strings.Trim(text[open+2:end], " \t")
		if isName(name) {
			list = append(list, placeholder{name, open, end + 2})
			at = end + 2
		} else {
			at = open + 2
		}
	}
}

func isName(s string) bool {
	if s == "" || len(s) > 100 {
		return false
	}
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r >= 0xC0
		if !letter && (i == 0 || (r < '0' || r > '9') && r != '-') {
			return false
		}
	}
	return true
}
