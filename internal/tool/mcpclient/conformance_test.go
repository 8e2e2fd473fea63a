package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"towpath/internal/tool"
)

// TestPublicConformanceSuite runs every client scenario of the public suite, of
// its release and of the one that is next, which knows the newer protocol.
func TestPublicConformanceSuite(t *testing.T) {
	t.Parallel()
	dir := needServers(t)
	for _, suite := range []string{"@modelcontextprotocol/conformance", "conformance-next"} {
		t.Run(filepath.Base(suite), func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(dir, "npm", "node_modules", filepath.FromSlash(suite), "dist", "index.js")
			node := filepath.Join(dir, "npm", "node_modules", ".bin", "node")
			for _, scenario := range scenarios(t, node, program) {
				if strings.HasPrefix(scenario, "auth/") {
					t.Logf("left out: %s: signing in with OAuth is not offered", scenario)
					continue
				}
				t.Run(scenario, func(t *testing.T) {
					t.Parallel()
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					cmd := exec.CommandContext(ctx, node, program, "client", "--command", os.Args[0], "--scenario", scenario, "--force")
					cmd.Dir = t.TempDir()
					out, err := cmd.CombinedOutput()
					if err != nil && bytes.Contains(out, []byte("unknown option '--force'")) {
						cmd = exec.CommandContext(ctx, node, program, "client", "--command", os.Args[0], "--scenario", scenario)
						cmd.Dir = t.TempDir()
						out, err = cmd.CombinedOutput()
					}
					if err != nil || !bytes.Contains(out, []byte("OVERALL: PASSED")) {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
		})
	}
}

var scenarioLine = regexp.MustCompile(`(?m)^\s+- (\S+)`)

// scenarios asks the suite which client scenarios it has.
func scenarios(t *testing.T, node, program string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), node, program, "list").CombinedOutput()
	if err != nil {
		t.Fatalf("listing the scenarios: %v: %s", err, out)
	}
	_, rest, ok := strings.Cut(string(out), "Client scenarios")
	if !ok {
		t.Fatalf("there are no client scenarios in %s", out)
	}
	rest, _, _ = strings.Cut(rest, "Authorization server scenarios")
	var names []string
	for _, m := range scenarioLine.FindAllStringSubmatch(rest, -1) {
		names = append(names, m[1])
	}
	if len(names) < 4 {
		t.Fatalf("there are only %d client scenarios", len(names))
	}
	return names
}

// judged is the client that the suite judges: it does what a stage would do with
// the suite's server.
func judged(scenario, url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	cfg := Config{Name: "suite", URL: url, Version: "1", Note: func(s string) { fmt.Fprintln(os.Stderr, s) }}
	switch scenario {
	case "elicitation-sep1034-client-defaults":
		cfg.Elicit = accepting(map[string]any{})
	case "sep-2322-client-request-state":
		cfg.Elicit = accepting(map[string]any{"confirmed": true})
	}
	s := New(cfg)
	defer s.Close()
	tools, err := s.Tools(ctx)
	if err != nil {
		return err
	}
	call := func(t tool.Tool, args string) {
		res, err := t.Call(ctx, json.RawMessage(args))
		fmt.Fprintln(os.Stderr, t.Spec().Name, res.IsError, res.Text, err)
	}
	switch scenario {
	case "tools_call":
		call(tools[0], `{"a": 5, "b": 3}`)
	case "json-schema-2020-12-preservation":
		for _, t := range tools {
			if t.Spec().Name == "json_schema_2020_12_tool" {
				call(named(tools, "json_schema_echo"), fmt.Sprintf(`{"schema": %s}`, t.Spec().Input))
			}
		}
	case "http-custom-headers":
		var given struct {
			Calls []struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"toolCalls"`
		}
		if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given); err != nil {
			return err
		}
		for _, c := range given.Calls {
			call(named(tools, c.Name), string(c.Arguments))
		}
	case "http-invalid-tool-headers":
		for _, t := range tools {
			call(t, `{"region": "us-west1"}`)
		}
	case "http-standard-headers":
		call(tools[0], `{}`)
		others(ctx, s)
	default:
		for _, t := range tools {
			call(t, `{}`)
		}
	}
	return nil
}

func accepting(content map[string]any) func(context.Context, Question) (Answer, error) {
	return func(context.Context, Question) (Answer, error) {
		return Answer{Action: "accept", Content: content}, nil
	}
}

func named(tools []tool.Tool, name string) tool.Tool {
	for _, t := range tools {
		if t.Spec().Name == name {
			return t
		}
	}
	return tools[0]
}

// others asks for what stages do not use, and the suite wants to see the headers
// of.
func others(ctx context.Context, s *Server) {
	session := s.current().session
	if res, err := session.ListResources(ctx, nil); err == nil && len(res.Resources) > 0 {
		_, _ = session.ReadResource(ctx, &mcp.ReadResourceParams{URI: res.Resources[0].URI})
	}
	if res, err := session.ListPrompts(ctx, nil); err == nil && len(res.Prompts) > 0 {
		_, _ = session.GetPrompt(ctx, &mcp.GetPromptParams{Name: res.Prompts[0].Name})
	}
}
