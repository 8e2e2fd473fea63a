package settings

import "strings"

// unknown says that a key is not known, and which one may have been meant.
func unknown(path []string) string {
	if path[0] == "providers" && len(path) == 3 && (path[2] == "key" || path[2] == "api_key" || path[2] == "token") {
		return "keys are never written into settings; name the variable that holds it with key_env, or a file with key_file"
	}
	if near := nearest(path); near != "" {
		return "there is no such key; did you mean " + near + "?"
	}
	return "there is no such key; towpath config lists all there are"
}

// nearest gives the known key that is most like the path, "" if none is.
func nearest(path []string) string {
	best, bestAt := "", 0
	last := path[len(path)-1]
	consider := func(name string, distance int) {
		if distance <= 1+len(last)/3 && (best == "" || distance < bestAt) {
			best, bestAt = name, distance
		}
	}
	for _, k := range keys() {
		form := strings.Split(k.Name, ".")
		for n := range len(form) {
			if n+1 == len(path) {
				here := named(form[:n+1], path)
				consider(here, distance(keyName(path), here))
			}
		}
		// The right name in the wrong table is as likely as a slip of the pen.
		if form[len(form)-1] == last && len(last) > 3 {
			consider(strings.ReplaceAll(k.Name, "*", "NAME"), 1)
		}
	}
	return best
}

// named puts the path's names into the places of the form that take any.
func named(form, path []string) string {
	out := make([]string, len(form))
	for i, f := range form {
		if out[i] = f; f == "*" {
			out[i] = path[i]
		}
	}
	return keyName(out)
}

// distance is how many letters have to be changed, added or left out. Very
// long names are far from everything.
func distance(a, b string) int {
	const far = 100
	if len(a) > far || len(b) > far {
		return far
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
