// Package durable is the part of the program that touches the user's files:
// trees that cannot be left, files that are written whole or not at all, the
// workspace lock, and content kept by its hash.
package durable
