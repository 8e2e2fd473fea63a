package mcpclient

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"towpath/internal/tool"
	"towpath/internal/workspace"
)

// public starts one of the public servers.
func public(t *testing.T, command string, args ...string) *Server {
	t.Helper()
	dir := needServers(t)
	return server(t, func(c *Config) {
		c.Command = filepath.Join(dir, filepath.FromSlash(command))
		for _, a := range args {
			c.Args = append(c.Args, strings.ReplaceAll(a, "$SERVERS", dir))
		}
		c.Timeouts.Start = time.Minute
	})
}

const nodeBin = "npm/node_modules/.bin/node"

func TestPublicEverythingServer(t *testing.T) {
	t.Parallel()
	s := public(t, nodeBin, "$SERVERS/npm/node_modules/.bin/mcp-server-everything")
	ts := tools(t, s)
	if name, _, protocol := s.About(); name != "mcp-servers/everything" || protocol < "2025-11-25" {
		t.Errorf("server %q, protocol %q", name, protocol)
	}
	for _, c := range []struct{ name, args, want string }{
		{"echo", `{"message":"Привіт"}`, "Echo: Привіт"},
		{"get-sum", `{"a":2,"b":40}`, "The sum of 2 and 40 is 42."},
		{"get-tiny-image", `{}`, "[image, image/png, "},
		{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`, "[resource demo://resource/dynamic/text/1]\n"},
		{"get-resource-links", `{"count":2}`, "[resource demo://resource/dynamic/"},
		{"trigger-long-running-operation", `{"duration":1,"steps":4}`, "Long running operation completed. Duration: 1 seconds, Steps: 4."},
	} {
		if ts[c.name] == nil {
			t.Errorf("there is no %s", c.name)
			continue
		}
		if res := do(t, s, c.name, c.args); res.IsError || !strings.Contains(res.Text, c.want) {
			t.Errorf("%s: %+v", c.name, res)
		}
	}
	res := do(t, s, "get-structured-content", `{"location":"New York"}`)
	var weather struct{ Temperature, Humidity *float64 }
	if err := json.Unmarshal(res.Structured, &weather); err != nil || weather.Temperature == nil || weather.Humidity == nil {
		t.Errorf("structured %s, error %v", res.Structured, err)
	}
	if res := do(t, s, "get-sum", `{"a":"x"}`); !res.IsError || !strings.Contains(res.Text, "Invalid arguments") {
		t.Errorf("with wrong arguments: %+v", res)
	}
	scope, err := tool.Open(t.Context(), []workspace.ToolGrant{{Server: "box", All: true}}, []tool.Server{s})
	if err != nil || len(scope.Offers) != len(ts) || len(scope.Warnings) > 0 {
		t.Errorf("%d of %d tools are offered, warnings %q, error %v", len(scope.Offers), len(ts), scope.Warnings, err)
	}
}

func TestPublicFilesystemServer(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := public(t, nodeBin, "$SERVERS/npm/node_modules/.bin/mcp-server-filesystem", dir)
	ts := tools(t, s)
	if read, write := ts["read_text_file"].Spec(), ts["write_file"].Spec(); !read.ReadOnly || write.ReadOnly || !write.Destructive {
		t.Errorf("read_text_file is %+v, write_file %+v", read, write)
	}
	file := filepath.Join(dir, "a b.md")
	if res := do(t, s, "write_file", `{"path":"`+file+`","content":"# Привіт\n"}`); res.IsError {
		t.Errorf("writing: %+v", res)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "# Привіт\n" {
		t.Errorf("the file holds %q, error %v", data, err)
	}
	if res := do(t, s, "read_text_file", `{"path":"`+file+`"}`); res.Text != "# Привіт\n" {
		t.Errorf("reading: %+v", res)
	}
	if res := do(t, s, "read_text_file", `{"path":"/etc/passwd"}`); !res.IsError || !strings.Contains(res.Text, "Access denied") {
		t.Errorf("reading outside: %+v", res)
	}
}

func TestPublicPythonServer(t *testing.T) {
	t.Parallel()
	s := public(t, "python/bin/python", "-m", "mcp_server_time", "--local-timezone", "Europe/Kyiv")
	if n := len(tools(t, s)); n != 2 {
		t.Errorf("%d tools", n)
	}
	if _, _, protocol := s.About(); protocol != "2026-07-28" {
		t.Errorf("protocol %q", protocol)
	}
	res := do(t, s, "convert_time", `{"source_timezone":"UTC","time":"12:00","target_timezone":"Asia/Tokyo"}`)
	if res.IsError || !strings.Contains(res.Text, "T21:00:00+09:00") {
		t.Errorf("result %+v", res)
	}
	if res := do(t, s, "convert_time", `{"source_timezone":"Nowhere","time":"12:00","target_timezone":"UTC"}`); !res.IsError {
		t.Errorf("an unknown zone: %+v", res)
	}
}

func TestPublicEverythingServerOverHTTP(t *testing.T) {
	t.Parallel()
	dir := needServers(t)
	cmd := exec.Command(filepath.Join(dir, filepath.FromSlash(nodeBin)), filepath.Join(dir, "npm", "node_modules", ".bin", "mcp-server-everything"), "streamableHttp")
	port := freePort(t)
	cmd.Env = append(Environment(os.Environ(), nil), "PORT="+port)
	said := &tail{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	listening := regexp.MustCompile("listening on port " + port)
	until(t, "the server", 30*time.Second, func() bool { return listening.MatchString(said.said(2000)) })
	s := over(t, "http://127.0.0.1:"+port+"/mcp")
	if res := do(t, s, "get-sum", `{"a":2,"b":40}`); res.Text != "The sum of 2 and 40 is 42." {
		t.Errorf("result %+v", res)
	}
	if res := do(t, s, "trigger-long-running-operation", `{"duration":1,"steps":2}`); !strings.Contains(res.Text, "completed") {
		t.Errorf("result %+v", res)
	}
}
