//go:build linux

package local

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// wire speaks to a child without the client of the product.
type wire struct {
	t    testing.TB
	c    *process
	http *http.Client
}

// startWire starts a child of its own for a test.
func startWire(t testing.TB) *wire {
	t.Helper()
	st, err := openStore("")
	if err != nil {
		t.Fatal(err)
	}
	c, err := launch{cache: strings.TrimSuffix(st.dir, "/local")}.start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	if err := c.wait(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	return &wire{t: t, c: c, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
	}}}
}

// answer is what a test looks at.
type answer struct {
	Status  int
	Choices []struct {
		Message struct {
			Content *string
			Calls   []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Finish string `json:"finish_reason"`
	}
	Usage struct {
		Prompt  int `json:"prompt_tokens"`
		Output  int `json:"completion_tokens"`
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	Error struct {
		Type, Message string
		Prompt        int `json:"n_prompt_tokens"`
		Window        int `json:"n_ctx"`
	}
}

func (a answer) text() string {
	if len(a.Choices) == 0 || a.Choices[0].Message.Content == nil {
		return ""
	}
	return *a.Choices[0].Message.Content
}

// ask sends a request and reads the whole reply.
func (w *wire) ask(body any) answer {
	w.t.Helper()
	res := w.post(w.t.Context(), body)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	a := answer{Status: res.StatusCode}
	if err := json.Unmarshal(raw, &a); err != nil {
		w.t.Fatalf("%v: %s", err, raw)
	}
	return a
}

func (w *wire) post(ctx context.Context, body any) *http.Response {
	w.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://local/v1/chat/completions", bytes.NewReader(raw))
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := w.http.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

type object = map[string]any

func says(role, text string) object { return object{"role": role, "content": text} }
