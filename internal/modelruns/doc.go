// Package modelruns holds the tests that run whole workspaces on real models. A
// short one, two stages and two items on the local 1.5B, is part of make test.
// The slow ones need the build tag "models": the course through a real Ollama by
// both of its protocols and through the local model (make test-runtimes), and ten
// demos with ten ideas (make test-demos).
package modelruns
