package chat

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode"
)

const (
	openMark  = "<tool_call>"
	closeMark = "</tool_call>"
)

// Splitter takes a reply apart while it is written: text that is meant to be
// read, and tool calls. Text is held back only as long as it could still be
// the beginning of a call, or white space before one.
type Splitter struct {
	calls  []Call
	held   string          // text that is not given out yet
	inside bool            // within a call
	body   strings.Builder // of the call so far
}

// Write takes the next piece and gives the text that can be shown.
func (s *Splitter) Write(piece string) string {
	var out strings.Builder
	for piece != "" {
		if s.inside {
			piece = s.within(piece, &out)
			continue
		}
		s.held += piece
		piece = ""
		at := strings.Index(s.held, openMark)
		if at >= 0 {
			out.WriteString(strings.TrimRightFunc(s.held[:at], unicode.IsSpace))
			piece, s.held, s.inside = s.held[at+len(openMark):], "", true
			continue
		}
		safe := len(s.held) - heldBack(s.held)
		safe = len(strings.TrimRightFunc(s.held[:safe], unicode.IsSpace))
		out.WriteString(s.held[:safe])
		s.held = s.held[safe:]
	}
	return out.String()
}

// within takes text inside a call and gives what follows it.
func (s *Splitter) within(piece string, out *strings.Builder) string {
	s.body.WriteString(piece)
	body, rest, closed := strings.Cut(s.body.String(), closeMark)
	if !closed {
		return ""
	}
	s.body.Reset()
	s.inside = false
	if call, err := ParseCall(body); err == nil {
		s.calls = append(s.calls, call)
	} else {
		out.WriteString(openMark + body + closeMark)
	}
	return rest
}

// Close ends the reply. It gives the text that was still held back, and all
// calls. A call that was cut off is text: it must never run.
func (s *Splitter) Close() (string, []Call) {
	text := s.held
	if s.inside {
		if call, err := ParseCall(s.body.String()); err == nil {
			s.calls = append(s.calls, call)
		} else {
			text = openMark + s.body.String()
		}
	} else if strings.TrimSpace(text) == "" && len(s.calls) > 0 {
		text = ""
	}
	s.held, s.inside = "", false
	s.body.Reset()
	return text, s.calls
}

// heldBack gives how many bytes at the end of s could begin the open mark.
func heldBack(s string) int {
	for n := min(len(openMark)-1, len(s)); n > 0; n-- {
		if strings.HasSuffix(s, openMark[:n]) {
			return n
		}
	}
	return 0
}

// ParseCall reads the JSON of one call. Nothing is made up: it is an error if
// the JSON is not whole, names no tool, or has text after it.
func ParseCall(body string) (Call, error) {
	d := json.NewDecoder(strings.NewReader(body))
	var raw struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if err := d.Decode(&raw); err != nil {
		return Call{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Call{}, errors.New("text after the call")
	}
	if raw.Name == "" {
		return Call{}, errors.New("the call names no tool")
	}
	args := raw.Arguments
	if len(args) == 0 {
		args = raw.Parameters
	}
	text := string(args)
	var inner string
	if json.Unmarshal(args, &inner) == nil && json.Valid([]byte(inner)) {
		text = inner // JSON that was written as a string
	}
	return Call{Name: raw.Name, Arguments: text}, nil
}
