package endpoint

import (
	"strings"
)

// Nearest gives the name that is nearest to the wanted one, "" where none is near.
func Nearest(want string, have []string) string {
	best, least := "", len(want)/2+2
	for _, h := range have {
		d := distance(strings.ToLower(want), strings.ToLower(h))
		if strings.HasPrefix(h, want) || strings.HasPrefix(want, h) {
			d = min(d, 1)
		}
		if d < least {
			best, least = h, d
		}
	}
	return best
}

// distance is the number of letters to change; long names count as far apart.
func distance(a, b string) int {
	if len(a) > 200 || len(b) > 200 {
		return 200
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// SameModel says whether the model that answered can be the one that was asked
// for. Servers answer with a dated version, a file name or a longer path, so
// the parts of one name must all be parts of the other.
func SameModel(asked, answered string) bool {
	if answered == "" || strings.EqualFold(asked, answered) {
		return true
	}
	a, b := nameParts(asked), nameParts(answered)
	return within(a, b) || within(b, a)
}

// nameParts splits a model's name; parts that only choose a version are left out.
func nameParts(name string) map[string]bool {
	name = strings.ToLower(strings.TrimSuffix(name, ".gguf"))
	if i := strings.LastIndexByte(name, '/'); i >= 0 && i < len(name)-1 {
		name = name[i+1:]
	}
	parts := map[string]bool{}
	for _, p := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_:.@ ", r) }) {
		switch p {
		case "latest", "default", "auto", "free", "preview":
		default:
			parts[p] = true
		}
	}
	return parts
}

func within(small, large map[string]bool) bool {
	for p := range small {
		if !large[p] {
			return false
		}
	}
	return true
}

// CutPrompt says whether a server that reports count prompt tokens has cut a
// prompt of about estimate tokens. Servers that cut keep the whole window or half
// of it, so only those sizes count: a lower number alone may be a cached prompt.
// window is what was asked for or is known, 0 if neither.
func CutPrompt(count, estimate, window int) bool {
	if count <= 0 {
		return false
	}
	if window > 0 && count >= window-1 {
		return true
	}
	if cutTo(count, estimate, window) {
		return true
	}
	for w := 2048; w <= 1<<20; w *= 2 {
		if cutTo(count, estimate, w) {
			return true
		}
	}
	return false
}

// cutTo allows the estimate an error of a seventh.
func cutTo(count, estimate, w int) bool {
	const few = 64 // kept from the start of the prompt
	if w < 512 {
		return false
	}
	switch {
	case count >= w/2 && count <= w/2+few:
		return estimate > w-w/8
	case count >= w-2 && count <= w:
		return estimate > w+w/7
	}
	return false
}
