//go:build !linux

package durable

import (
	"io/fs"
	"os"
)

// beneath opens names below a folder in one step, where the system can do that
// and keep them within it. Here it cannot: os.Root does it all.
type beneath struct{}

func openBeneath(*os.Root) beneath { return beneath{} }

func (beneath) close() {}

func (beneath) open(string) (*os.File, bool, error) { return nil, false, nil }

func (beneath) stat(string, bool) (fs.FileInfo, bool, error) { return nil, false, nil }

func (beneath) read(string) ([]byte, bool, error) { return nil, false, nil }

func (beneath) plain(string) bool { return false }
