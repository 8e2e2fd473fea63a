package line

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"towpath/internal/durable"
)

// The bounds of a history.
const (
	mostEntries = 1000
	longest     = 16 << 10 // bytes of an entry; a longer one is not kept
	largestFile = 8 << 20  // bytes of the file that are read
)

// History is the lines that a person typed, the newest last. It belongs to one
// goroutine. Several programs may add to one file.
type History struct {
	path    string // "" keeps nothing
	entries []string
	hides   func(string) bool
}

// OpenHistory reads the history in a file, which need not exist; "" keeps it in
// memory alone. What hides says yes to is never kept.
func OpenHistory(path string, hides func(string) bool) (*History, error) {
	h := &History{path: path, hides: hides}
	if path == "" {
		return h, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("reading the lines that were typed before: %w", err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 8*longest)
	lines, read := 0, 0
	for in.Scan() && read < largestFile {
		read += len(in.Bytes()) + 1
		var text string
		if json.Unmarshal(in.Bytes(), &text) != nil {
			continue // half a line of a program that was cut off
		}
		lines++
		h.put(printable(text))
	}
	if lines > 2*mostEntries || in.Err() != nil {
		return h, h.rewrite()
	}
	return h, nil
}

func (h *History) put(text string) bool {
	if n := len(h.entries); text == "" || n > 0 && h.entries[n-1] == text {
		return false
	}
	h.entries = append(h.entries, text)
	if len(h.entries) > mostEntries {
		h.entries = append([]string(nil), h.entries[len(h.entries)-mostEntries:]...)
	}
	return true
}

// Add keeps a line: not an empty one, not the one before once more, not one
// that begins with a space, and no secret.
func (h *History) Add(text string) error {
	if strings.HasPrefix(text, " ") || len(text) > longest || h.hides != nil && h.hides(text) {
		return nil
	}
	if !h.put(strings.TrimRight(text, " \n")) || h.path == "" {
		return nil
	}
	data, err := json.Marshal(h.entries[len(h.entries)-1])
	if err != nil {
		return fmt.Errorf("keeping a line: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return fmt.Errorf("keeping a line: %w", err)
	}
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("keeping a line: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	return errors.Join(err, f.Close())
}

// rewrite keeps the newest entries alone.
func (h *History) rewrite() error {
	var b strings.Builder
	for _, e := range h.entries {
		data, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("keeping the lines that were typed: %w", err)
		}
		b.Write(data)
		b.WriteByte('\n')
	}
	tree, err := durable.OpenDir(filepath.Dir(h.path))
	if err != nil {
		return fmt.Errorf("keeping the lines that were typed: %w", err)
	}
	defer tree.Close()
	if err := tree.WriteFile(filepath.Base(h.path), []byte(b.String())); err != nil {
		return fmt.Errorf("keeping the lines that were typed: %w", err)
	}
	return nil
}

// Len is the number of entries.
func (h *History) Len() int { return len(h.entries) }
