//go:build linux && (amd64 || arm64) && !nolocal

package engine

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/hybridgroup/yzma/pkg/llama"
)

// Load loads the library from a folder, once in the life of a process.
func Load(dir string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("load the library in %s: %v", dir, r)
		}
	}()
	if err := llama.Load(dir); err != nil {
		text := err.Error()
		if i := strings.Index(text, "undefined symbol"); i >= 0 || strings.Contains(text, "dlsym") {
			return fmt.Errorf("the library in %s is another release than this program needs (%s)", dir, text)
		}
		return fmt.Errorf("load the library in %s: %s", dir, text)
	}
	llama.LogSet(quiet())
	llama.Init()
	return nil
}

// quiet passes on the library's warnings and errors to standard error and
// drops its tales.
func quiet() uintptr {
	var level atomic.Int32
	return purego.NewCallback(func(l int32, text *byte, _ uintptr) uintptr {
		if llama.LogLevel(l) == llama.LogLevelContinue {
			l = level.Load()
		}
		level.Store(l)
		if text == nil || llama.LogLevel(l) < llama.LogLevelWarn {
			return 0
		}
		n := 0
		for n < 4096 && *(*byte)(unsafe.Add(unsafe.Pointer(text), n)) != 0 {
			n++
		}
		os.Stderr.Write(unsafe.Slice(text, n))
		return 0
	})
}

// Supported says why models cannot run here; nil if they can.
func Supported() error { return nil }
