package salvage

import "strings"

// python reads the arguments of a call in Python's manner, after its opening
// bracket. Arguments without a name are taken only where there can be no doubt
// what they are: one object, or the one parameter that the tool has.
func (d *document) python(name string) bool {
	d.noWords = true
	defer func() { d.noWords = false }()
	args := value{kind: object}
	var plain []value
	for {
		d.commas()
		if d.take(")") {
			break
		}
		if d.end() {
			return false
		}
		key, isNamed := d.keyword()
		v, ok := d.value()
		if !ok || d.missing > 0 {
			return false
		}
		if isNamed {
			args.pairs = append(args.pairs, pair{key, v})
		} else {
			plain = append(plain, v)
		}
		d.space()
		if c := d.peek(); c != ',' && c != ')' {
			return false
		}
	}
	switch {
	case len(plain) == 0 && len(args.pairs) == 0:
		return d.addEmpty(name)
	case len(plain) == 0:
		return d.add(name, args.json())
	case len(plain) > 1 || len(args.pairs) > 0:
		return false
	case plain[0].kind == object:
		return d.add(name, plain[0].json())
	}
	if props := d.tools.tools[name].Properties; len(props) == 1 {
		for key := range props {
			return d.add(name, value{kind: object, pairs: []pair{{key, plain[0]}}}.json())
		}
	}
	return false
}

// keyword reads "key=" where it stands.
func (d *document) keyword() (string, bool) {
	rest := d.s[d.pos:]
	n := wordLen(rest)
	after := strings.TrimLeft(rest[n:], " ")
	if n == 0 || !strings.HasPrefix(after, "=") || strings.HasPrefix(after, "==") {
		return "", false
	}
	d.pos = len(d.s) - len(after) + 1
	return rest[:n], true
}
