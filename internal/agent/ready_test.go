package agent

import (
	"strings"
	"testing"
)

func TestTaskIsSaidAgainOnceTheRequiredToolsWereUsed(t *testing.T) {
	t.Parallel()
	for task, repeated := range map[string]bool{
		"Write three facts, then the source.": true,
		strings.Repeat("A long task. ", 600):  false,
	} {
		r := &turn{Turn: Turn{Task: task}}
		got := r.ready()
		if strings.Contains(got, task) != repeated {
			t.Errorf("a task of %d bytes: repeated is %v, want %v", len(task), !repeated, repeated)
		}
		if !strings.HasPrefix(got, "every required tool was used.") {
			t.Errorf("the note begins %.40q", got)
		}
	}
}
