package salvage

import "towpath/internal/model"

// The words that name the parts of a call in one format or another.
var (
	nameKeys = []string{"name", "tool", "tool_name", "toolName", "function_name", "function", "action", "recipient_name", "func", "api", "command"}
	argKeys  = []string{"arguments", "parameters", "args", "params", "input", "tool_input", "action_input", "tool_args", "tool_arguments",
		"function_args", "arguments_json", "kwargs", "inputs", "parameter", "argument"}
	listKeys  = []string{"tool_calls", "tool_uses", "function_calls", "calls", "actions", "tools", "functions"}
	innerKeys = []string{"function", "function_call", "tool_call", "tool_use", "call", "toolCall", "functionCall"}
	metaKeys  = []string{"id", "type", "index", "call_id", "tool_call_id", "role", "content", "status", "thought", "thoughts", "reasoning", "explanation", "description", "caller"}
)

func oneOf(s string, list []string) bool {
	for _, l := range list {
		if s == l {
			return true
		}
	}
	return false
}

// fromValue reads the calls that a JSON value means.
func (d *document) fromValue(v value) bool {
	switch v.kind {
	case array:
		if len(v.items) == 0 {
			return false
		}
		for _, it := range v.items {
			if !d.fromValue(it) {
				return false
			}
		}
		return true
	case object:
		return d.fromObject(v)
	}
	return false
}

func (d *document) fromObject(v value) bool {
	if name, used, ok := d.nameIn(v); ok {
		return d.fromNamed(v, name, used)
	}
	for _, k := range listKeys {
		if list, ok := v.get(k); ok && list.kind == array && onlyMeta(v, k) {
			return d.fromValue(list)
		}
	}
	for _, k := range innerKeys {
		if inner, ok := v.get(k); ok && inner.kind == object && onlyMeta(v, k) {
			return d.fromObject(inner)
		}
	}
	// {"search": {"q": "x"}}: the name is the key.
	if len(v.pairs) > 0 {
		for _, p := range v.pairs {
			name, ok := d.tools.offered(p.key)
			if !ok || p.val.kind != object || !d.add(name, p.val.json()) {
				return false
			}
		}
		return true
	}
	return false
}

func onlyMeta(v value, but string) bool {
	for _, p := range v.pairs {
		if p.key != but && !oneOf(p.key, metaKeys) {
			return false
		}
	}
	return true
}

// nameIn finds the key that holds an offered tool's name.
func (d *document) nameIn(v value) (name, key string, ok bool) {
	for _, k := range nameKeys {
		if n, there := v.get(k); there && n.kind == text {
			if name, ok = d.tools.offered(n.str); ok {
				return name, k, true
			}
		}
	}
	return "", "", false
}

// fromNamed reads a call whose name is known: its arguments under a key of their
// own, or beside the name where they are all parameters of the tool.
func (d *document) fromNamed(v value, name, nameKey string) bool {
	shape := d.tools.tools[name]
	argKey := ""
	var args value
	for _, k := range argKeys {
		if _, isParameter := shape.Properties[k]; isParameter && k != "arguments" && k != "parameters" {
			continue
		}
		if a, ok := v.get(k); ok {
			argKey, args = k, a
			break
		}
	}
	var flat []pair
	for _, p := range v.pairs {
		if p.key == nameKey || p.key == argKey {
			continue
		}
		if _, isParameter := shape.Properties[p.key]; isParameter {
			flat = append(flat, p)
		} else if !oneOf(p.key, metaKeys) && !oneOf(p.key, argKeys) {
			return false
		}
	}
	if argKey == "" {
		if len(flat) > 0 {
			return d.add(name, value{kind: object, pairs: flat}.json())
		}
		return d.addEmpty(name)
	}
	for _, p := range flat { // what is metadata in one format is a parameter in another
		if !oneOf(p.key, metaKeys) {
			return false
		}
	}
	return d.addValue(name, args)
}

// addValue adds a call whose arguments are v, an object or a string that holds one.
func (d *document) addValue(name string, v value) bool {
	switch {
	case v.kind == object && len(v.pairs) == 0:
		return d.add(name, "{}")
	case v.kind == object:
		return d.add(name, v.json())
	case v.kind == text && v.str == "", v.kind == literal && v.raw == "null":
		return d.addEmpty(name)
	case v.kind == text:
		r := reader{s: v.str, loose: d.loose}
		inner, ok := r.value()
		r.space()
		if !ok || !r.end() || r.missing > 0 || inner.kind != object {
			return false
		}
		return d.add(name, inner.json())
	}
	return false
}

// addEmpty adds a call that has no arguments, where the tool asks for none.
func (d *document) addEmpty(name string) bool {
	return d.tools.mayBeEmpty(name) && d.add(name, "{}")
}

// add adds a call; the same one again right after is the same one.
func (d *document) add(name, args string) bool {
	call := model.ToolCall{Name: name, Arguments: args}
	if n := len(d.found); n > 0 && d.found[n-1] == call {
		return true
	}
	if len(d.found) >= maxCalls {
		return false
	}
	d.found = append(d.found, call)
	return true
}
