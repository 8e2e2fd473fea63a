package durable

import "golang.org/x/sys/windows"

var errNoLocksHere error = windows.ERROR_INVALID_FUNCTION
