package chat

import "strings"

// tidy brings messages into an order that every template takes: one system
// message, first; then no two messages of user or assistant in a row that
// could be one.
func tidy(msgs []Message) []Message {
	var system []string
	var out []Message
	for _, m := range msgs {
		if m.Role == "system" || m.Role == "developer" {
			if strings.TrimSpace(m.Content) != "" {
				system = append(system, m.Content)
			}
			continue
		}
		if m.Role == "function" {
			m.Role = "tool"
		}
		if n := len(out); n > 0 && out[n-1].Role == m.Role && m.Role != "tool" && len(out[n-1].Calls) == 0 {
			out[n-1].Content = joined(out[n-1].Content, m.Content)
			out[n-1].Calls = m.Calls
			continue
		}
		out = append(out, m)
	}
	if len(system) > 0 {
		out = append([]Message{{Role: "system", Content: strings.Join(system, "\n\n")}}, out...)
	}
	return out
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// explain rewrites a conversation for a model whose template knows no tools:
// the tools stand in the system message, calls and results are plain text.
func explain(msgs []Message, tools []Tool) []Message {
	var out []Message
	if len(tools) > 0 {
		out = append(out, Message{Role: "system", Content: instruction(tools)})
	}
	for i, m := range msgs {
		switch {
		case m.Role == "tool":
			text := "<tool_response>\n" + m.Content + "\n</tool_response>"
			if n := len(out); n > 0 && i > 0 && msgs[i-1].Role == "tool" {
				out[n-1].Content += "\n" + text
				continue
			}
			out = append(out, Message{Role: "user", Content: text})
		case len(m.Calls) > 0:
			out = append(out, Message{Role: m.Role, Content: m.Content + callTexts(m)})
		default:
			out = append(out, m)
		}
	}
	// What the author says comes before how tools are called.
	if len(tools) > 0 && len(out) > 1 && out[1].Role == "system" {
		out[0], out[1] = out[1], out[0]
	}
	return out
}

func callTexts(m Message) string {
	var b strings.Builder
	for i, c := range m.Calls {
		if i > 0 || m.Content != "" {
			b.WriteByte('\n')
		}
		b.WriteString(openMark + "\n" + `{"name": ` + quoted(c.Name) + `, "arguments": ` + c.arguments() + "}\n" + closeMark)
	}
	return b.String()
}

// instruction says in words what tools there are and how one is called.
func instruction(tools []Tool) string {
	var b strings.Builder
	b.WriteString("# Tools\n\nYou may call one or more functions to assist with the user query.\n\n" +
		"You are provided with function signatures within <tools></tools> XML tags:\n<tools>")
	for _, t := range tools {
		b.WriteString("\n" + t.spec())
	}
	b.WriteString("\n</tools>\n\nFor each function call, return a json object with function name and arguments " +
		"within <tool_call></tool_call> XML tags:\n" + openMark + "\n" +
		`{"name": <function-name>, "arguments": <args-json-object>}` + "\n" + closeMark)
	return b.String()
}
