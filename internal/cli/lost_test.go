package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestResultsThatCannotBeWrittenAreNoSuccess: with standard output on a full
// disk, config and graph said nothing and ended with 0.
func TestResultsThatCannotBeWrittenAreNoSuccess(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"config"}, {"--help"}, {"config", "--json"}} {
		var said bytes.Buffer
		code := Main(t.Context(), args, Env{Out: full{}, Err: &said, Dir: t.TempDir(), Environ: []string{"HOME=" + t.TempDir()}, Clock: time.Now})
		if code != 1 || !strings.Contains(said.String(), "no space left on device") {
			t.Errorf("%v: exit %d, says %q", args, code, said.String())
		}
	}
}
