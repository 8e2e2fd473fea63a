package workspace

import "strings"

// IgnoredFile reports whether a file (by its last path element) is an
// editor's or a system's own and never counts as input or output: backups,
// swap files, .DS_Store, Thumbs.db, .gitkeep and their kind.
func IgnoredFile(name string) bool {
	switch lower := strings.ToLower(name); lower {
	case "4913", ".ds_store", "thumbs.db", "desktop.ini", ".gitkeep", ".keep", ".directory":
		return true
	default:
		if strings.HasSuffix(lower, ".kate-swp") || strings.HasSuffix(lower, ".swp") ||
			strings.HasPrefix(lower, ".") && (strings.HasSuffix(lower, ".swo") || strings.HasSuffix(lower, ".swx") || strings.HasSuffix(lower, ".swn")) {
			return true
		}
	}
	switch {
	case strings.HasSuffix(name, "~"),
		strings.HasPrefix(name, "._"),
		strings.HasPrefix(name, ".#"),
		strings.HasPrefix(name, ".~lock."),
		strings.HasPrefix(name, "~$"),
		strings.HasPrefix(name, ".goutputstream-"),
		len(name) > 2 && strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#"):
		return true
	}
	return false
}
