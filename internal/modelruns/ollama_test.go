//go:build models

package modelruns

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// modelfile gives the weights a chat template that knows tools.
const modelfile = `FROM %s
TEMPLATE """{{- if or .System .Tools }}<|im_start|>system
{{ .System }}
{{- if .Tools }}

You can call these tools:
<tools>
{{- range .Tools }}
{{ .Function }}
{{- end }}
</tools>

To call one, answer with nothing but this, once for each call:
<tool_call>
{"name": "the tool", "arguments": {"argument": "value"}}
</tool_call>
{{- end }}<|im_end|>
{{ end }}
{{- range $i, $m := .Messages }}
{{- $last := eq (len (slice $.Messages $i)) 1 }}
{{- if eq $m.Role "user" }}<|im_start|>user
{{ $m.Content }}<|im_end|>
{{ else if eq $m.Role "assistant" }}<|im_start|>assistant
{{ $m.Content }}
{{- range $m.ToolCalls }}
<tool_call>
{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
</tool_call>
{{- end }}{{ if not $last }}<|im_end|>
{{ end }}
{{- else if eq $m.Role "tool" }}<|im_start|>user
<tool_response>
{{ $m.Content }}
</tool_response><|im_end|>
{{ end }}
{{- if and $last (ne $m.Role "assistant") }}<|im_start|>assistant
{{ end }}
{{- end }}"""
`

// ollama starts a real server of its own on a free port, with the small model
// made from the weights that towpath pulled, and gives its address.
func ollama(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("TOWPATH_TEST_OLLAMA")
	if bin == "" {
		t.Fatal("TOWPATH_TEST_OLLAMA does not name an Ollama binary; run make test-runtimes, which builds one")
	}
	weights := os.Getenv("TOWPATH_TEST_WEIGHTS")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	env := append(os.Environ(), "OLLAMA_HOST="+host, "OLLAMA_MODELS="+filepath.Join(dir, "models"), "HOME="+dir, "OLLAMA_KEEP_ALIVE=30m", "OLLAMA_NUM_PARALLEL=1")
	log, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(bin, "serve")
	server.Env, server.Stdout, server.Stderr = env, log, log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
		if t.Failed() {
			b, _ := os.ReadFile(log.Name())
			t.Logf("the server said, at its end:\n%s", b[max(0, len(b)-4000):])
		}
	})
	answers(t, "http://"+host+"/api/version")
	file := filepath.Join(dir, "Modelfile")
	if err := os.WriteFile(file, fmt.Appendf(nil, modelfile, weights), 0o666); err != nil {
		t.Fatal(err)
	}
	create := exec.Command(bin, "create", "course-model", "-f", file)
	create.Env = env
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("ollama create: %v\n%s", err, out)
	}
	return host
}

// answers waits until the server answers, half a minute at the most.
func answers(t *testing.T, url string) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	end := time.After(30 * time.Second)
	for {
		if resp, err := http.Get(url); err == nil {
			resp.Body.Close()
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s does not answer", url)
		}
	}
}

func TestCourseThroughOllamasOwnProtocol(t *testing.T) {
	bin, host := program(t), ollama(t)
	complete(t, bin, []string{"OLLAMA_HOST=" + host}, "--model", "ollama/course-model")
}

func TestCourseThroughOllamasOpenAIProtocol(t *testing.T) {
	bin, host := program(t), ollama(t)
	config := filepath.Join(t.TempDir(), "towpath", "config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o777); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("[providers.compat]\nkind = \"openai\"\nurl = \"http://%s/v1\"\n", host)
	if err := os.WriteFile(config, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	complete(t, bin, []string{"XDG_CONFIG_HOME=" + filepath.Dir(filepath.Dir(config))}, "--model", "compat/course-model")
}
