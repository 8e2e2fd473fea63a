package replay

import (
	"strings"
	"testing"
)

func TestRecordingThatIsNoFileIsRefusedAndNotWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, err := range map[string]error{"record": second(Record(dir, "seed", "")), "replay": second(Open(dir))} {
		if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("%s: got %v, want a refusal that says what it is not", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
