//go:build models

package modelruns

import "testing"

func TestCourseThroughTheLocalModel(t *testing.T) {
	bin := program(t)
	newCourse(t, bin).complete(t, bin, "--model", "local/qwen2.5-coder-1.5b")
}
