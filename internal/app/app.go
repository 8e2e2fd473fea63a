// Package app is the single place where the system is wired: the command line,
// the tests and every other front end build their parts here.
package app
