package mcpclient

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"towpath/internal/fakeserver"
	"towpath/internal/tool/mcpclient/process"
)

// TestMain lets the test program be its own guard, as the real program is, a
// scripted server, and the client that the public suite judges.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case process.GuardArg:
			os.Exit(process.Guard(os.Args[2:]))
		case scriptedArg:
			os.Exit(fakeserver.ServeTools(os.Args[2], os.Stdin, os.Stdout, os.Stderr))
		case holdArg:
			os.Exit(hold(os.Args[2]))
		}
	}
	if scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO"); scenario != "" {
		if err := judged(scenario, os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	scriptedArg = "__tools" // be the scripted server of the argument
	holdArg     = "__hold"  // start the scripted server of the argument, and wait
)

// testServers gives the folder of the public servers, fetching them once.
var testServers = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("bash", filepath.Join("..", "..", "..", "scripts", "test-servers")).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("scripts/test-servers: %w: %s", err, out)
	}
	dir := os.Getenv("TOWPATH_CACHE")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(cache, "towpath")
	}
	dir = filepath.Join(dir, "test-servers")
	if _, err := os.Stat(filepath.Join(dir, "ready")); err != nil {
		return "", errors.New("scripts/test-servers left nothing at " + dir)
	}
	return dir, nil
})

func needServers(t testing.TB) string {
	t.Helper()
	dir, err := testServers()
	if err != nil {
		t.Fatalf("the public servers cannot be had: %v", err)
	}
	return dir
}
