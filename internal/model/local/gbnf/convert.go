package gbnf

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// convert gives an expression for the values that satisfy a schema.
func (b *builder) convert(n node, depth int) (string, error) {
	if depth > maxDepth || b.full {
		return "", errTooLarge
	}
	if v, ok := n.value.(bool); ok && !n.isObj {
		if !v {
			return "", errors.New("the schema is false: nothing satisfies it")
		}
		return b.ref("value"), nil
	}
	if !n.isObj {
		return "", errors.New("the schema is neither an object nor true")
	}
	expr, err := b.convertObject(n, depth)
	if err != nil {
		return "", err
	}
	if nullable, _ := n.get("nullable"); nullable.value == true {
		return b.rule("nullable", expr+` | "null"`), nil
	}
	return expr, nil
}

func (b *builder) convertObject(n node, depth int) (string, error) {
	if ref := n.text("$ref"); ref != "" {
		return b.follow(ref, depth)
	}
	if c, ok := n.get("const"); ok {
		return literal(c.spaced()), nil
	}
	if enum, ok := n.get("enum"); ok && len(enum.items) > 0 {
		alts := make([]string, len(enum.items))
		for i, item := range enum.items {
			alts[i] = literal(item.spaced())
		}
		return b.rule("enum", strings.Join(alts, " | ")), nil
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if alts, ok := n.get(key); ok && len(alts.items) > 0 {
			return b.any(n, key, alts.items, depth)
		}
	}
	if all, ok := n.get("allOf"); ok && len(all.items) > 0 {
		merged, err := b.merge(n, all.items, depth)
		if err != nil {
			return "", err
		}
		return b.convert(merged, depth+1)
	}
	return b.typed(n, depth)
}

// follow converts what a reference points to. Each target is one rule, so that
// a schema may refer to itself.
func (b *builder) follow(ref string, depth int) (string, error) {
	if name, ok := b.refs[ref]; ok {
		return name, nil
	}
	target, err := b.target(ref)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("ref-%d", len(b.names))
	b.refs[ref] = name
	b.set(name, `""`) // takes the name
	expr, err := b.convert(target, depth+1)
	if err != nil {
		return "", err
	}
	if expr == name {
		return "", fmt.Errorf("the reference %s points to itself", ref)
	}
	b.set(name, expr)
	return name, nil
}

// target finds what a JSON pointer within the schema points to.
func (b *builder) target(ref string) (node, error) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return node{}, fmt.Errorf("the reference %q leaves the schema", ref)
	}
	at := b.root
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		next, ok := at.get(part)
		if !ok {
			var i int
			if _, err := fmt.Sscanf(part, "%d", &i); err != nil || i < 0 || i >= len(at.items) {
				return node{}, fmt.Errorf("the reference %q points nowhere", ref)
			}
			next = at.items[i]
		}
		at = next
	}
	return at, nil
}

// any converts alternatives, each together with what stands beside them.
func (b *builder) any(n node, key string, alts []node, depth int) (string, error) {
	beside := node{isObj: true}
	for _, m := range n.members {
		if m.name != key {
			beside.members = append(beside.members, m)
		}
	}
	_, typed := beside.get("properties")
	var out []string
	for _, alt := range alts {
		if typed {
			merged, err := b.merge(beside, []node{alt}, depth)
			if err != nil {
				return "", err
			}
			alt = merged
		}
		expr, err := b.convert(alt, depth+1)
		if errors.Is(err, errTooLarge) {
			return "", err
		}
		if err != nil {
			continue // an alternative that nothing satisfies
		}
		out = append(out, expr)
	}
	if len(out) == 0 {
		return "", fmt.Errorf("nothing satisfies any alternative of %s", key)
	}
	return b.rule("any", strings.Join(out, " | ")), nil
}

// merge joins schemas that must hold together: properties and required are
// united, of anything else the first counts.
func (b *builder) merge(n node, parts []node, depth int) (node, error) {
	out := node{isObj: true}
	var props node
	var required node
	props.isObj, required.isArr = true, true
	add := func(part node) {
		for _, m := range part.members {
			switch m.name {
			case "allOf":
			case "properties":
				for _, p := range m.node.members {
					if _, ok := props.get(p.name); !ok {
						props.members = append(props.members, p)
					}
				}
			case "required":
				required.items = append(required.items, m.node.items...)
			default:
				if _, ok := out.get(m.name); !ok {
					out.members = append(out.members, m)
				}
			}
		}
	}
	add(n)
	for _, part := range parts {
		for hops := 0; part.text("$ref") != ""; hops++ {
			if hops > maxDepth {
				return node{}, errTooLarge
			}
			target, err := b.target(part.text("$ref"))
			if err != nil {
				return node{}, err
			}
			part = target
		}
		if inner, ok := part.get("allOf"); ok {
			if depth > maxDepth {
				return node{}, errTooLarge
			}
			merged, err := b.merge(part, inner.items, depth+1)
			if err != nil {
				return node{}, err
			}
			part = merged
		}
		add(part)
	}
	if len(props.members) > 0 {
		out.members = append(out.members, member{"properties", props})
	}
	if len(required.items) > 0 {
		out.members = append(out.members, member{"required", required})
	}
	return out, nil
}

// typed converts a schema by its type.
func (b *builder) typed(n node, depth int) (string, error) {
	t, _ := n.get("type")
	if t.isArr {
		var alts []string
		for _, item := range t.items {
			name, _ := item.value.(string)
			expr, err := b.ofType(n, name, depth)
			if err != nil {
				return "", err
			}
			alts = append(alts, expr)
		}
		if len(alts) == 0 {
			return "", errors.New("the schema's type is an empty list")
		}
		return b.rule("any", strings.Join(alts, " | ")), nil
	}
	name, _ := t.value.(string)
	if name == "" {
		name = guess(n)
	}
	return b.ofType(n, name, depth)
}

// guess tells the type of a schema that does not say it.
func guess(n node) string {
	for _, m := range n.members {
		switch m.name {
		case "properties", "additionalProperties", "required":
			return "object"
		case "items", "prefixItems", "minItems", "maxItems":
			return "array"
		case "minLength", "maxLength", "pattern":
			return "string"
		}
	}
	return ""
}

func (b *builder) ofType(n node, name string, depth int) (string, error) {
	switch name {
	case "":
		return b.ref("value"), nil
	case "null":
		return `"null"`, nil
	case "boolean":
		return b.ref("boolean"), nil
	case "string":
		return b.stringRule(n), nil
	case "integer":
		return b.integerRule(n), nil
	case "number":
		if least, ok := n.number("minimum"); ok && least >= 0 {
			return b.rule("positive", b.ref("whole")+` ("." [0-9]{1,15})?`), nil
		}
		return b.ref("number"), nil
	case "array":
		return b.arrayRule(n, depth)
	case "object":
		return b.objectRule(n, depth)
	}
	return "", fmt.Errorf("the schema's type %q is not one of JSON's", name)
}

func (b *builder) stringRule(n node) string {
	switch n.text("format") {
	case "date", "time", "uuid":
		return b.rule("string", `"\"" `+b.ref(n.text("format"))+` "\""`)
	case "date-time":
		return b.rule("string", `"\"" `+b.ref("datetime")+` "\""`)
	}
	least := n.count("minLength", 0, maxString)
	most := n.count("maxLength", -1, maxString)
	if least == 0 && most < 0 || most >= 0 && most < least {
		return b.ref("string")
	}
	return b.rule("string", `"\"" `+times(b.ref("char"), least, most)+` "\""`)
}

func (b *builder) integerRule(n node) string {
	least, hasLeast := n.number("minimum")
	if f, ok := n.number("exclusiveMinimum"); ok && whole(f) && (!hasLeast || f+1 > least) {
		least, hasLeast = f+1, true
	}
	most, hasMost := n.number("maximum")
	if f, ok := n.number("exclusiveMaximum"); ok && whole(f) && (!hasMost || f-1 < most) {
		most, hasMost = f-1, true
	}
	least, most = math.Ceil(least), math.Floor(most)
	if hasLeast && hasMost && most >= least && most-least < maxWhole && whole(least) && whole(most) {
		var alts []string
		for v := int64(least); v <= int64(most); v++ {
			alts = append(alts, fmt.Sprintf(`"%d"`, v))
		}
		return b.rule("integer", strings.Join(alts, " | "))
	}
	if hasLeast && least >= 1 {
		return b.rule("integer", `[1-9] [0-9]{0,15}`)
	}
	if hasLeast && least >= 0 {
		return b.ref("whole")
	}
	return b.ref("integer")
}

func (b *builder) arrayRule(n node, depth int) (string, error) {
	least := n.count("minItems", 0, maxArray)
	most := n.count("maxItems", -1, maxArray)
	if most >= 0 && most < least {
		most = -1
	}
	var parts []string
	if prefix, ok := n.get("prefixItems"); ok {
		for _, item := range prefix.items {
			expr, err := b.convert(item, depth+1)
			if err != nil {
				return "", err
			}
			parts = append(parts, "("+expr+")")
		}
		return b.rule("array", `"[" `+strings.Join(parts, ` ", " `)+` "]"`), nil
	}
	item := b.ref("value")
	if items, ok := n.get("items"); ok {
		expr, err := b.convert(items, depth+1)
		if err != nil {
			return "", err
		}
		item = b.rule("item", expr)
	}
	if most == 0 {
		return `"[]"`, nil
	}
	rest := most
	if rest > 0 {
		rest--
	}
	body := item + " " + times(`(", " `+item+`)`, max(least-1, 0), rest)
	if least == 0 {
		body = "(" + body + ")?"
	}
	return b.rule("array", `"[" `+body+` "]"`), nil
}

// objectRule converts an object: its members in the schema's order, those that
// are not required may be left out.
func (b *builder) objectRule(n node, depth int) (string, error) {
	props, _ := n.get("properties")
	if len(props.members) == 0 {
		return b.freeObject(n, depth)
	}
	var required []string
	if list, ok := n.get("required"); ok {
		for _, item := range list.items {
			s, _ := item.value.(string)
			required = append(required, s)
		}
	}
	pairs := make([]string, len(props.members))
	must := make([]bool, len(props.members))
	for i, p := range props.members {
		must[i] = slices.Contains(required, p.name)
		expr, err := b.convert(p.node, depth+1)
		if err != nil {
			if must[i] || errors.Is(err, errTooLarge) {
				return "", fmt.Errorf("property %s: %w", p.name, err)
			}
			continue // a member that nothing satisfies is left out
		}
		pairs[i] = b.rule("pair", literal(quoted(p.name)+": ")+" ("+expr+")")
	}
	return b.rule("object", `"{" `+b.members(pairs, must)+` "}"`), nil
}

// members writes the members of an object with their commas. tails[i] is what
// may follow once a member before i was written.
func (b *builder) members(pairs []string, must []bool) string {
	tails := make([]string, len(pairs)+1)
	for i := len(pairs) - 1; i >= 0; i-- {
		switch {
		case pairs[i] == "":
			tails[i] = tails[i+1]
			continue
		case must[i]:
			tails[i] = `", " ` + pairs[i]
		default:
			tails[i] = `(", " ` + pairs[i] + `)?`
		}
		if tails[i+1] != "" {
			tails[i] = b.rule("tail", tails[i]+" "+tails[i+1])
		}
	}
	var firsts []string
	anyMust := false
	for i, pair := range pairs {
		if pair == "" {
			continue
		}
		firsts = append(firsts, strings.TrimSpace(pair+" "+tails[i+1]))
		if must[i] {
			anyMust = true
			break
		}
	}
	if len(firsts) == 0 {
		return `""`
	}
	out := "(" + strings.Join(firsts, " | ") + ")"
	if !anyMust {
		out += "?"
	}
	return out
}

// freeObject converts an object whose members are not listed.
func (b *builder) freeObject(n node, depth int) (string, error) {
	more, ok := n.get("additionalProperties")
	switch {
	case ok && more.value == false && !more.isObj:
		return `"{}"`, nil
	case ok && more.isObj && len(more.members) > 0:
		expr, err := b.convert(more, depth+1)
		if err != nil {
			return "", err
		}
		pair := b.rule("pair", b.ref("string")+` ": " (`+expr+")")
		return b.rule("object", `"{" (`+pair+` (", " `+pair+`)*)? "}"`), nil
	}
	if props, has := n.get("properties"); has && props.isObj && !ok {
		return `"{}"`, nil // a tool without arguments
	}
	return b.ref("object"), nil
}
