package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// file builds a small GGUF file: one tensor of 32 elements of four bytes.
func file(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	put := func(v any) {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	text := func(s string) { put(uint64(len(s))); b.WriteString(s) }
	b.WriteString("GGUF")
	put(uint32(3))
	put(uint64(1)) // tensors
	put(uint64(5)) // members
	text("general.architecture")
	put(uint32(8))
	text("llama")
	text("general.name")
	put(uint32(8))
	text("Tiny")
	text("llama.context_length")
	put(uint32(4))
	put(uint32(2048))
	text("tokenizer.chat_template")
	put(uint32(8))
	text("{{ messages }}")
	text("tokenizer.ggml.tokens")
	put(uint32(9))
	put(uint32(8))
	put(uint64(2))
	text("a")
	text("b")
	text("weight")
	put(uint32(1))
	put(uint64(32))
	put(uint32(0))
	put(uint64(0))
	for b.Len()%32 != 0 {
		b.WriteByte(0)
	}
	b.Write(make([]byte, 128))
	return b.Bytes()
}

func TestHeadIsRead(t *testing.T) {
	t.Parallel()
	raw := file(t)
	h, err := Read(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	want := Header{Version: 3, Arch: "llama", Name: "Tiny", Window: 2048, Template: "{{ messages }}", Tensors: 1, Needs: int64(len(raw))}
	if h != want {
		t.Errorf("got %+v, want %+v", h, want)
	}
}

func TestTruncatedWeightsAreRefused(t *testing.T) {
	t.Parallel()
	raw := file(t)
	for cut := range len(raw) {
		_, err := Read(bytes.NewReader(raw[:cut]), int64(cut))
		want := ErrTruncated
		if cut < 4 {
			want = ErrNotGGUF
		}
		if !errors.Is(err, want) {
			t.Fatalf("cut at %d: %v, want %v", cut, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "cut.gguf")
	if err := os.WriteFile(path, raw[:len(raw)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); !errors.Is(err, ErrTruncated) {
		t.Errorf("got %v, want that the file is cut off", err)
	}
}

func TestOtherFilesAreNamedAsSuch(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"HTML":      "<!DOCTYPE html><title>Sign in</title>",
		"a pointer": "version https://git-lfs.github.com/spec/v1\n",
		"nothing":   "",
	} {
		if _, err := Read(bytes.NewReader([]byte(raw)), int64(len(raw))); !errors.Is(err, ErrNotGGUF) {
			t.Errorf("%s: got %v, want that it is no GGUF file", name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	raw := file(f)
	f.Add(raw)
	f.Add(raw[:60])
	f.Add([]byte("GGUF\x03\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := Read(bytes.NewReader(data), int64(len(data)))
		if err == nil && h.Needs > int64(len(data)) {
			t.Errorf("%d bytes pass although %d are needed", len(data), h.Needs)
		}
	})
}
