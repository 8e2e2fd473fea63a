//go:build models

package modelruns

import "testing"

func TestCourseThroughTheLocalModel(t *testing.T) {
	bin := program(t)
	complete(t, bin, nil, "--model", "local/qwen2.5-coder-1.5b")
}
