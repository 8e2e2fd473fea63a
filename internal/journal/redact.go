package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Hidden stands where a secret was.
const Hidden = "[hidden]"

// redactor takes secrets out of what is written: the configured ones wherever
// they stand, and in journals also what looks like a credential.
type redactor struct {
	secrets *strings.Replacer // nil: none configured
	hashes  []string          // secrets that look like the hashes that events are full of
}

// placeholders are what people set as a key where a server wants none; hiding
// them would hide ordinary words.
var placeholders = []string{"ollama", "none", "null", "dummy", "test", "empty", "EMPTY", "placeholder",
	"changeme", "lm-studio", "llamacpp", "local", "sk-no-key-required", "no-key", "anything", "token", "secret", "password"}

// minSecret is the shortest configured value, in bytes, that is hidden.
const minSecret = 6

func newRedactor(secrets []string) *redactor {
	var forms []string
	r := &redactor{}
	for _, s := range secrets {
		s = strings.TrimSpace(s)
		if len(s) < minSecret || slices.Contains(placeholders, s) {
			continue
		}
		if isHash(s) {
			r.hashes = append(r.hashes, s)
		}
		forms = append(forms, s, url.QueryEscape(s), url.PathEscape(s))
		for _, once := range inJSON(s) {
			forms = append(forms, once)
			forms = append(forms, inJSON(once)...)
		}
	}
	if len(forms) == 0 {
		return r
	}
	// Longest first: where one secret is part of another, none of it is left.
	slices.SortFunc(forms, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	forms = slices.Compact(forms)
	var pairs []string
	for _, f := range forms {
		pairs = append(pairs, f, Hidden)
	}
	r.secrets = strings.NewReplacer(pairs...)
	return r
}

// inJSON gives the forms that a text has within a JSON string.
func inJSON(s string) []string {
	var forms []string
	for _, html := range []bool{true, false} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		if e.Encode(s) == nil {
			forms = append(forms, strings.TrimSuffix(b.String()[1:], "\"\n"))
		}
	}
	return forms
}

// configured hides the configured secrets.
func (r *redactor) configured(text string) string {
	if r.secrets == nil {
		return text
	}
	return r.secrets.Replace(text)
}

// text hides configured secrets and whatever looks like a credential.
func (r *redactor) text(text string) string {
	text = r.configured(text)
	for _, p := range patterns() {
		if p.mayMatch(text) {
			text = p.replace(text)
		}
	}
	return text
}

// Hides reports whether a text holds one of the secrets, or what looks like a
// credential: what a journal would not keep as it is.
func Hides(text string, secrets []string) bool { return newRedactor(secrets).text(text) != text }

// event hides secrets in every text of an event's payload, however deep it
// lies. What says which event it is stays.
func (r *redactor) event(e Event) (Event, error) {
	payload := e
	payload.Run, payload.Stage, payload.Type, payload.Time = "", "", "", time.Time{}
	line, err := json.Marshal(payload)
	if err != nil {
		return e, err
	}
	clean, err := r.json(line)
	if err != nil || clean == nil {
		return e, err
	}
	var out Event
	if err := json.Unmarshal(clean, &out); err != nil {
		return e, fmt.Errorf("taking secrets out of it: %w", err)
	}
	out.Run, out.Stage, out.Type, out.Time = e.Run, e.Stage, e.Type, e.Time
	return out, nil
}

// json hides secrets in the strings of a JSON text. It gives nil when there was
// nothing to hide.
func (r *redactor) json(line []byte) ([]byte, error) {
	var out bytes.Buffer
	changed := false
	for i := 0; i < len(line); {
		if line[i] != '"' {
			out.WriteByte(line[i])
			i++
			continue
		}
		end := i + 1
		for end < len(line) && line[end] != '"' {
			if line[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(line))
		lit := line[i:end]
		i = end
		var s string
		if err := json.Unmarshal(lit, &s); err != nil {
			return nil, err
		}
		clean := s
		if !isHash(s) || slices.Contains(r.hashes, s) {
			clean = r.text(s)
		}
		if clean == s {
			out.Write(lit)
			continue
		}
		changed = true
		enc, err := json.Marshal(clean)
		if err != nil {
			return nil, err
		}
		out.Write(enc)
	}
	if !changed {
		return nil, nil
	}
	return out.Bytes(), nil
}

// pattern is one shape of credential. with is what stays of a match: $1 is the
// part before the secret.
type pattern struct {
	marks []string // one of these is in every text that can match
	form  *regexp.Regexp
	with  string
	judge func(match string) bool // nil: every match is a credential
}

func (p *pattern) mayMatch(text string) bool {
	for _, m := range p.marks {
		if strings.Contains(text, m) {
			return true
		}
	}
	return false
}

func (p *pattern) replace(text string) string {
	if p.judge == nil {
		return p.form.ReplaceAllString(text, p.with)
	}
	return p.form.ReplaceAllStringFunc(text, func(m string) string {
		if !p.judge(m) {
			return m
		}
		return p.form.ReplaceAllString(m, p.with)
	})
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

var patterns = sync.OnceValue(func() []*pattern {
	whole := func(form string, marks ...string) *pattern {
		return &pattern{marks: marks, form: regexp.MustCompile(form), with: Hidden}
	}
	after := func(form string, judge func(string) bool, marks ...string) *pattern {
		return &pattern{marks: marks, form: regexp.MustCompile(form), with: "${1}" + Hidden, judge: judge}
	}
	return []*pattern{
		whole(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`, "PRIVATE KEY-----"),
		{marks: []string{"sk-"}, form: regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{16,}`), with: Hidden, judge: hasDigit},
		whole(`\b[sr]k_(?:live|test)_[A-Za-z0-9]{10,}`, "k_live_", "k_test_"),
		whole(`\bgh[pousr]_[A-Za-z0-9]{20,}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
		whole(`\bgithub_pat_[A-Za-z0-9_]{20,}`, "github_pat_"),
		whole(`\bglpat-[A-Za-z0-9_-]{16,}`, "glpat-"),
		whole(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`, "AKIA", "ASIA"),
		whole(`\bAIza[0-9A-Za-z_-]{30,}`, "AIza"),
		whole(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`, "xox"),
		whole(`\b(?:gsk|hf|npm)_[A-Za-z0-9]{20,}`, "gsk_", "hf_", "npm_"),
		whole(`\btvly-[A-Za-z0-9-]{16,}`, "tvly-"),
		whole(`\bpypi-[A-Za-z0-9_-]{30,}`, "pypi-"),
		whole(`\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}`, "eyJ"),
		after(`(?i)\b(bearer\s+)[A-Za-z0-9._~+/-]{8,}=*`, func(m string) bool { return hasDigit(m) || len(m) > 32 },
			"earer", "EARER"),
		after(`(?i)(authorization["']?\s*[:=]\s*["']?(?:basic|token)\s+)[A-Za-z0-9._~+/=-]{6,}`, nil,
			"uthorization", "UTHORIZATION"),
		after(`(?i)([?&;](?:api[_-]?key|key|token|access[_-]?token|auth[_-]?token|refresh[_-]?token|client[_-]?secret|secret|password|passwd|sig|signature|x-amz-signature|x-amz-credential)=)[^\s&#"'<>()\\;\x60]{6,}`, nil,
			"?", "&", ";"),
		{marks: []string{"://"}, form: regexp.MustCompile(`(://[^\s/:@"'<>\\]+:)[^\s/@"'<>\\]+@`), with: "${1}" + Hidden + "@"},
		after(`\b([A-Z][A-Z0-9_]*(?:_KEY|_TOKEN|_SECRET|_PASSWORD)\s*[=:]\s*["']?)[^\s"'\\,;]{8,}`, hasDigit,
			"_KEY", "_TOKEN", "_SECRET", "_PASSWORD"),
	}
})
