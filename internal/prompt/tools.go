package prompt

// Tool is a tool as it will be offered, for EstimateTools.
type Tool struct {
	Name        string
	Description string
	Schema      []byte // JSON Schema of its arguments
}

// What a chat template adds for tools, in tokens: the instructions around the
// list, once, and the wrapper around each tool.
const (
	aroundTools = 60
	aroundTool  = 20
)

// EstimateTools gives the tokens that offering these tools adds to a prompt,
// as most chat templates write them: each as JSON, with instructions around
// the list. No tools add nothing.
func EstimateTools(tools []Tool) int {
	if len(tools) == 0 {
		return 0
	}
	n := aroundTools
	for _, t := range tools {
		n += aroundTool + Estimate(t.Name) + Estimate(t.Description) + Estimate(string(t.Schema))
	}
	return n
}
