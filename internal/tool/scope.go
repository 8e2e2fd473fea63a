package tool

import (
	"context"

	"towpath/internal/workspace"
)

// Offered is a tool under the name by which a model knows it: server_tool,
// made of what every provider takes (letters, digits, _ and -, at most 64).
type Offered struct {
	Name string
	Tool Tool
}

// Scope is what a contract's Tools section opens: nothing else can be called.
type Scope struct {
	Offers   []Offered
	Required [][]string // offered names; of each group one must have returned without error
	Warnings []string   // tools that were left out, and why
}

// Open maps grants to offers. Only servers that a grant names are asked for
// their tools. An unknown server or tool is an *UnknownError that names the
// nearest.
func Open(ctx context.Context, grants []workspace.ToolGrant, servers []Server) (Scope, error) {
	return open(ctx, grants, servers)
}
