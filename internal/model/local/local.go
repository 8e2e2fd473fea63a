// Package local runs small models on this machine without any server.
//
// llama.cpp's library is loaded from the user's cache folder by a child
// process of the same program, never by the program itself: native code that
// aborts costs one call, not a run. The child speaks OpenAI's chat protocol on
// a private socket. A Provider owns at most one child; it is started at the
// first call, and ends with Close or with the program. A Provider is safe for
// several goroutines; the child answers one call at a time, in order.
package local

import (
	"errors"
	"os"
	account "os/user"
	"path/filepath"
	"runtime"
	"time"
)

// Prefix begins the names of this provider's models: local/qwen2.5-coder-1.5b.
const Prefix = "local/"

// The models that are known by name.
const (
	DefaultModel = "qwen2.5-coder-1.5b" // for work
	SmallModel   = "smollm2-135m"       // for tests: its text is poor
)

// ChildArg is the first argument that makes the program the child process.
// main must hand over to ChildMain before it reads any other argument:
//
//	if len(os.Args) > 1 && os.Args[1] == local.ChildArg {
//		os.Exit(local.ChildMain(os.Args[2:]))
//	}
const ChildArg = "__towpath-local-model"

// Config says how a Provider runs. The zero value is ready for use.
type Config struct {
	CacheDir string        // where library and weights are; DefaultCacheDir if empty
	Command  []string      // starts the child; this program with ChildArg if empty
	Threads  int           // for computing; the processor's cores if 0
	Start    time.Duration // for the child to start; 30 s if 0
	First    time.Duration // without any sign of life before the first token; 5 min if 0
	Idle     time.Duration // between two signs of life; 2 min if 0
	Total    time.Duration // of one call; 1 h if 0
}

// DefaultCacheDir gives $TOWPATH_CACHE, or the folder towpath in the user's
// cache folder, which is found without HOME too.
func DefaultCacheDir() (string, error) {
	if dir := os.Getenv("TOWPATH_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "towpath"), nil
	}
	// Services and scheduled jobs run without HOME.
	if u, err := account.Current(); err == nil && runtime.GOOS == "linux" && filepath.IsAbs(u.HomeDir) {
		return filepath.Join(u.HomeDir, ".cache", "towpath"), nil
	}
	return "", errors.New("there is no folder for what is cached; set TOWPATH_CACHE to one, or HOME")
}
