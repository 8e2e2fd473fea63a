package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"towpath/internal/durable"
	"towpath/internal/engine"
	"towpath/internal/fakeserver"
	"towpath/internal/journal"
	"towpath/internal/model"
	"towpath/internal/tool"
	"towpath/internal/workspace"
)

// bench is a workspace in a folder of its own, a scripted model server, and a
// real tool server whose one tool with effects adds a line to a ledger.
type bench struct {
	t      testing.TB
	dir    string
	server *fakeserver.Server
	ledger *ledger

	mu     sync.Mutex
	events []journal.Event
	clock  func() time.Time
	watch  func(journal.Event)
	tune   func(*engine.Config)
	info   func(model.Info) model.Info
}

type answer func(fakeserver.Request) fakeserver.Reply

func newBench(t testing.TB, files map[string]string, a answer) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), clock: ticking()}
	b.ledger = &ledger{path: filepath.Join(t.TempDir(), "ledger")}
	for name, text := range files {
		b.write(name, text)
	}
	b.server = fakeserver.New(t, fakeserver.Script{Answer: a})
	return b
}

// ticking is a clock that goes on by a second each time it is asked.
func ticking() func() time.Time {
	var mu sync.Mutex
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Second)
		return at
	}
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	p := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, filepath.FromSlash(name)))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

func (b *bench) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(b.dir, filepath.FromSlash(name)))
	return err == nil
}

func (b *bench) remove(name string) {
	b.t.Helper()
	if err := os.RemoveAll(filepath.Join(b.dir, filepath.FromSlash(name))); err != nil {
		b.t.Fatal(err)
	}
}

// engine reads the workspace as it is now.
func (b *bench) engine() *engine.Engine {
	b.t.Helper()
	e, closeTree, err := openEngine(b.dir, b.server.URL, b.ledger, func(cfg *engine.Config) {
		cfg.Clock = b.clock
		cfg.Observe = func(ev journal.Event) {
			b.mu.Lock()
			b.events = append(b.events, ev)
			b.mu.Unlock()
			if b.watch != nil {
				b.watch(ev)
			}
		}
		if b.info != nil {
			cfg.Models = tuned{cfg.Models, b.info}
		}
		if b.tune != nil {
			b.tune(cfg)
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(closeTree)
	return e
}

func openEngine(dir, url string, l *ledger, tune func(*engine.Config)) (*engine.Engine, func(), error) {
	tree, at, err := durable.OpenTree(dir)
	if err != nil {
		return nil, nil, err
	}
	w, err := workspace.Load(tree.FS(), at, workspace.Options{})
	if err != nil {
		return nil, nil, err
	}
	cfg := engine.Config{
		Tree: tree, Dir: at, Workspace: w, Models: served{url}, Servers: servers{l}, Actor: "tester", Version: "test",
	}
	tune(&cfg)
	return engine.New(cfg), func() { _ = tree.Close() }, nil
}

func (b *bench) run(opt engine.Options) (journal.Exited, error) {
	b.t.Helper()
	b.events = nil
	return b.engine().Run(context.Background(), opt)
}

// mustRun runs and wants it to end in this way.
func (b *bench) mustRun(opt engine.Options, how string) journal.Exited {
	b.t.Helper()
	ex, err := b.run(opt)
	if err != nil {
		b.t.Fatalf("run ended with %v, want %s", err, how)
	}
	if ex.How != how {
		b.t.Fatalf("run ended %q (%s), want %q", ex.How, ex.Reason, how)
	}
	return ex
}

// mustFail runs and wants an error with this exit code.
func (b *bench) mustFail(opt engine.Options, code int) error {
	b.t.Helper()
	ex, err := b.run(opt)
	if err == nil {
		b.t.Fatalf("run ended %q, want an error with exit code %d", ex.How, code)
	}
	if got := engine.ExitCode(err); got != code || ex.Code != code {
		b.t.Fatalf("exit code %d (in the journal %d), want %d: %v", got, ex.Code, code, err)
	}
	return err
}

func (b *bench) status(stage string) engine.StageStatus {
	b.t.Helper()
	list, err := b.engine().Status()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, s := range list {
		if s.Stage == stage {
			return s
		}
	}
	b.t.Fatalf("no stage %s in the status", stage)
	return engine.StageStatus{}
}

func (b *bench) notes(typ journal.Type) []string {
	var all []string
	for _, ev := range b.events {
		if ev.Type == typ {
			all = append(all, ev.Stage+": "+ev.Note)
		}
	}
	return all
}

// leftovers lists what must not be there after a run: temporary files.
func (b *bench) leftovers() []string {
	var all []string
	_ = filepath.WalkDir(b.dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && durable.IsTemp(d.Name()) {
			all = append(all, p)
		}
		return nil
	})
	return all
}

func wants(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is\n%q\nwant\n%q", what, got, want)
	}
}

func contains(t testing.TB, what, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("%s lacks %q:\n%s", what, p, got)
		}
	}
}

// tuned changes what is known of a model.
type tuned struct {
	engine.Models
	change func(model.Info) model.Info
}

func (m tuned) Choose(ctx context.Context, st *workspace.Stage, purpose string) (engine.Chosen, error) {
	c, err := m.Models.Choose(ctx, st, purpose)
	c.Info = m.change(c.Info)
	return c, err
}

// servers is the one tool server of these tests.
type servers struct{ l *ledger }

func (s servers) Check(_ context.Context, _ *workspace.Stage, names []string) error {
	for _, n := range names {
		if n != "ledger" {
			return fmt.Errorf("no tool server %s", n)
		}
	}
	return nil
}

func (s servers) Open(context.Context, *workspace.Stage, []string) ([]tool.Server, error) {
	return []tool.Server{s.l}, nil
}

func (s servers) Known(name string) ([]tool.Spec, bool) {
	if name != "ledger" {
		return nil, false
	}
	return []tool.Spec{noteSpec, readSpec, wipeSpec}, true
}

func (s servers) Names() []string { return []string{"ledger"} }

// ledger is a tool server: note adds a line to a file, read gives the file.
type ledger struct {
	path   string
	after  func(text string) // called once a line was added
	closed int
}

var (
	noteSpec = tool.Spec{Server: "ledger", Name: "note", Description: "Adds a line to the ledger.",
		Input: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)}
	readSpec = tool.Spec{Server: "ledger", Name: "read", Description: "Gives the ledger.", ReadOnly: true,
		Input: json.RawMessage(`{"type":"object","properties":{}}`)}
	wipeSpec = tool.Spec{Server: "ledger", Name: "wipe", Description: "Empties the ledger.", Destructive: true,
		Input: json.RawMessage(`{"type":"object","properties":{}}`)}
)

func (l *ledger) Name() string { return "ledger" }
func (l *ledger) Close() error { l.closed++; return nil }
func (l *ledger) Tools(context.Context) ([]tool.Tool, error) {
	return []tool.Tool{noteTool{l}, readTool{l}, wipeTool{l}}, nil
}

func (l *ledger) lines() []string {
	data, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

type noteTool struct{ l *ledger }

func (n noteTool) Spec() tool.Spec { return noteSpec }
func (n noteTool) Call(_ context.Context, args json.RawMessage) (tool.Result, error) {
	var a struct{ Text string }
	if err := json.Unmarshal(args, &a); err != nil {
		return tool.Result{}, err
	}
	f, err := os.OpenFile(n.l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return tool.Result{}, err
	}
	if _, err := fmt.Fprintln(f, a.Text); err != nil {
		return tool.Result{}, err
	}
	if err := f.Close(); err != nil {
		return tool.Result{}, err
	}
	if n.l.after != nil {
		n.l.after(a.Text)
	}
	return tool.Result{Text: "noted " + a.Text}, nil
}

type readTool struct{ l *ledger }

func (r readTool) Spec() tool.Spec { return readSpec }
func (r readTool) Call(context.Context, json.RawMessage) (tool.Result, error) {
	return tool.Result{Text: strings.Join(r.l.lines(), "\n")}, nil
}

type wipeTool struct{ l *ledger }

func (w wipeTool) Spec() tool.Spec { return wipeSpec }
func (w wipeTool) Call(context.Context, json.RawMessage) (tool.Result, error) {
	return tool.Result{Text: "empty now"}, os.WriteFile(w.l.path, nil, 0o644)
}

// user is the text of the user's messages of a request.
func user(r fakeserver.Request) string {
	var all []string
	for _, m := range r.Messages {
		if m.Role == "user" {
			all = append(all, m.Content)
		}
	}
	return strings.Join(all, "\n")
}

// gave counts the tool results in a request.
func gave(r fakeserver.Request) int {
	n := 0
	for _, m := range r.Messages {
		if m.Role == "tool" {
			n++
		}
	}
	return n
}

func say(text string) fakeserver.Reply { return fakeserver.Reply{Text: text} }

func ask(name, args string) fakeserver.Reply {
	return fakeserver.Reply{Calls: []fakeserver.ToolCall{{Name: name, Arguments: json.RawMessage(args)}}}
}

// journal gives every event that history has of a stage, oldest first.
func (b *bench) journal(stage string) []journal.Event {
	b.t.Helper()
	tree, at, err := durable.OpenTree(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	defer tree.Close()
	h := journal.Open(tree, at)
	runs, err := h.Runs(stage)
	if err != nil {
		b.t.Fatal(err)
	}
	var all []journal.Event
	for _, r := range runs {
		events, err := h.Events(r.Name)
		if err != nil {
			b.t.Fatal(err)
		}
		all = append(all, events...)
	}
	return all
}
