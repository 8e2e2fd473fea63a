package fakeserver

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func post(t *testing.T, url, body string) string {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestScriptFromAFileAnswersBothProtocolsByWhatIsAsked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "script.json")
	script := `{"models":[{"name":"m"}],"replies":[{"when":"two","text":"second"},{"text":"first","times":-1},{"when":"never","text":"x"}]}`
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	srv := New(t, s)
	if got := post(t, srv.URL+"/api/chat", `{"model":"m","messages":[{"role":"user","content":"one"}]}`); !strings.Contains(got, "first") || !strings.Contains(got, `"done":true`) {
		t.Errorf("native: %s", got)
	}
	if got := post(t, srv.URL+"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"two"}]}`); !strings.Contains(got, "second") || !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("compatible: %s", got)
	}
	if chats := srv.Chats(); len(chats) != 2 || !chats[0].Native || chats[1].Messages[0].Content != "two" {
		t.Errorf("chats: %+v", chats)
	}
	if left := srv.Unused(); len(left) != 1 || left[0] != "never" {
		t.Errorf("unused: %v", left)
	}
	if got := post(t, srv.URL+"/api/chat", `{"model":"other","messages":[]}`); !strings.Contains(got, "not found") {
		t.Errorf("another model: %s", got)
	}
}
