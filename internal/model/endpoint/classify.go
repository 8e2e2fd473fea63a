package endpoint

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"towpath/internal/model"
)

// Asked is what a refused request was about.
type Asked struct {
	ID    string // provider/model
	Name  string // as the server knows it
	Tools bool   // tools were offered
	KeyAt string // where the key comes from, for the mend of a refused key
	Pull  string // how the model is had, for the mend of a missing one
}

// Classify gives a refusal its kind, its message and its mend.
func (e *Endpoint) Classify(r *Refusal, a Asked) *model.Error {
	err := &model.Error{Kind: r.kind(a), Model: a.ID, URL: e.URL(), Status: r.Status, RetryAfter: r.RetryAfter, Err: r}
	words := r.Message
	switch err.Kind {
	case model.KindOverflow:
		err.Prompt, err.Window = r.Prompt, r.Window
		err.Message = "the prompt does not fit the model's window: " + words
		err.Mend = "shorten the largest inputs, or take a model with a larger window"
	case model.KindAuth:
		err.Message = fmt.Sprintf("%s refuses the key: %s", e.URL(), words)
		err.Mend = "set a valid key"
		if a.KeyAt != "" {
			err.Mend = "set a valid key in " + a.KeyAt
		}
	case model.KindNoModel:
		err.Message = fmt.Sprintf("%s does not have the model %q: %s", e.URL(), a.Name, words)
		err.Mend = a.Pull
	case model.KindNoTools:
		err.Message = "the model cannot call tools here: " + words
		err.Mend = "take a model that can, or leave the tools out of the contract"
	case model.KindQuota:
		err.Message = "the quota is used up: " + words
		err.Mend = "wait until it is renewed, or take another model"
		if r.RetryAfter > 0 {
			err.Until = e.clock().Add(r.RetryAfter)
		}
	case model.KindRateLimited:
		err.Message = "asked too often: " + words
	case model.KindLoading:
		err.Message = "the server still loads the model: " + words
	case model.KindOverloaded:
		err.Message = fmt.Sprintf("the server is busy or failed (%s): %s", r.statusWord(), words)
	case model.KindCrashed:
		err.Message = "the server's model process ended: " + words
		err.Mend = "look into the server's log; a smaller model or window may fit its memory"
	case model.KindInterrupted:
		err.Message = "the reply broke off: " + words
	case model.KindProtocol:
		e.strange(err, r)
	default:
		err.Message = fmt.Sprintf("the server refuses the request (%s): %s", r.statusWord(), words)
	}
	return err
}

func (r *Refusal) statusWord() string {
	if r.Status > 0 {
		return "status " + strconv.Itoa(r.Status)
	}
	return "error in the stream"
}

// strange words the answers that no model server gives.
func (e *Endpoint) strange(err *model.Error, r *Refusal) {
	switch {
	case r.Location != "":
		err.Message = fmt.Sprintf("%s redirects to %s, where neither key nor prompt is sent", e.URL(), bounded(r.Location, 200))
		err.Mend = "if that is the right one, set it as the base URL"
	case r.Status == http.StatusNotFound, r.Status == http.StatusMethodNotAllowed:
		err.Message = fmt.Sprintf("%s has no chat call at this path (status %d)", e.URL(), r.Status)
		err.Mend = "check the base URL: most servers want it to end in /v1"
	default:
		err.Message = fmt.Sprintf("%s gives an answer that no model server gives (%s)", e.URL(), r.statusWord())
		err.Mend = "another program may listen there: check the address"
	}
}

// kind sorts a refusal: by what the server states in fields, then by words that
// are known of its kind of server, then by the status alone.
func (r *Refusal) kind(a Asked) model.Kind {
	text := strings.ToLower(r.Message + " " + r.Type + " " + r.Code)
	has := func(words ...string) bool { return containsAny(text, words) }
	switch {
	case r.overflows(text):
		return model.KindOverflow
	case r.Status >= 300 && r.Status < 400:
		return model.KindProtocol
	case a.Tools && has("does not support tools", "not support tool", "support tool use", "does not support function", "function calling is not", "enable-auto-tool-choice", "requires --jinja", "tools is not supported", "tool calling is not"):
		return model.KindNoTools
	case has("insufficient_quota", "insufficient credit", "exceeded your current quota", "per day", "daily limit", "(tpd)", "(rpd)") || r.Status == http.StatusPaymentRequired:
		return model.KindQuota
	case r.Status == http.StatusTooManyRequests || has("rate_limit", "rate limit", "too many requests"):
		return model.KindRateLimited
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden || has("invalid_api_key", "authentication_error"):
		return model.KindAuth
	case has("loading model", "model is loading", "still loading", "currently loading", "is being loaded") && r.Status != 400:
		return model.KindLoading
	case has("runner has unexpectedly stopped", "runner process has terminated", "error was encountered while running the model", "model has crashed", "cuda error"):
		return model.KindCrashed
	case r.missesModel(text):
		return model.KindNoModel
	}
	return r.kindByStatus(has)
}

func (r *Refusal) kindByStatus(has func(...string) bool) model.Kind {
	switch {
	case has("jinja", "template", "more system memory"):
		return model.KindRequest
	case has("overloaded", "server busy", "server_busy", "temporarily unavailable", "capacity"):
		return model.KindOverloaded
	case r.Status == http.StatusNotFound || r.Status == http.StatusMethodNotAllowed || r.HTML && r.Status < 500:
		return model.KindProtocol
	case r.Status == http.StatusRequestTimeout || r.Status >= 500:
		return model.KindOverloaded
	case r.Status == 499:
		return model.KindInterrupted
	case r.Status == 0 && r.MidStream:
		return model.KindInterrupted
	}
	return model.KindRequest
}

func (r *Refusal) missesModel(text string) bool {
	if strings.Contains(text, "model_not_found") || strings.Contains(text, "not a valid model") || strings.Contains(text, "no models loaded") {
		return true
	}
	return strings.Contains(text, "model") && (r.Status == 404 || r.Status == 400) &&
		containsAny(text, []string{"not found", "does not exist", "not exist", "unknown model", "no such model", "is not available"})
}

// overflows knows how servers say that a prompt is too long.
func (r *Refusal) overflows(text string) bool {
	if r.Window > 0 && r.Prompt > r.Window || r.Status == http.StatusRequestEntityTooLarge {
		return true
	}
	return containsAny(text, []string{
		"exceed_context_size", "context_length_exceeded", // llama.cpp; OpenAI, Groq
		"exceeds the context length", "exceeds the available context", "exceeds maximum context", "exceeds the maximum context", // Ollama, llama.cpp
		"maximum context length",                                               // OpenAI, vLLM, OpenRouter, Mistral
		"context size has been exceeded", "context window", "context overflow", // LM Studio and others
		"too long to fit into the model", "longer than the maximum model length", // vLLM
		"when context the overflows", "greater than the context length", "loaded with context length", "reached context length", // LM Studio
		"reduce the length of the messages", "prompt is too long", "input is too long", "input token count", // Groq, Anthropic, others, Gemini
		"tokens + `max_new_tokens` must be", "request too large for model", // TGI; Groq
	})
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// numbers finds the sizes in messages that state them in prose.
var numbers = sync.OnceValue(func() (p struct{ window, prompt []*regexp.Regexp }) {
	for _, s := range []string{
		`maximum context length (?:is|of) (\d+)`, `available context size \((\d+)`, `context length (?:of only |of |is |= ?)?(\d+)`,
		`\(context length (\d+)\)`, `tokens allowed \((\d+)\)`, `> (\d+) maximum`, `must be <= (\d+)`, `(\d+) maximum context`,
		`context size \(?(\d+)`, `limit (\d+), requested`,
	} {
		p.window = append(p.window, regexp.MustCompile(s))
	}
	for _, s := range []string{
		`\((\d+) (?:in the messages|of text input)`, `(\d+) input tokens`, `request \((\d+) tokens\)`, `total length (\d+)`, `resulted in (\d+) tokens`,
		`requested (?:about )?(\d+)`, `contains (\d+) tokens`, `too long: (\d+)`, `token count \((\d+)\)`, `given: (\d+)`, `keep the first (\d+)`,
	} {
		p.prompt = append(p.prompt, regexp.MustCompile(s))
	}
	return p
})

func (r *Refusal) findNumbers() {
	text := strings.ToLower(r.Message)
	if !strings.Contains(text, "token") && !strings.Contains(text, "context") {
		return
	}
	first := func(list []*regexp.Regexp) int {
		for _, re := range list {
			if m := re.FindStringSubmatch(text); m != nil {
				n, _ := strconv.Atoi(m[1])
				return n
			}
		}
		return 0
	}
	if r.Window == 0 {
		r.Window = first(numbers().window)
	}
	if r.Prompt == 0 {
		r.Prompt = first(numbers().prompt)
	}
}
