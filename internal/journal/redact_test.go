package journal

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"towpath/internal/durable"
)

// The parts keep scanners of sources from taking these for real.
func joined(parts ...string) string { return strings.Join(parts, "") }

func TestLiveKeyNeverReachesTheJournal(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	key := `a"b\c<d>&e/ключ+9`
	r := create(t, tr, "01-a", Options{Secrets: []string{key, "plain-secret-77"}})
	inJSON, err := json.Marshal(map[string]string{"text": "the key is " + key})
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(string(inJSON))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 2000) + key + "plain-secret-77"
	add(t, r,
		Event{Type: ModelCall, Request: &Request{Messages: []Body{body(t, r, string(inJSON)), body(t, r, string(twice)), body(t, r, long)}}},
		Event{Type: ModelReply, Reply: &Reply{Error: "refused " + key, ToolCalls: []Asked{{Arguments: string(inJSON)}}}},
		Event{Type: ToolResult, Result: &Result{Structured: json.RawMessage(inJSON), Error: "plain-secret-77"}},
		Event{Type: RunStarted, Started: &Started{Inputs: map[string]string{"plain-secret-77.md": "h"}}},
		Event{Type: Exit, Exit: &Exited{Reason: key}},
	)
	if _, err := r.Keep("a.md", []byte(long)); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	all := everything(t, tr)
	for _, part := range []string{"plain-secret-77", "ключ+9", `c<d>`, `c\u003cd`, "key+9"} {
		if strings.Contains(all, part) {
			t.Errorf("%q is in the history", part)
		}
	}
	if !strings.Contains(all, Hidden) {
		t.Error("nothing was hidden")
	}
	events(t, tr, r.Name()) // still whole
}

func TestCredentialShapedValuesAreHidden(t *testing.T) {
	t.Parallel()
	r := newRedactor(nil)
	for _, secret := range []string{
		joined("sk-", "proj-abc123DEF456ghi789jkl"),
		joined("sk-", "ant-api03-abc123DEF456ghi789"),
		joined("ghp_", "abcdefghijklmnopqrstuvwxyz0123456789"),
		joined("github_", "pat_11ABCDEFG0123456789_abcdef"),
		joined("glpat", "-abcDEF123456ghi78901"),
		joined("AKIA", "IOSFODNN7EXAMPLE"),
		joined("AIza", "SyA1234567890abcdefghijklmnopqrstuv"),
		joined("xox", "b-123456789012-abcdefghij"),
		joined("gsk_", "abcdefghijklmnopqrstuvwxyz012345"),
		joined("hf_", "abcdefghijklmnopqrstuvwxyz"),
		joined("tvly-", "abcdefghijklmnop1234"),
		joined("eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIn0", ".dozjgNryP4J3jVmNHl0w5N"),
	} {
		for _, text := range []string{secret, "key=" + secret + ".", `{"k":"` + secret + `"}`, "(" + secret + ")"} {
			if got := r.text(text); strings.Contains(got, secret) || !strings.Contains(got, Hidden) {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
	for text, want := range map[string]string{
		"Authorization: Bearer abc123def456":                                                  "Authorization: Bearer [hidden]",
		`"authorization": "bearer abcdefghij12345"`:                                           `"authorization": "bearer [hidden]"`,
		"Authorization: Basic dXNlcjpwYXNz":                                                   "Authorization: Basic [hidden]",
		"GET https://x.org/v1?q=go&key=abc123DEF&page=2":                                      "GET https://x.org/v1?q=go&key=[hidden]&page=2",
		"https://x.org/?api_key=abc123DEF#top":                                                "https://x.org/?api_key=[hidden]#top",
		"https://x.org/?access_token=abc123DEF\n":                                             "https://x.org/?access_token=[hidden]\n",
		"postgres://me:hunter2@db.local/x":                                                    "postgres://me:[hidden]@db.local/x",
		"export OPENAI_API_KEY=abcdef123456":                                                  "export OPENAI_API_KEY=[hidden]",
		joined("-----BEGIN ", "PRIVATE KEY-----\nMIIE\n-----END ", "PRIVATE KEY-----\nafter"): "[hidden]\nafter",
	} {
		if got := r.text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestOrdinaryTextIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRedactor([]string{"ollama", "x", "", "  ", "none", "sk-no-key-required"})
	for _, text := range []string{
		"Run ollama with no key; sk-no-key-required is a placeholder.",
		"The risk-based-approach-to-everything-we-do works.",
		"A sk-learn-style-interface-for-models is common.",
		"Use bearer authentication or bearer tokens.",
		"SELECT key=value; token = next()",
		"https://example.org/a?page=2&sort=key",
		"http://127.0.0.1:11434/api/chat and user@example.org",
		durable.Hash([]byte("x")),
		"PRIMARY_KEY = id",
	} {
		if got := r.text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestOutputsLoseOnlyConfiguredKeys(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	r := create(t, tr, "01-a", Options{Secrets: []string{"hunter-2222"}})
	example := joined("AKIA", "IOSFODNN7EXAMPLE")
	text := "Set the key to " + example + ", never hunter-2222."
	if got, want := r.Scrub(text), "Set the key to "+example+", never [hidden]."; got != want {
		t.Errorf("got %q", got)
	}
	p, err := r.Keep("a.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := raw(t, tr, p); !strings.Contains(got, example) || strings.Contains(got, "hunter") {
		t.Errorf("kept %q", got)
	}
}

func TestHashesAreNotMistakenForSecrets(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	hash := durable.Hash([]byte("page"))
	own := durable.Hash([]byte("a key that looks like a hash"))
	r := create(t, tr, "01-a", Options{Secrets: []string{hash[10:20], own}})
	add(t, r, Event{Type: OutputWritten, Output: &Output{Path: "a", Hash: hash, Kept: own}})
	o := events(t, tr, r.Name())[0].Output
	if o.Hash != hash || o.Kept != Hidden {
		t.Errorf("%+v", o)
	}
}

func TestObserverSeesNoSecret(t *testing.T) {
	t.Parallel()
	var notes []string
	r := create(t, tree(t), "01-a", Options{Secrets: []string{"hunter-2222"}, Observe: func(e Event) { notes = append(notes, e.Note) }})
	add(t, r, Event{Type: Nudge, Note: "it is hunter-2222"})
	r.Transient(Event{Type: Warning, Note: "it is hunter-2222"})
	for _, n := range notes {
		if n != "it is [hidden]" {
			t.Errorf("seen: %q", n)
		}
	}
}

func FuzzRedactKeepsEventsWhole(f *testing.F) {
	f.Add("a \"quoted\" secret-value \\ \u2028", "secret-value")
	f.Add("?key=abcdefgh&x", "\"\\\"\\\"\\")
	f.Add("\xff\xfe", "\xff\xfe\xff\xfe\xff\xfe")
	f.Fuzz(func(t *testing.T, text, secret string) {
		r := newRedactor([]string{secret})
		e, err := r.event(Event{Type: Nudge, Run: "r", Note: text, Started: &Started{Inputs: map[string]string{text: text}}})
		if err != nil {
			t.Fatal(err)
		}
		if e.Type != Nudge || e.Run != "r" {
			t.Errorf("became %+v", e)
		}
		if _, err := json.Marshal(e); err != nil {
			t.Error(err)
		}
	})
}

func TestMain(m *testing.M) {
	if os.Getenv(helperVar) != "" {
		helper()
		return
	}
	os.Exit(m.Run())
}
