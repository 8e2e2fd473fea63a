package fakeserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Tools is the script of a tool server that speaks the Model Context Protocol
// over pipes (ServeTools) or HTTP (ToolServer), and misbehaves as it is told.
type Tools struct {
	Versions []string `json:",omitempty"` // with a handshake; nil: all; the last is answered where none fits
	Strict   string   `json:",omitempty"` // an unknown version is refused with this text
	Modern   bool     `json:",omitempty"` // speaks 2026-07-28 as well
	NoShake  bool     `json:",omitempty"` // has no handshake

	SilentAtDiscover bool   `json:",omitempty"`
	DiesAtDiscover   bool   `json:",omitempty"`
	Dies             string `json:",omitempty"` // says this on standard error and ends at once
	Banner           string `json:",omitempty"` // on standard output, before anything else
	Chatter          bool   `json:",omitempty"` // a line that is no message before every message
	Delay            int    `json:",omitempty"` // milliseconds before the first byte
	Silent           bool   `json:",omitempty"` // reads, and never answers
	Deaf             bool   `json:",omitempty"` // does not even read after the handshake
	IgnoresEnd       bool   `json:",omitempty"` // goes on when its input closes

	List     []string `json:",omitempty"` // tools, each as JSON, in place of the ordinary ones
	More     int      `json:",omitempty"` // so many more tools: more1, more2, ...
	Page     int      `json:",omitempty"` // tools on one page; 0: all
	Circular bool     `json:",omitempty"` // the last page names the first
}

// ordinary are the tools of a server whose script lists none. Each does what its
// name says.
var ordinary = []string{
	`{"name":"echo","description":"says it again","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`,
	`{"name":"sleep","inputSchema":{"type":"object","properties":{"ms":{"type":"integer"}}}}`,
	`{"name":"progress","inputSchema":{"type":"object","properties":{"times":{"type":"integer"},"ms":{"type":"integer"}}}}`,
	`{"name":"die","inputSchema":{"type":"object"}}`,
	`{"name":"big","inputSchema":{"type":"object","properties":{"bytes":{"type":"integer"}}},"annotations":{"readOnlyHint":true}}`,
	`{"name":"noise","inputSchema":{"type":"object"}}`,
	`{"name":"change","inputSchema":{"type":"object"},"annotations":{"destructiveHint":false,"idempotentHint":true}}`,
	`{"name":"env","inputSchema":{"type":"object"}}`,
	`{"name":"cancelled","inputSchema":{"type":"object"}}`,
	`{"name":"answer","inputSchema":{"type":"object"}}`,
	`{"name":"pid","inputSchema":{"type":"object"}}`,
}

// ServeTools is the server of a script, given as JSON, over pipes. It gives the
// exit code.
func ServeTools(script string, in io.Reader, out, errs io.Writer) int {
	var s Tools
	if err := json.Unmarshal([]byte(script), &s); err != nil {
		fmt.Fprintln(errs, err)
		return 2
	}
	if s.Dies != "" {
		fmt.Fprintln(errs, s.Dies)
		return 3
	}
	time.Sleep(time.Duration(s.Delay) * time.Millisecond)
	fmt.Fprint(out, s.Banner)
	t := newToolServer(s)
	var mu sync.Mutex
	t.send = func(m any) {
		mu.Lock()
		defer mu.Unlock()
		if s.Chatter {
			fmt.Fprintln(out, "debug: about to answer")
		}
		b, _ := json.Marshal(m)
		out.Write(append(b, '\n'))
	}
	t.raw = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		io.WriteString(out, text)
	}
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		var m rpcMessage
		if json.Unmarshal(line, &m) != nil || s.Silent {
			continue
		}
		if m.Method == "server/discover" && s.DiesAtDiscover {
			fmt.Fprintln(errs, "Error: request before initialize")
			return 1
		}
		if s.Deaf && m.Method == "tools/call" {
			select {}
		}
		if answer := t.take(m); answer != nil {
			go func() {
				if a := answer(); a != nil {
					t.send(a)
				}
			}()
		}
	}
	if s.IgnoresEnd {
		select {}
	}
	return 0
}

// rpcMessage is a message of either side.
type rpcMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcFault       `json:"error,omitempty"`
}

type rpcFault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// toolServer is the state of a running script.
type toolServer struct {
	script Tools
	send   func(any)    // a message that nobody asked for, or a late answer
	raw    func(string) // text as it is

	mu        sync.Mutex
	changed   int
	cancelled []string // ids of requests that the client gave up
}

func newToolServer(s Tools) *toolServer { return &toolServer{script: s} }

func reply(m rpcMessage, result any) any { return rpcMessage{Version: "2.0", ID: m.ID, Result: result} }

func fault(m rpcMessage, code int, text string, data any) any {
	return rpcMessage{Version: "2.0", ID: m.ID, Error: &rpcFault{code, text, data}}
}

// take handles one message. What it gives, if anything, makes the answer, and may
// take its time.
func (t *toolServer) take(m rpcMessage) func() any {
	now := func(a any) func() any { return func() any { return a } }
	switch m.Method {
	case "initialize":
		return now(t.initialize(m))
	case "server/discover":
		if t.script.SilentAtDiscover {
			return nil
		}
		if !t.script.Modern {
			return now(fault(m, -32601, "Method not found", nil))
		}
		return now(reply(m, map[string]any{
			"resultType": "complete", "supportedVersions": []string{"2026-07-28"}, "ttlMs": 0, "cacheScope": "private",
			"capabilities": map[string]any{"tools": map[string]any{"listChanged": true}},
			"_meta":        map[string]any{"io.modelcontextprotocol/serverInfo": map[string]any{"name": "scripted", "version": "1"}},
		}))
	case "ping":
		return now(reply(m, map[string]any{}))
	case "tools/list":
		return now(reply(m, t.list(m)))
	case "tools/call":
		return func() any { return t.call(m) }
	case "subscriptions/listen":
		t.send(rpcMessage{Version: "2.0", Method: "notifications/subscriptions/acknowledged", Params: json.RawMessage(`{}`)})
		return nil
	case "notifications/cancelled":
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		_ = json.Unmarshal(m.Params, &p)
		t.mu.Lock()
		t.cancelled = append(t.cancelled, string(p.RequestID))
		t.mu.Unlock()
		return nil
	}
	if m.ID == nil || m.Method == "" {
		return nil
	}
	return now(fault(m, -32601, "Method not found", nil))
}

func (t *toolServer) initialize(m rpcMessage) any {
	if t.script.NoShake {
		return fault(m, -32601, "Method not found", nil)
	}
	var p struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(m.Params, &p)
	version := p.ProtocolVersion
	if vs := t.script.Versions; len(vs) > 0 {
		version = vs[len(vs)-1]
		for _, v := range vs {
			if v == p.ProtocolVersion {
				version = v
			}
		}
	}
	if t.script.Strict != "" && version != p.ProtocolVersion {
		return fault(m, -32602, t.script.Strict, map[string]any{"supported": t.script.Versions, "requested": p.ProtocolVersion})
	}
	return reply(m, map[string]any{
		"protocolVersion": version, "capabilities": map[string]any{"tools": map[string]any{"listChanged": true}},
		"serverInfo": map[string]any{"name": "scripted", "version": "1"},
	})
}

// list gives a page of tools. A change takes one away and adds another.
func (t *toolServer) list(m rpcMessage) any {
	texts := t.script.List
	if texts == nil {
		texts = ordinary
	}
	t.mu.Lock()
	changed := t.changed
	t.mu.Unlock()
	var all []json.RawMessage
	for i, s := range texts {
		if changed == 0 || i > 0 {
			all = append(all, json.RawMessage(s))
		}
	}
	if changed > 0 {
		all = append(all, json.RawMessage(fmt.Sprintf(`{"name":"new%d","inputSchema":{"type":"object"}}`, changed)))
	}
	for i := range t.script.More {
		all = append(all, json.RawMessage(fmt.Sprintf(`{"name":"more%d","inputSchema":{"type":"object"}}`, i+1)))
	}
	var p struct {
		Cursor string `json:"cursor"`
	}
	_ = json.Unmarshal(m.Params, &p)
	result := map[string]any{"tools": all, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
	if t.script.Page > 0 {
		from, _ := strconv.Atoi(p.Cursor)
		to := min(from+t.script.Page, len(all))
		result["tools"] = all[min(from, len(all)):to]
		if to < len(all) {
			result["nextCursor"] = strconv.Itoa(to)
		} else if t.script.Circular {
			result["nextCursor"] = "0"
		}
	}
	return result
}

func textResult(text string) map[string]any {
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "resultType": "complete"}
}

// call runs one of the ordinary tools.
func (t *toolServer) call(m rpcMessage) any {
	var p struct {
		Name      string `json:"name"`
		Arguments struct {
			Text   string          `json:"text"`
			Ms     int             `json:"ms"`
			Times  int             `json:"times"`
			Bytes  int             `json:"bytes"`
			Result json.RawMessage `json:"result"`
			Raw    string          `json:"raw"`
		} `json:"arguments"`
		Meta struct {
			Token any `json:"progressToken"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return fault(m, -32602, err.Error(), nil)
	}
	a := p.Arguments
	pause := time.Duration(a.Ms) * time.Millisecond
	switch p.Name {
	case "echo":
		return reply(m, textResult(a.Text))
	case "sleep":
		time.Sleep(pause)
		return reply(m, textResult("slept"))
	case "progress":
		for i := range a.Times {
			time.Sleep(pause)
			b, _ := json.Marshal(map[string]any{"progressToken": p.Meta.Token, "progress": i + 1, "message": "still at it"})
			t.send(rpcMessage{Version: "2.0", Method: "notifications/progress", Params: b})
		}
		return reply(m, textResult("done"))
	case "die":
		fmt.Fprintln(os.Stderr, "panic: out of luck")
		os.Exit(7)
	case "big":
		return reply(m, textResult(strings.Repeat("x", a.Bytes)))
	case "noise":
		t.raw("DEBUG: [request] handling\n{\"half\": \n\n[1,2\nnull\n\"text\"\n{\"jsonrpc\":\"2.0\"}\n")
		return reply(m, textResult("quiet again"))
	case "change":
		t.mu.Lock()
		t.changed++
		t.mu.Unlock()
		t.send(rpcMessage{Version: "2.0", Method: "notifications/tools/list_changed"})
		return reply(m, textResult("changed"))
	case "env":
		return reply(m, textResult(strings.Join(os.Environ(), "\n")))
	case "cancelled":
		t.mu.Lock()
		defer t.mu.Unlock()
		return reply(m, textResult(strings.Join(t.cancelled, " ")))
	case "answer":
		if a.Raw != "" {
			t.raw(strings.ReplaceAll(a.Raw, "$ID", string(m.ID)) + "\n")
			return nil
		}
		return reply(m, a.Result)
	case "pid":
		return reply(m, textResult(strconv.Itoa(os.Getpid())))
	}
	return fault(m, -32602, fmt.Sprintf("Unknown tool: %s", p.Name), nil)
}
