//go:build !unix

package line

import "os"

// resizes tells of nothing: the size is looked at with each drawing.
func resizes() (<-chan os.Signal, func()) { return nil, func() {} }

func stopSelf() {}
