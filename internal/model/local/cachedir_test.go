package local

import (
	"path/filepath"
	"runtime"
	"testing"
)

// TestServiceWithoutHomeHasACache: services and scheduled jobs are started
// without HOME; that was the end of every command.
func TestServiceWithoutHomeHasACache(t *testing.T) {
	for _, name := range []string{"TOWPATH_CACHE", "XDG_CACHE_HOME", "HOME"} {
		t.Setenv(name, "")
	}
	dir, err := DefaultCacheDir()
	if runtime.GOOS == "linux" && (err != nil || !filepath.IsAbs(dir) || filepath.Base(dir) != "towpath") {
		t.Errorf("got %q, %v", dir, err)
	}
}
