package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"towpath/internal/workspace"
)

// Offered is a tool under the name by which a model knows it: server_tool,
// made of what every provider takes (letters, digits, _ and -, at most 64).
type Offered struct {
	Name string
	Tool Tool
}

// Scope is what a contract's Tools section opens: nothing else can be called.
type Scope struct {
	Offers   []Offered
	Required [][]string // offered names; of each group one must have returned without error
	Warnings []string   // tools that were left out, and why
}

// Open maps grants to offers. Only servers that a grant names are asked for
// their tools. An unknown server or tool is an *UnknownError that names the
// nearest. A tool whose schema cannot be offered is left out with a warning;
// where nothing is left of a required line, that is an error.
func Open(ctx context.Context, grants []workspace.ToolGrant, servers []Server) (Scope, error) {
	var (
		picked []Tool
		groups [][]Tool
		scope  Scope
		lists  = map[string][]Tool{}
		seen   = map[[2]string]bool{}
		known  []string
	)
	for _, s := range servers {
		known = append(known, s.Name())
	}
	for _, g := range grants {
		server := find(servers, g.Server)
		if server == nil {
			return Scope{}, &UnknownError{What: "tool server", Name: g.Server, Line: g.Line, Nearest: Nearest(g.Server, known), Known: known}
		}
		if a, ok := server.(absent); ok && !g.Required {
			scope.Warnings = append(scope.Warnings, fmt.Sprintf("%s is optional and cannot be used, so its tools are not offered: %v", a.name, a.why))
			continue
		}
		if _, ok := lists[server.Name()]; !ok {
			tools, err := server.Tools(ctx)
			if err != nil {
				return Scope{}, fmt.Errorf("listing the tools of %s: %w", server.Name(), err)
			}
			lists[server.Name()] = tools
		}
		tools, err := granted(g, server.Name(), lists[server.Name()])
		if err != nil {
			return Scope{}, err
		}
		var group []Tool
		for _, t := range tools {
			spec := t.Spec()
			if _, err := NormaliseSchema(spec.Input); err != nil {
				scope.Warnings = append(scope.Warnings, fmt.Sprintf("%s: %s is left out: %s", server.Name(), spec.Name, err))
				continue
			}
			group = append(group, t)
			if id := [2]string{server.Name(), spec.Name}; !seen[id] {
				seen[id] = true
				picked = append(picked, t)
			}
		}
		if g.Required {
			if len(group) == 0 {
				return Scope{}, fmt.Errorf("line %d: none of the tools that are required of %s can be offered; %s",
					g.Line, g.Server, strings.Join(scope.Warnings, "; "))
			}
			groups = append(groups, group)
		}
	}
	names := Names(picked)
	for i, t := range picked {
		scope.Offers = append(scope.Offers, Offered{Name: names[i], Tool: t})
	}
	for _, group := range groups {
		scope.Required = append(scope.Required, scope.namesOf(group))
	}
	return scope, nil
}

func (s Scope) namesOf(group []Tool) []string {
	var names []string
	for _, t := range group {
		spec := t.Spec()
		for _, o := range s.Offers {
			if other := o.Tool.Spec(); other.Server == spec.Server && other.Name == spec.Name {
				names = append(names, o.Name)
				break
			}
		}
	}
	return names
}

// find matches a server's name exactly, then ignoring case and separators.
func find(servers []Server, name string) Server {
	for _, s := range servers {
		if s.Name() == name {
			return s
		}
	}
	for _, s := range servers {
		if loose(s.Name()) == loose(name) {
			return s
		}
	}
	return nil
}

// granted gives the tools that one line names.
func granted(g workspace.ToolGrant, server string, tools []Tool) ([]Tool, error) {
	if g.All {
		return tools, nil
	}
	var known []string
	for _, t := range tools {
		known = append(known, t.Spec().Name)
	}
	var out []Tool
	for _, name := range g.Tools {
		i := slices.Index(known, name)
		if i < 0 {
			i = slices.IndexFunc(known, func(k string) bool { return loose(k) == loose(name) })
		}
		if i < 0 {
			return nil, &UnknownError{What: "tool", Name: name, Server: server, Line: g.Line, Nearest: Nearest(name, known), Known: known}
		}
		out = append(out, tools[i])
	}
	return out, nil
}

const longest = 64 // characters of a name that every provider takes

// Names gives each tool its name for the model. A name depends only on the set
// of tools, not on their order; where two would have one name, both get a piece
// of the hash of what they are called.
func Names(tools []Tool) []string {
	names := make([]string, len(tools))
	count := map[string]int{}
	for i, t := range tools {
		spec := t.Spec()
		full := safe(spec.Name)
		if spec.Server != "" {
			full = safe(spec.Server) + "_" + full
		}
		names[i] = full
		count[full]++
	}
	for i, t := range tools {
		if count[names[i]] == 1 && len(names[i]) <= longest {
			continue
		}
		spec := t.Spec()
		sum := sha256.Sum256([]byte(spec.Server + "\x00" + spec.Name))
		suffix := "_" + hex.EncodeToString(sum[:4])
		names[i] = names[i][:min(len(names[i]), longest-len(suffix))] + suffix
	}
	return names
}

// safe replaces what a provider may refuse in a name.
func safe(s string) string {
	out := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, s)
	if out == "" {
		return "_"
	}
	return out
}
