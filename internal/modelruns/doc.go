// Package modelruns holds the slow tests that run whole workspaces on real
// models: the course through a real Ollama by both of its protocols, through
// the local model, and ten demos with ten ideas. They need the build tag
// "models" and are started by make test-runtimes and make test-demos.
package modelruns
