//go:build !linux

package main

import "errors"

var errLinux = errors.New("works on Linux alone")

func unprivileged([]string) error { return errLinux }

func mayMount() bool { return false }

func mountSmall(string, string) (func(), error) { return nil, errLinux }
