package engine_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"towpath/internal/engine"
)

// BenchmarkStage runs one stage with one model call, from reading the
// workspace to its gate. Its floor is the same call made by hand, one flush and
// one rename.
func BenchmarkStage(b *testing.B) {
	w := newBench(b, two(""), echo)
	for b.Loop() {
		w.mustRun(engine.Options{Again: "1"}, engine.HowGate)
	}
}

// BenchmarkStageFloor is what BenchmarkStage is held against.
func BenchmarkStageFloor(b *testing.B) {
	w := newBench(b, two(""), echo)
	body := []byte(`{"model":"test","messages":[{"role":"user","content":"SCOPE it."}]}`)
	for b.Loop() {
		for _, path := range []string{"/api/show", "/api/chat"} {
			res, err := http.Post(w.server.URL+path, "application/json", bytes.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				b.Fatal(err)
			}
			res.Body.Close()
		}
		flushAndRename(b, w.dir)
	}
}

// BenchmarkFlushAndRename is the part of the floor that the limit of five
// times counts.
func BenchmarkFlushAndRename(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		flushAndRename(b, dir)
	}
}

func flushAndRename(b *testing.B, dir string) {
	b.Helper()
	temp := filepath.Join(dir, "temp")
	f, err := os.Create(temp)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := f.WriteString("1. Name a label\n2. Write a label\n"); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(temp, filepath.Join(dir, "whole")); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStatus reads where a workspace with some history stands.
func BenchmarkStatus(b *testing.B) {
	w := newBench(b, two(""), echo)
	for range 20 {
		w.mustRun(engine.Options{Again: "1"}, engine.HowGate)
	}
	e := w.engine()
	for b.Loop() {
		if _, err := e.Status(); err != nil {
			b.Fatal(err)
		}
	}
}
