package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"towpath/internal/model"
)

// Refusal is an answer that is not what was asked for: an HTTP status other than
// 200, or an error in the middle of a stream. Classify gives it a kind.
type Refusal struct {
	Status     int    // 0 in the middle of a stream, where the server did not name one
	Message    string // the server's own words, bounded
	Type       string // as the server sorts it
	Code       string
	Param      string // the field that is refused, where the server names it
	Prompt     int    // tokens, where stated
	Window     int    // tokens, where stated
	RetryAfter time.Duration
	Location   string // of a redirect that was not followed
	MidStream  bool
	HTML       bool
}

// Error gives the status and the server's words.
func (r *Refusal) Error() string {
	if r.Status == 0 {
		return r.Message
	}
	return fmt.Sprintf("status %d: %s", r.Status, r.Message)
}

func (e *Endpoint) readRefusal(res *http.Response, body io.Reader) error {
	b, err := io.ReadAll(io.LimitReader(body, maxRefusal))
	if err != nil && len(b) == 0 && model.KindOf(err) == model.KindTimeout {
		return err
	}
	r := ParseRefusal(b)
	r.Status = res.StatusCode
	r.RetryAfter = max(r.RetryAfter, retryAfter(res.Header, e.clock()))
	r.Location = res.Header.Get("Location")
	r.HTML = r.HTML || strings.Contains(res.Header.Get("Content-Type"), "html")
	if r.Message == "" {
		r.Message = http.StatusText(res.StatusCode)
	}
	return r
}

// wireError holds the fields that servers use in their error bodies.
type wireError struct {
	Message json.RawMessage `json:"message"`
	Error   json.RawMessage `json:"error"`
	Detail  json.RawMessage `json:"detail"`
	Type    any             `json:"type"`
	Code    any             `json:"code"`
	Status  any             `json:"status"`
	Param   any             `json:"param"`
	Prompt  int             `json:"n_prompt_tokens"`
	Window  int             `json:"n_ctx"`
	Meta    struct {
		Raw json.RawMessage `json:"raw"`
	} `json:"metadata"`
}

// ParseRefusal reads the body of a refusal, or an error event of a stream.
func ParseRefusal(b []byte) *Refusal {
	r := &Refusal{}
	trimmed := bytes.TrimSpace(b)
	if !r.fill(trimmed, 0) {
		r.HTML = bytes.HasPrefix(trimmed, []byte("<"))
		if !r.HTML {
			r.Message = string(trimmed)
		}
	}
	r.Message = bounded(strings.Join(strings.Fields(r.Message), " "), 600)
	r.RetryAfter = saidWait(r.Message)
	r.findNumbers()
	return r
}

// fill takes what it knows from one level of an error body and goes down.
func (r *Refusal) fill(b []byte, depth int) bool {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || depth > 4 {
		return false
	}
	switch b[0] {
	case '"':
		var s string
		if json.Unmarshal(b, &s) != nil {
			return false
		}
		if !r.fill([]byte(s), depth+1) && r.Message == "" {
			r.Message = s
		}
		return true
	case '[':
		var list []json.RawMessage
		return json.Unmarshal(b, &list) == nil && len(list) > 0 && r.fill(list[0], depth+1)
	case '{':
		return r.fillObject(b, depth)
	}
	return false
}

func (r *Refusal) fillObject(b []byte, depth int) bool {
	var w wireError
	if err := json.Unmarshal(b, &w); err != nil && len(w.Message)+len(w.Error)+len(w.Detail) == 0 {
		return false
	}
	found := false // the inner levels say it more exactly
	for _, part := range []json.RawMessage{w.Error, w.Message, w.Detail} {
		if len(part) > 0 && r.fill(part, depth+1) {
			found = true
		}
	}
	set := func(to *string, v any) {
		if s := word(v); *to == "" && s != "" {
			*to = s
		}
	}
	set(&r.Type, w.Type)
	set(&r.Code, w.Code)
	set(&r.Code, w.Status)
	set(&r.Param, w.Param)
	for _, v := range []any{w.Code, w.Status} {
		if n, ok := v.(float64); ok && n >= 100 && n < 1000 && r.Status == 0 {
			r.Status = int(n)
		}
	}
	r.Prompt, r.Window = max(r.Prompt, w.Prompt), max(r.Window, w.Window)
	if raw := w.Meta.Raw; len(raw) > 0 { // OpenRouter keeps the provider's own words here
		r.Message += " (" + bounded(string(raw), 300) + ")"
	}
	return found || r.Type != "" || r.Code != ""
}

func word(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// retryAfter reads how long the server asks to wait: Retry-After in seconds or
// as a date, or the older headers of some servers.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil && ms > 0 {
		return capWait(time.Duration(ms * float64(time.Millisecond)))
	}
	s := strings.TrimSpace(h.Get("Retry-After"))
	if s == "" {
		return 0
	}
	if sec, err := strconv.ParseFloat(s, 64); err == nil {
		if !(sec > 0) {
			return 0
		}
		return capWait(time.Duration(min(sec, 1e8) * float64(time.Second)))
	}
	if at, err := http.ParseTime(s); err == nil {
		return capWait(max(0, at.Sub(now)))
	}
	return 0
}

// capWait keeps a wait within a year, so that sums of it cannot overflow.
func capWait(d time.Duration) time.Duration { return min(d, 365*24*time.Hour) }

// saidWait reads "try again in 7m12.5s" out of a message.
func saidWait(s string) time.Duration {
	lower := strings.ToLower(s)
	for _, lead := range []string{"try again in ", "retry in ", "retry after ", "wait "} {
		i := strings.Index(lower, lead)
		if i < 0 {
			continue
		}
		rest := lower[i+len(lead):]
		end := 0
		for end < len(rest) && strings.IndexByte("0123456789.hms", rest[end]) >= 0 {
			end++
		}
		text := strings.TrimRight(rest[:end], ".")
		if d, err := time.ParseDuration(text); err == nil && d > 0 {
			return capWait(d)
		}
		if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 && n < 1e8 && strings.HasPrefix(strings.TrimSpace(rest[end:]), "second") {
			return capWait(time.Duration(n * float64(time.Second)))
		}
	}
	return 0
}
