package lint

import (
	"fmt"
	"strings"
)

// Mermaid is the graph as a Mermaid flowchart: stages are boxes, files that
// people keep are slanted, what flows between stages is on the arrows, and
// dotted arrows are On fail routes.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	ids := map[string]string{}
	for i, n := range g.Stages {
		id := fmt.Sprintf("s%d", i+1)
		ids[n.Name] = id
		fmt.Fprintf(&b, "  %s[\"%s\"]\n", id, strings.Join(escape(n.label()), "<br/>"))
	}
	files := map[string]string{}
	for _, f := range g.Flows {
		to := ids[f.To]
		if from, ok := ids[f.From]; ok {
			fmt.Fprintf(&b, "  %s -- \"%s\" --> %s\n", from, mermaidText(short(f)), to)
			continue
		}
		id, ok := files[f.Path]
		if !ok {
			id = fmt.Sprintf("f%d", len(files)+1)
			files[f.Path] = id
			fmt.Fprintf(&b, "  %s[/\"%s\"/]\n", id, mermaidText(f.Path))
		}
		fmt.Fprintf(&b, "  %s --> %s\n", id, to)
	}
	for i, r := range g.Routes {
		to, ok := ids[r.To]
		if !ok {
			to = fmt.Sprintf("u%d", i+1)
			fmt.Fprintf(&b, "  %s[\"%s\"]\n", to, mermaidText(r.To))
		}
		fmt.Fprintf(&b, "  %s -. \"on fail, at most %d times\" .-> %s\n", ids[r.From], r.Times, to)
	}
	return b.String()
}

func (n Node) label() []string {
	rows := []string{n.Name}
	if n.ForEach != "" {
		rows = append(rows, "for each "+n.ForEach)
	}
	if len(n.Tools) > 0 {
		rows = append(rows, "tools: "+strings.Join(n.Tools, "; "))
	}
	if len(n.Checks) > 0 {
		rows = append(rows, "checks: "+strings.Join(n.Checks, "; "))
	}
	return append(rows, "exits: "+strings.Join(n.Exits, ", "), "gate: "+n.Gate)
}

func short(f Flow) string {
	s := f.Path[strings.LastIndexByte(f.Path, '/')+1:]
	if f.Items {
		s += " (items)"
	}
	return s
}

func escape(rows []string) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = mermaidText(r)
	}
	return out
}

// mermaidText makes a text safe inside a quoted Mermaid label.
func mermaidText(s string) string {
	return strings.NewReplacer("#", "#35;", "\"", "#quot;", "<", "#lt;", ">", "#gt;", "\n", " ", "\r", "", "`", "#96;").Replace(s)
}
