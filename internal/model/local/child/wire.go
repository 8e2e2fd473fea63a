package child

import "fmt"

// completion is the protocol's reply, whole or a piece of a stream.
type completion struct {
	ID       string          `json:"id"`
	Object   string          `json:"object"`
	Created  int64           `json:"created"`
	Model    string          `json:"model"`
	Choices  []choice        `json:"choices"`
	Usage    *usage          `json:"usage,omitempty"`
	Progress *promptProgress `json:"prompt_progress,omitempty"`
}

type choice struct {
	Index   int     `json:"index"`
	Message *delta  `json:"message,omitempty"`
	Delta   *delta  `json:"delta,omitempty"`
	Finish  *string `json:"finish_reason"`
}

type delta struct {
	Role    string     `json:"role,omitempty"`
	Content *string    `json:"content,omitempty"`
	Calls   []wireCall `json:"tool_calls,omitempty"`
}

type wireCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	Prompt  int `json:"prompt_tokens"`
	Output  int `json:"completion_tokens"`
	Total   int `json:"total_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// promptProgress says how much of a prompt was read, as llama.cpp's own server
// does.
type promptProgress struct {
	Total     int `json:"total"`
	Cache     int `json:"cache"`
	Processed int `json:"processed"`
}

func (o *output) chunk(d delta, why *string) completion {
	return completion{ID: o.id, Object: "chat.completion.chunk", Created: o.created, Model: o.job.Model,
		Choices: []choice{{Delta: &d, Finish: why}}}
}

// wireCalls numbers the calls on from those that the conversation holds, so
// that no two share an id.
func (o *output) wireCalls() []wireCall {
	var out []wireCall
	for i, c := range o.calls {
		w := wireCall{Index: i, ID: fmt.Sprintf("call_%d", o.job.prior+i+1), Type: "function"}
		w.Function.Name, w.Function.Arguments = c.Name, c.Arguments
		out = append(out, w)
	}
	return out
}
