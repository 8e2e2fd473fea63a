package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"towpath/internal/tool"
	"towpath/internal/tool/mcpclient"
)

// toolServerArg makes this program a tool server over pipes.
const toolServerArg = "tool-server"

// echoServer is the public SDK's own server with one tool.
func echoServer() *mcp.Server {
	type text struct {
		Text string `json:"text"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	return s
}

func serveTools() error { return echoServer().Run(context.Background(), &mcp.StdioTransport{}) }

// toolCalls times a call of a tool through the client, against the same call
// through the bare SDK, on servers of the same program.
func toolCalls(b *bench) (table, error) {
	self, err := os.Executable()
	if err != nil {
		return table{}, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return table{}, err
	}
	server := echoServer()
	web := &http.Server{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)}
	go web.Serve(l)
	defer web.Close()
	url := "http://" + l.Addr().String()

	t := table{title: "A call of a tool through the client, against the bare SDK"}
	for _, way := range []struct {
		name string
		cfg  mcpclient.Config
		bare func() mcp.Transport
	}{
		{"over pipes", mcpclient.Config{Command: self, Args: []string{toolServerArg}},
			func() mcp.Transport {
				return &mcp.CommandTransport{Command: exec.CommandContext(b.ctx, self, toolServerArg)}
			}},
		{"over HTTP", mcpclient.Config{URL: url}, func() mcp.Transport { return &mcp.StreamableClientTransport{Endpoint: url} }},
	} {
		way.cfg.Name, way.cfg.Dir, way.cfg.Env = "echo", b.dir, mcpclient.Environment(os.Environ(), nil)
		for _, size := range []int{100, 1 << 20} {
			ours, bare, err := callPair(b, way.cfg, way.bare(), size)
			if err != nil {
				return table{}, fmt.Errorf("%s: %w", way.name, err)
			}
			what := fmt.Sprintf("%s, %d bytes", way.name, size)
			if size >= 1<<20 {
				what = fmt.Sprintf("%s, %d MiB", way.name, size>>20)
			}
			t.rows = append(t.rows, row{what, ms(ours.median()), ms(bare.median()), times(pairwise(ours, bare)), "at most 1.2 times"})
		}
	}
	return t, nil
}

// callPair times calls that send and get back so many bytes.
func callPair(b *bench, cfg mcpclient.Config, transport mcp.Transport, size int) (ours, bare *side, err error) {
	text := strings.Repeat("x", size)
	args := json.RawMessage(fmt.Sprintf(`{"text":%q}`, text))
	client := mcpclient.New(cfg)
	defer client.Close()
	tools, err := client.Tools(b.ctx)
	if err != nil {
		return nil, nil, err
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, nil).Connect(b.ctx, transport, nil)
	if err != nil {
		return nil, nil, err
	}
	defer session.Close()
	ours = &side{run: func() error { return echoed(b.ctx, tools[0], args, size) }}
	bare = &side{run: func() error {
		res, err := session.CallTool(b.ctx, &mcp.CallToolParams{Name: "echo", Arguments: args})
		if err != nil {
			return err
		}
		if got, ok := res.Content[0].(*mcp.TextContent); !ok || len(got.Text) != size {
			return fmt.Errorf("the bare SDK got another answer")
		}
		return nil
	}}
	n := 2000
	if size >= 1<<20 {
		n = 100
	}
	return ours, bare, alternate(b.turns(n), ours, bare)
}

func echoed(ctx context.Context, t tool.Tool, args json.RawMessage, size int) error {
	res, err := t.Call(ctx, args)
	if err == nil && len(res.Text) != size {
		err = fmt.Errorf("the client got %d bytes, want %d", len(res.Text), size)
	}
	return err
}
