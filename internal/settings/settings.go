// Package settings says what is in force and where each value came from:
// flags, TOWPATH_ variables, the nearest towpath.toml, the user's file, the
// defaults.
package settings
