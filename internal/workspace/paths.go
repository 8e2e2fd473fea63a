package workspace

import (
	"path"
	"strings"
)

func joinPath(elem ...string) string { return path.Join(elem...) }

func perItem(name string) bool {
	return strings.Contains(name, "{{n}}") || strings.Contains(name, "{{item}}")
}
