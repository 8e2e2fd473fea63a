package settings

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The ranks of layers: a higher one comes before a lower one.
const (
	rankDefault = iota
	rankUser
	rankProject
	rankEnv
	rankFlag
)

// Origin says where a value came from.
type Origin struct {
	File string // path of a settings file, "" for the other origins
	Line int    // in File, from 1
	Name string // of the others: "default", a variable's name, a flag
}

// String gives file:line or the name.
func (o Origin) String() string {
	if o.File != "" {
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	}
	return o.Name
}

// value is one key with what it is set to. data is a string, bool, int64,
// float64, time.Duration or []string, as the key's type says, or a Secret.
type value struct {
	key    Key
	path   []string // the key's parts, with the names in place of *
	data   any
	rank   int
	origin Origin
	note   string // why it is not what its origin says, or not in force
}

func (v value) name() string { return keyName(v.path) }

// layer is everything that one origin sets, by key name.
type layer map[string]value

// keyName writes a key's parts as TOML does: bare where that is possible.
func keyName(path []string) string {
	var b strings.Builder
	for i, p := range path {
		if i > 0 {
			b.WriteByte('.')
		}
		if isBare(p) {
			b.WriteString(p)
		} else {
			b.WriteString(strconv.Quote(p))
		}
	}
	return b.String()
}

func isBare(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// below reports whether key lies in the table.
func below(table, key string) bool { return strings.HasPrefix(key, table+".") }

// find gives the key of the table that a path means.
func find(path []string) (Key, bool) {
	for _, k := range keys() {
		if matches(strings.Split(k.Name, "."), path) {
			return k, true
		}
	}
	return Key{}, false
}

func matches(form, path []string) bool {
	return len(form) == len(path) && begins(form, path)
}

func begins(form, path []string) bool {
	for i, p := range path {
		if i >= len(form) || form[i] != "*" && form[i] != p || p == "" {
			return false
		}
	}
	return true
}

// isTable reports whether keys lie below the path.
func isTable(path []string) bool {
	return slices.ContainsFunc(keys(), func(k Key) bool {
		form := strings.Split(k.Name, ".")
		return len(form) > len(path) && begins(form, path)
	})
}

// fromFile checks a value that TOML gave and brings it to the key's type.
func (k Key) fromFile(raw any) (any, error) {
	switch k.Type {
	case Text:
		if s, ok := raw.(string); ok {
			return k.text(s)
		}
	case Bool:
		if b, ok := raw.(bool); ok {
			return b, nil
		}
	case Whole:
		if n, ok := raw.(int64); ok {
			return n, k.inRange(float64(n), strconv.FormatInt(n, 10))
		}
	case Number:
		switch n := raw.(type) {
		case int64:
			return float64(n), k.inRange(float64(n), strconv.FormatInt(n, 10))
		case float64:
			return n, k.inRange(n, strconv.FormatFloat(n, 'g', -1, 64))
		}
	case Duration:
		if s, ok := raw.(string); ok {
			return k.duration(s)
		}
	case List:
		if all, ok := raw.([]any); ok {
			return k.list(all)
		}
	}
	return nil, fmt.Errorf("it takes a %s, not %s", k.takes(), kindOf(raw))
}

// fromText checks a value that a flag or a variable gave.
func (k Key) fromText(s string) (any, error) {
	switch k.Type {
	case Bool:
		if b, err := strconv.ParseBool(s); err == nil {
			return b, nil
		}
	case Whole:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, k.inRange(float64(n), s)
		}
	case Number:
		if n, err := strconv.ParseFloat(s, 64); err == nil {
			return n, k.inRange(n, s)
		}
	case Duration:
		return k.duration(s)
	case List:
		var all []any
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, part)
			}
		}
		return k.list(all)
	default:
		return k.text(s)
	}
	return nil, fmt.Errorf("it takes a %s, not %q", k.takes(), s)
}

// takes is the type in words that fit behind "it takes a".
func (k Key) takes() string {
	switch k.Type {
	case Duration:
		return `duration such as "30s" or "5m"`
	case List:
		return `list of texts such as ["a", "b"]`
	case Bool:
		return "value true or false"
	}
	return string(k.Type)
}

func kindOf(raw any) string {
	switch v := raw.(type) {
	case string:
		return fmt.Sprintf("the text %q", v)
	case bool:
		return fmt.Sprintf("%v", v)
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}

func (k Key) text(s string) (any, error) {
	switch {
	case strings.ContainsRune(s, 0):
		return nil, errors.New("it holds a zero byte")
	case k.Secret:
		return NewSecret(s), nil
	case len(k.Choices) > 0 && !slices.Contains(k.Choices, s):
		return nil, fmt.Errorf("it takes %s, not %q", strings.Join(k.Choices, " or "), s)
	case k.Model:
		provider, name, ok := strings.Cut(s, "/")
		if !ok || provider == "" || name == "" {
			return nil, fmt.Errorf("a model is named provider/model, such as ollama/qwen3.5:9b, not %q", s)
		}
	case k.URL:
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return nil, fmt.Errorf("it takes an address such as http://127.0.0.1:11434, not %q", s)
		}
		if u.User != nil {
			return nil, errors.New("a name and password do not belong into an address; name the variable that holds the key with key_env, or set a header")
		}
		return strings.TrimRight(s, "/"), nil
	}
	return s, nil
}

func (k Key) inRange(n float64, shown string) error {
	switch {
	case math.IsNaN(n) || n < k.Least:
		return fmt.Errorf("%s is too small; %s is the least", shown, k.bound(k.Least))
	case k.Most > 0 && n > k.Most:
		return fmt.Errorf("%s is too large; %s is the most", shown, k.bound(k.Most))
	}
	return nil
}

func (k Key) bound(n float64) string {
	if k.Type == Duration {
		return time.Duration(n * float64(time.Second)).String()
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

func (k Key) duration(s string) (any, error) {
	d, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil {
		return nil, fmt.Errorf("it takes a %s, not %q", k.takes(), s)
	}
	return d, k.inRange(d.Seconds(), s)
}

func (k Key) list(all []any) (any, error) {
	list := []string{}
	for _, raw := range all {
		s, ok := raw.(string)
		if !ok {
			return nil, fmt.Errorf("it takes a %s, and %s is in it", k.takes(), kindOf(raw))
		}
		if k.Name == "fetch.allow" {
			p, err := addressRange(s)
			if err != nil {
				return nil, err
			}
			s = p.String()
		}
		list = append(list, s)
	}
	return list, nil
}

// addressRange reads a CIDR, or one address as a range of itself.
func addressRange(s string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.Masked(), nil
	}
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	return netip.Prefix{}, fmt.Errorf("it takes address ranges such as 127.0.0.1/32, not %q", s)
}

// shown is the value as people see it.
func (v value) shown() string {
	if v.key.Secret {
		return hidden
	}
	switch d := v.data.(type) {
	case string:
		return quote(d)
	case time.Duration:
		return quote(shortDuration(d))
	case []string:
		parts := make([]string, len(d))
		for i, s := range d {
			parts[i] = quote(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v.data)
}

func quote(s string) string { return strconv.Quote(s) }

// shortDuration leaves out the parts that are zero: 30m rather than 30m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// path makes a path absolute, from the folder of what sets it.
func (e *environment) path(from, p string) (string, error) {
	if p == "" {
		return "", nil
	}
	if rest, ok := strings.CutPrefix(filepath.ToSlash(p), "~/"); ok || p == "~" {
		home := e.home()
		if home == "" {
			return "", fmt.Errorf("%q starts from your home folder, which is not known; set HOME", p)
		}
		return filepath.Join(home, filepath.FromSlash(strings.TrimPrefix(rest, "~"))), nil
	}
	if filepath.IsAbs(p) {
		return filepath.Clean(p), nil
	}
	return filepath.Join(from, filepath.FromSlash(p)), nil
}
