// Package child is what the child process does: it answers OpenAI's chat
// protocol with models that it loads itself.
//
// One reply is made at a time; other requests wait in order. Everything
// native happens in the goroutine that holds the turn.
package child

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"towpath/internal/model/local/engine"
)

// Config says what the child serves.
type Config struct {
	Library string                            // folder of the native library
	Resolve func(name string) (string, error) // the file of a model
	Names   []string                          // what /v1/models lists
	Threads int
	Ready   func()        // called once requests are answered; may be nil
	Stall   time.Duration // without any progress of native code, after which the process ends; 5 min if 0
}

// maxBody bounds a request.
const maxBody = 64 << 20

// Serve answers requests until ctx ends.
func Serve(ctx context.Context, l net.Listener, cfg Config) error {
	if err := engine.Load(cfg.Library); err != nil {
		return err
	}
	if cfg.Stall <= 0 {
		cfg.Stall = 5 * time.Minute
	}
	s := &server{cfg: cfg, turns: newTurns(), shelf: newShelf(cfg), stall: newWatch(cfg.Stall)}
	go s.stall.run(ctx, func() {
		fmt.Fprintf(os.Stderr, "native code made no progress for %s\n", cfg.Stall)
		os.Exit(3)
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, &failure{Status: http.StatusNotFound, Type: "not_found_error", Message: "there is no " + r.URL.Path})
	})
	hs := &http.Server{Handler: mux, ReadHeaderTimeout: 30 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { hs.Close() })
	defer stop()
	if cfg.Ready != nil {
		cfg.Ready() // connections made from now on wait in the listener
	}
	err := hs.Serve(l)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// server answers requests.
type server struct {
	cfg   Config
	turns *turns
	shelf *shelf
	stall *watch
}

func (s *server) models(w http.ResponseWriter, _ *http.Request) {
	type entry struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		OwnedBy string `json:"owned_by"`
	}
	list := []entry{}
	for _, name := range s.cfg.Names {
		list = append(list, entry{name, "model", "local"})
	}
	reply(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

// failure is an error as the protocol gives it.
type failure struct {
	Status  int    `json:"code"`
	Type    string `json:"type"`
	Message string `json:"message"`
	Prompt  int    `json:"n_prompt_tokens,omitempty"`
	Window  int    `json:"n_ctx,omitempty"`
}

func (f *failure) Error() string { return f.Message }

func badRequest(format string, args ...any) *failure {
	return &failure{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: fmt.Sprintf(format, args...)}
}

func refuse(w http.ResponseWriter, f *failure) {
	reply(w, f.Status, map[string]*failure{"error": f})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // a client that went away is no concern
}
