package mcpclient

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"towpath/internal/tool"
)

// wireResult is what a server answers to a call.
type wireResult struct {
	Content    []wireContent   `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

// wireContent is one piece of content, of any kind.
type wireContent struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	MIMEType    string `json:"mimeType"`
	Data        string `json:"data"` // base64
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Resource    *struct {
		URI      string  `json:"uri"`
		MIMEType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     string  `json:"blob"` // base64
	} `json:"resource"`
}

// result turns an answer into a tool's result: the text for the model, what is
// structured beside it, and whether the tool failed, each for itself. raw is the
// answer as it was written; res is what the SDK made of it, for where raw is not
// known.
func result(spec described, raw json.RawMessage, res *mcp.CallToolResult) (tool.Result, error) {
	if raw == nil {
		raw = encoded(res)
	}
	w, err := readResult(raw)
	if err != nil {
		return tool.Result{}, fmt.Errorf("the answer cannot be read: %w", err)
	}
	if res == nil && w.Content == nil && blank(w.Structured) {
		return tool.Result{}, errors.New("the answer holds no content")
	}
	out := tool.Result{IsError: w.IsError, Untrusted: !spec.closed}
	var parts []string
	for _, c := range w.Content {
		if text := c.text(); text != "" {
			parts = append(parts, text)
		}
	}
	if !blank(w.Structured) {
		out.Structured = w.Structured
		if !says(parts, w.Structured) {
			parts = append(parts, string(compact(w.Structured)))
		}
	}
	out.Text = strings.Join(parts, "\n")
	return out, nil
}

// readResult reads an answer whole, or piece by piece where a piece has a shape
// of its own.
func readResult(raw json.RawMessage) (wireResult, error) {
	var w wireResult
	if json.Unmarshal(raw, &w) == nil {
		return w, nil
	}
	var loose struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		IsError    bool              `json:"isError"`
	}
	if err := json.Unmarshal(raw, &loose); err != nil {
		return w, err
	}
	w = wireResult{Structured: loose.Structured, IsError: loose.IsError}
	for _, one := range loose.Content {
		w.Content = append(w.Content, readContent(one))
	}
	return w, nil
}

// readContent reads a piece of content; of one in an unknown shape, its kind.
func readContent(raw json.RawMessage) wireContent {
	var c wireContent
	if json.Unmarshal(raw, &c) != nil {
		var k struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(raw, &k)
		return wireContent{Type: k.Type}
	}
	return c
}

// text is a piece of content in words. What is no text is named.
func (c wireContent) text() string {
	switch c.Type {
	case "text":
		return c.Text
	case "image", "audio":
		return fmt.Sprintf("[%s, %s, %d bytes; it is not shown here]", c.Type, kind(c.MIMEType), decodedSize(c.Data))
	case "resource_link":
		s := "[resource " + c.URI
		for _, more := range []string{c.Title, c.Name, c.Description} {
			if more != "" {
				s += ": " + more
				break
			}
		}
		return s + "]"
	case "resource":
		if c.Resource == nil {
			return ""
		}
		if c.Resource.Text != nil {
			return fmt.Sprintf("[resource %s]\n%s", c.Resource.URI, *c.Resource.Text)
		}
		return fmt.Sprintf("[resource %s, %s, %d bytes; it is not shown here]", c.Resource.URI, kind(c.Resource.MIMEType), decodedSize(c.Resource.Blob))
	}
	if c.Text != "" {
		return c.Text
	}
	return fmt.Sprintf("[content of the kind %q, which is not shown here]", c.Type)
}

func kind(mime string) string {
	if mime == "" {
		return "of no stated kind"
	}
	return mime
}

func decodedSize(b64 string) int {
	return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(b64, "=")))
}

// says reports whether the text holds the structured content already, as servers
// write it for clients that know no structured content: as JSON, or as the only
// field's value.
func says(parts []string, structured json.RawMessage) bool {
	var want any
	if json.Unmarshal(structured, &want) != nil {
		return false
	}
	if same(parts, want) {
		return true
	}
	if object, ok := want.(map[string]any); ok && len(object) == 1 {
		for _, v := range object {
			return same(parts, v)
		}
	}
	return false
}

// same reports whether texts say a value: one of them does, or each says its
// element.
func same(parts []string, v any) bool {
	for _, p := range parts {
		if means(p, v) {
			return true
		}
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 || len(list) != len(parts) {
		return false
	}
	for i, p := range parts {
		if !means(p, list[i]) {
			return false
		}
	}
	return true
}

func means(text string, v any) bool {
	if s, ok := v.(string); ok && strings.TrimSpace(s) == strings.TrimSpace(text) {
		return true
	}
	text = strings.TrimSpace(text)
	if text == "" || !strings.ContainsRune(`{["-0123456789tfn`, rune(text[0])) {
		return false
	}
	var got any
	return json.Unmarshal([]byte(text), &got) == nil && reflect.DeepEqual(got, v)
}

func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}
