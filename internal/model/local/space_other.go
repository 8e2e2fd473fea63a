//go:build !unix

package local

// freeSpace is not known here; a full disk shows when it is written to.
func freeSpace(string) (int64, bool) { return 0, false }
