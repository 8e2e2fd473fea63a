// Package cli is the command line: commands, flags, what is printed.
package cli
