package mcpclient

import (
	"os"
	"testing"

	"towpath/internal/tool/mcpclient/process"
)

// TestMain lets the test program be its own guard, as the real program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == process.GuardArg {
		os.Exit(process.Guard(os.Args[2:]))
	}
	os.Exit(m.Run())
}
