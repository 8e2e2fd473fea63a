// Package lint says everything that can be said about a workspace without
// running it. It is pure and never calls a model.
package lint
