package endpoint

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"towpath/internal/model"
)

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestRefusalsHaveTheirKind(t *testing.T) {
	t.Parallel()
	e := New(Config{BaseURL: "http://127.0.0.1:1/v1"})
	for _, c := range []struct {
		name           string
		status         int
		body           string
		kind           model.Kind
		prompt, window int
	}{
		{"llama.cpp, structured", 400, `{"error":{"code":400,"type":"exceed_context_size_error","message":"request (33056 tokens) exceeds the available context size (32768 tokens), try increasing it","n_prompt_tokens":33056,"n_ctx":32768}}`, model.KindOverflow, 33056, 32768},
		{"only the numbers", 400, `{"error":{"type":"x","n_prompt_tokens":33056,"n_ctx":32768}}`, model.KindOverflow, 33056, 32768},
		{"llama.cpp, older", 500, `{"error":{"message":"the request exceeds the available context size. try increasing the context size or enable context shift"}}`, model.KindOverflow, 0, 0},
		{"Ollama", 400, `{"error":"the input length exceeds the context length"}`, model.KindOverflow, 0, 0},
		{"OpenAI", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, model.KindOverflow, 9001, 8192},
		{"vLLM", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4744 in the messages, 256 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}`, model.KindOverflow, 4744, 4096},
		{"vLLM, too long", 400, `{"error":{"message":"The prompt (total length 33000) is too long to fit into the model (context length 32768). Make sure that max_model_len is no smaller"}}`, model.KindOverflow, 33000, 32768},
		{"vLLM, no room for the reply", 400, `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 2048. This model's maximum context length is 4096 tokens and your request has 3000 input tokens (2048 > 4096 - 3000).","code":400}}`, model.KindOverflow, 3000, 4096},
		{"LM Studio", 400, `{"error":"Trying to keep the first 5005 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`, model.KindOverflow, 5005, 4096},
		{"OpenRouter", 400, `{"error":{"message":"This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens (37952 of text input, 2048 in the output).","code":400}}`, model.KindOverflow, 37952, 32768},
		{"Groq, too large for its minute", 413, `{"error":{"message":"Request too large for model llama on tokens per minute (TPM): Limit 6000, Requested 8000","type":"tokens","code":"rate_limit_exceeded"}}`, model.KindOverflow, 8000, 6000},
		{"Anthropic's words", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 205000 tokens > 200000 maximum"}}`, model.KindOverflow, 205000, 200000},
		{"Gemini's words", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, model.KindOverflow, 1200000, 1048576},

		{"busy Ollama", 503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, model.KindOverloaded, 0, 0},
		{"loading llama.cpp", 503, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, model.KindLoading, 0, 0},
		{"Anthropic busy", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.KindOverloaded, 0, 0},
		{"bad gateway page", 502, `<html>bad gateway</html>`, model.KindOverloaded, 0, 0},
		{"rate", 429, `{"error":{"message":"Rate limit reached for requests"}}`, model.KindRateLimited, 0, 0},
		{"no money", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, model.KindQuota, 0, 0},
		{"no credits", 402, `{"error":{"message":"Insufficient credits","code":402}}`, model.KindQuota, 0, 0},
		{"the day's tokens", 429, `{"error":{"message":"Rate limit reached on tokens per day (TPD): Limit 100000. Please try again in 7m12s.","code":"rate_limit_exceeded"}}`, model.KindQuota, 0, 0},
		{"key", 401, `{"error":{"message":"Incorrect API key provided: sk-***","code":"invalid_api_key"}}`, model.KindAuth, 0, 0},
		{"forbidden", 403, `forbidden`, model.KindAuth, 0, 0},
		{"Ollama, unknown model", 404, `{"error":"model 'x' not found"}`, model.KindNoModel, 0, 0},
		{"OpenAI, unknown model", 404, `{"error":{"message":"The model x does not exist or you do not have access to it.","code":"model_not_found"}}`, model.KindNoModel, 0, 0},
		{"OpenRouter, unknown model", 400, `{"error":{"message":"x is not a valid model ID","code":400}}`, model.KindNoModel, 0, 0},
		{"LM Studio, nothing loaded", 404, `{"error":{"message":"No models loaded. Please load a model in the developer page"}}`, model.KindNoModel, 0, 0},
		{"no such path", 404, `404 page not found`, model.KindProtocol, 0, 0},
		{"no tools in Ollama", 400, `{"error":"registry.ollama.ai/library/x does not support tools"}`, model.KindNoTools, 0, 0},
		{"no tools in llama.cpp", 500, `{"error":{"message":"tools param requires --jinja flag"}}`, model.KindNoTools, 0, 0},
		{"no tools in OpenRouter", 404, `{"error":{"message":"No endpoints found that support tool use.","code":404}}`, model.KindNoTools, 0, 0},
		{"template", 500, `{"error":{"message":"Jinja Exception: Conversation roles must alternate"}}`, model.KindRequest, 0, 0},
		{"memory", 500, `{"error":"model requires more system memory (9.1 GiB) than is available (3.0 GiB)"}`, model.KindRequest, 0, 0},
		{"runner died", 500, `{"error":"model runner has unexpectedly stopped, this may be due to resource limitations"}`, model.KindCrashed, 0, 0},
		{"server error", 500, `{"error":{"message":"The server had an error"}}`, model.KindOverloaded, 0, 0},
		{"a field", 400, `{"error":{"message":"Invalid value for temperature","param":"temperature"}}`, model.KindRequest, 0, 0},
		{"FastAPI", 422, `{"detail":[{"loc":["body","x"],"msg":"extra fields not permitted"}]}`, model.KindRequest, 0, 0},
	} {
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		})
		_, err := New(Config{BaseURL: srv.URL}).Stream(t.Context(), "/x", map[string]int{})
		var r *Refusal
		if !errors.As(err, &r) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := e.Classify(r, Asked{ID: "p/x", Name: "x", Tools: true})
		if got.Kind != c.kind || got.Prompt != c.prompt || got.Window != c.window || got.Status != c.status {
			t.Errorf("%s: kind %s, prompt %d, window %d; want %s, %d, %d", c.name, got.Kind, got.Prompt, got.Window, c.kind, c.prompt, c.window)
		}
	}
}

func TestRetryAfterInSecondsAsADateAndInWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		header, value, words string
		want                 time.Duration
	}{
		{"Retry-After", "5", "", 5 * time.Second},
		{"Retry-After", "18000", "", 5 * time.Hour},
		{"Retry-After", "Fri, 02 Jan 2026 03:05:05 GMT", "", time.Minute},
		{"Retry-After", "Fri, 02 Jan 2026 03:00:00 GMT", "", 0},
		{"Retry-After", "-3", "", 0},
		{"Retry-After", "soon", "", 0},
		{"Retry-After", "1e300", "", 1e8 * time.Second},
		{"Retry-After-Ms", "1500", "", 1500 * time.Millisecond},
		{"", "", "Please try again in 7m12.5s.", 7*time.Minute + 12500*time.Millisecond},
		{"", "", "Please retry in 20 seconds", 20 * time.Second},
	} {
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if c.header != "" {
				w.Header().Set(c.header, c.value)
			}
			w.WriteHeader(429)
			json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": c.words}})
		})
		_, err := New(Config{BaseURL: srv.URL, Clock: func() time.Time { return now }}).Stream(t.Context(), "/x", 1)
		var r *Refusal
		if !errors.As(err, &r) || r.RetryAfter != min(c.want, 365*24*time.Hour) {
			t.Errorf("%s %q %q: %v, want %v", c.header, c.value, c.words, r.RetryAfter, c.want)
		}
	}
}

func TestQuotaSaysUntilWhen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e := New(Config{BaseURL: "http://127.0.0.1:1", Clock: func() time.Time { return now }})
	got := e.Classify(&Refusal{Status: 429, Message: "tokens per day", RetryAfter: time.Hour}, Asked{})
	if got.Kind != model.KindQuota || !got.Until.Equal(now.Add(time.Hour)) {
		t.Errorf("%s until %v", got.Kind, got.Until)
	}
}

func TestRedirectsNeverCarryHeadersToAnotherHost(t *testing.T) {
	t.Parallel()
	var reached []http.Header
	thief := serve(t, func(w http.ResponseWriter, r *http.Request) { reached = append(reached, r.Header) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, thief.URL+"/x", status) })
		e := New(Config{BaseURL: srv.URL, Header: map[string]string{"Authorization": "Bearer secret", "X-Key": "secret"}})
		_, err := e.Stream(t.Context(), "/x", 1)
		var r *Refusal
		if !errors.As(err, &r) || r.Status != status {
			t.Fatalf("%d: %v", status, err)
		}
		if got := e.Classify(r, Asked{}); got.Kind != model.KindProtocol || !strings.Contains(got.Error(), thief.URL) {
			t.Errorf("%d: %v", status, got)
		}
	}
	if len(reached) > 0 {
		t.Errorf("the other host was reached with %v", reached)
	}
}

func TestRedirectWithinTheServerIsFollowed(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/x" {
			http.Redirect(w, r, "/y", http.StatusTemporaryRedirect)
			return
		}
		b, _ := io.ReadAll(r.Body)
		json.NewEncoder(w).Encode(string(b) + r.Header.Get("Authorization"))
	})
	var got string
	e := New(Config{BaseURL: srv.URL, Header: map[string]string{"Authorization": "k"}})
	if err := e.JSON(t.Context(), "/x", 1, &got); err != nil || got != "1k" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestProxyIsPassedByForThisMachineAndItsNetwork(t *testing.T) {
	t.Parallel()
	proxy := &url.URL{Scheme: "http", Host: "refusing.example:3128"}
	choose := pastProxy(func(*http.Request) (*url.URL, error) { return proxy, nil })
	for address, direct := range map[string]bool{
		"http://127.0.0.1:11434": true, "http://localhost": true, "http://[::1]:8080": true, "http://192.168.1.7": true, "http://10.0.0.3": true,
		"http://172.20.0.2": true, "http://box": true, "http://box.local:1234": true, "http://host.docker.internal:11434": true, "http://100.64.3.4": true,
		"http://[fd00::1]": true, "https://api.openai.com": false, "http://8.8.8.8": false, "http://172.200.0.1": false, "http://localhost.example.com": false,
	} {
		r, err := http.NewRequest("POST", address, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := choose(r)
		if err != nil || (got == nil) != direct {
			t.Errorf("%s goes by proxy %v, %v; want direct: %v", address, got, err, direct)
		}
	}
}

func TestProxyThatRefusesDoesNotStopALocalServer(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `"here"`) })
	refusing := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) })
	at, _ := url.Parse(refusing.URL)
	e := New(Config{BaseURL: srv.URL, Proxy: func(*http.Request) (*url.URL, error) { return at, nil }})
	var got string
	if err := e.JSON(t.Context(), "/x", nil, &got); err != nil || got != "here" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAnswerThatUnpacksToTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		zeroes := make([]byte, 1<<20)
		for range 64 {
			if _, err := z.Write(zeroes); err != nil {
				return
			}
		}
		z.Close()
	})
	var got any
	err := New(Config{BaseURL: srv.URL}).JSON(t.Context(), "/x", nil, &got)
	if model.KindOf(err) != model.KindProtocol || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("error = %v", err)
	}
}

func TestConnectionThatDoesNotComeAboutIsATimeoutOfItsOwn(t *testing.T) {
	t.Parallel()
	e := New(Config{BaseURL: "http://127.0.0.1:9", Timeouts: Timeouts{Connect: 50 * time.Millisecond},
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }})
	_, err := e.Stream(t.Context(), "/x", 1)
	if model.KindOf(err) != model.KindTimeout || !strings.Contains(err.Error(), "connecting") {
		t.Errorf("error = %v", err)
	}
}

func TestBaseAddressThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "ftp://x", "http://", "::", "api.openai.com/v1"} {
		_, err := New(Config{BaseURL: base}).Stream(t.Context(), "/x", 1)
		if model.KindOf(err) != model.KindUnreachable {
			t.Errorf("%q: %v", base, err)
		}
	}
}

func TestNearestName(t *testing.T) {
	t.Parallel()
	have := []string{"qwen3.5:9b", "llama3:8b", "smollm2:135m"}
	for want, near := range map[string]string{"qwen3:9b": "qwen3.5:9b", "llama3": "llama3:8b", "Smollm2:135M": "smollm2:135m", "gpt-4o": ""} {
		if got := Nearest(want, have); got != near {
			t.Errorf("Nearest(%q) = %q, want %q", want, got, near)
		}
	}
}

func TestCutPromptIsKnownByTheSizeOfAWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		count, estimate, window int
		cut                     bool
	}{
		{2050, 33000, 0, true}, {4096, 33000, 4096, true}, {4095, 4000, 4096, true}, {2050, 4500, 4096, true},
		{0, 33000, 4096, false}, {11, 33000, 65536, false}, {30000, 33000, 65536, false}, {2050, 2100, 8192, false}, {1026, 1100, 0, false},
	} {
		if got := CutPrompt(c.count, c.estimate, c.window); got != c.cut {
			t.Errorf("CutPrompt(%d, %d, %d) = %v", c.count, c.estimate, c.window, got)
		}
	}
}

func FuzzParseRefusal(f *testing.F) {
	for _, s := range []string{`{"error":"x"}`, `{"error":{"message":"x","code":429}}`, `[{"error":{}}]`, `"{\"error\":\"x\"}"`, `<html>`, `{"detail":[{"loc":[]}]}`, ``} {
		f.Add([]byte(s))
	}
	e := New(Config{BaseURL: "http://127.0.0.1:1"})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := ParseRefusal(b)
		if len(r.Message) > 2000 {
			t.Errorf("message of %d bytes", len(r.Message))
		}
		if got := e.Classify(r, Asked{}); got.Kind == "" || got.Message == "" {
			t.Errorf("%+v", got)
		}
	})
}
