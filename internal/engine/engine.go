// Package engine is the driver: which stage comes next, its context, its
// turns, its outputs, its gate, and how it goes on after a crash.
package engine
