//go:build linux

package local

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// serving starts Serve and gives its base URL.
func serving(t *testing.T, p *Provider, opt ServeOptions) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	opt.Ready = func(url string) { ready <- url }
	go func() { ended <- p.Serve(ctx, opt) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	select {
	case url := <-ready:
		return url
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	case <-time.After(time.Minute):
		t.Fatal("it does not begin to serve")
	}
	return ""
}

func TestServedModelAnswersOtherPrograms(t *testing.T) {
	needSmall(t)
	p := newProvider(t, Config{})
	base := serving(t, p, ServeOptions{Addr: "127.0.0.1:0", Names: []string{"local/" + SmallModel}})
	send := func(change func(*http.Request)) (int, string) {
		body, err := json.Marshal(object{"model": SmallModel, "max_tokens": 8, "messages": []object{says("user", "Name a colour.")}})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/chat/completions", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		change(req)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(raw)
	}
	status, text := send(func(*http.Request) {})
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil || status != 200 || a.text() == "" {
		t.Errorf("%d %s %v", status, text, err)
	}
	for name, change := range map[string]func(*http.Request){
		"a page that resolves its own name to loopback": func(r *http.Request) { r.Host = "evil.example:8080" },
		"a page of another origin":                      func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
	} {
		if status, text := send(change); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	res, err := http.Get(base + "/models")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, _ := io.ReadAll(res.Body)
	if !strings.Contains(string(raw), SmallModel) || strings.Contains(string(raw), DefaultModel) {
		t.Errorf("the list is %s, want the one model that is served", raw)
	}
}

func TestServingElsewhereNeedsAToken(t *testing.T) {
	needSmall(t)
	p := newProvider(t, Config{})
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "nonsense"} {
		if err := p.Serve(t.Context(), ServeOptions{Addr: addr, Names: []string{SmallModel}}); err == nil {
			t.Errorf("%s is served without a token", addr)
		}
	}
	base := serving(t, p, ServeOptions{Addr: "127.0.0.1:0", Names: []string{SmallModel}, Token: "sesame"})
	for token, want := range map[string]int{"": 401, "Bearer wrong": 401, "Bearer sesame": 200} {
		req, err := http.NewRequest(http.MethodGet, base+"/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%q: %d, want %d", token, res.StatusCode, want)
		}
	}
	if err := p.Serve(t.Context(), ServeOptions{Addr: "127.0.0.1:0", Names: []string{"no-such"}}); err == nil {
		t.Error("an unknown model is served")
	}
}

func TestServedChildMayUseNoOtherFile(t *testing.T) {
	needSmall(t)
	st, err := openStore("")
	if err != nil {
		t.Fatal(err)
	}
	find := st.resolver(known(), SmallModel)
	if _, err := find(DefaultModel); err == nil {
		t.Error("a model that is not served can be used")
	}
	if _, err := find("/etc/passwd.gguf"); err == nil || !strings.Contains(err.Error(), "not served") {
		t.Errorf("any file can be used: %v", err)
	}
	if _, err := find(Prefix + SmallModel); err != nil {
		t.Error(err)
	}
}
