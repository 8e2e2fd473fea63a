//go:build unix

package durable

import "golang.org/x/sys/unix"

var errNoLocksHere error = unix.ENOLCK
