package settings

import (
	"strings"
	"sync"
)

// Type is the kind of value that a key takes.
type Type string

// The types. A duration is a text such as "30s" or "5m"; a list is one of
// texts, in a variable or flag with commas between them.
const (
	Text     Type = "text"
	Whole    Type = "whole number"
	Number   Type = "number"
	Bool     Type = "true or false"
	Duration Type = "duration"
	List     Type = "list of texts"
)

// Rule says what a workspace's file may do with a key.
type Rule string

// The rules.
const (
	Free       Rule = "free"        // it may set it
	Tighten    Rule = "tighten"     // it may set it, but not beyond what the user's file allows
	NeedsTrust Rule = "needs trust" // inert until the user says towpath trust
	Outside    Rule = "outside"     // inert until then where it leads out of the repository
)

// Key is one thing that can be set.
type Key struct {
	Name    string // with * for a name of the user's choice: providers.*.url
	Type    Type
	Default string // as it is shown; "" if there is none
	Meaning string // one or two sentences
	Rule    Rule
	Danger  string   // what it could do in a stranger's file; of NeedsTrust and Outside
	Choices []string // the texts that it takes; nil: any
	Least   float64  // of numbers; of durations in seconds
	Most    float64  // 0: no bound
	Model   bool     // a text of the form provider/model
	URL     bool     // a text that is an http address
	Path    bool     // a path, relative to the file that sets it
	Secret  bool     // never shown
}

// Env is the variable that sets the key, "" where a name of the user's choice
// is part of it.
func (k Key) Env() string {
	if strings.Contains(k.Name, "*") {
		return ""
	}
	return "TOWPATH_" + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// Keys lists everything that can be set, in the order in which it is shown.
func Keys() []Key { return keys() }

const (
	dangerAddress = "sends the workspace's text to an address"
	dangerKey     = "says which key is sent to an address"
	dangerCommand = "starts a program"
	dangerService = "sends searches and page addresses to an address"
	day           = 24 * 3600
)

var keys = sync.OnceValue(func() []Key {
	return []Key{
		{Name: "model", Type: Text, Model: true,
			Meaning: "The model for everything, as provider/model. Without it, a running Ollama is asked first, then a pulled local model. In a workspace's file, weights (local/PATH.gguf), a recording outside the repository, and a model on another machine where your own file names only models on this one wait for `towpath trust`."},
		{Name: "suggest", Type: List,
			Meaning: "Models of Ollama that the workspace works well with, best first. They are tried before others when no model is named."},
		{Name: "temperature", Type: Number, Default: "0.1", Most: 2,
			Meaning: "How freely the model chooses its words, 0 to 2."},
		{Name: "window", Type: Whole, Most: 100_000_000,
			Meaning: "Tokens that prompt and reply may have together. Without it the server is asked, or for Ollama the prompt's size decides."},
		{Name: "reply", Type: Whole, Default: "2048", Least: 16, Most: 10_000_000,
			Meaning: "Tokens that are kept free for a reply."},
		{Name: "think", Type: Bool, Default: "false",
			Meaning: "Whether models that can reason before they answer do so."},
		{Name: "write", Type: List, Rule: NeedsTrust, Danger: "lets stages write outside their output folders",
			Meaning: "Folders, files and patterns that stages may write besides their own output/, relative to the workspace."},

		{Name: "vars.*", Type: Text,
			Meaning: "A placeholder for contracts: {{name}} stands for the text."},
		{Name: "headings.*", Type: List,
			Meaning: "More words for a section of contracts, by the section's English name: headings.inputs = [\"Dane\"]."},
		{Name: "use.*", Type: Text, Model: true,
			Meaning: "The model for a stage (use.\"02-research\"), a tool (use.\"browser-server.summarize\"), a role (use.judge), or for all that is not named (use.default)."},

		{Name: "models.*.temperature", Type: Number, Most: 2, Meaning: "As temperature, for one model: [models.\"provider/name\"]."},
		{Name: "models.*.window", Type: Whole, Most: 100_000_000, Meaning: "As window, for one model."},
		{Name: "models.*.reply", Type: Whole, Least: 16, Most: 10_000_000, Meaning: "As reply, for one model."},
		{Name: "models.*.think", Type: Bool, Meaning: "As think, for one model."},
		{Name: "models.*.tools", Type: Bool, Meaning: "Whether the model can call tools, where its server does not say or is wrong."},
		{Name: "models.*.parallel", Type: Whole, Least: 1, Most: 1000, Meaning: "Calls to the model at the same time."},
		{Name: "models.*.first_byte", Type: Duration, Least: 1, Most: day, Meaning: "As timeouts.first_byte, for one model."},
		{Name: "models.*.idle", Type: Duration, Least: 1, Most: day, Meaning: "As timeouts.idle, for one model."},
		{Name: "models.*.total", Type: Duration, Least: 1, Most: day, Meaning: "As timeouts.total, for one model."},

		{Name: "providers.*.kind", Type: Text, Choices: []string{"ollama", "openai"}, Rule: NeedsTrust, Danger: dangerAddress,
			Meaning: "What the server speaks: ollama (its own interface) or openai (everything compatible)."},
		{Name: "providers.*.url", Type: Text, URL: true, Rule: NeedsTrust, Danger: dangerAddress,
			Meaning: "The server's address. OLLAMA_HOST sets providers.ollama.url."},
		{Name: "providers.*.key_env", Type: Text, Rule: NeedsTrust, Danger: dangerKey,
			Meaning: "The environment variable that holds the key."},
		{Name: "providers.*.key_file", Type: Text, Path: true, Rule: NeedsTrust, Danger: dangerKey,
			Meaning: "The file that holds the key. It is read again when the server refuses the key."},
		{Name: "providers.*.headers.*", Type: Text, Secret: true, Rule: NeedsTrust, Danger: dangerKey,
			Meaning: "A header of every request. The value \"$NAME\" is taken from the environment."},
		{Name: "providers.*.parallel", Type: Whole, Least: 1, Most: 1000,
			Meaning: "Calls to the provider at the same time. Without it 1 for Ollama and local models, 4 for others."},

		{Name: "timeouts.connect", Type: Duration, Default: "10s", Least: 0.1, Most: 600,
			Meaning: "How long a connection to a model's server may take."},
		{Name: "timeouts.first_byte", Type: Duration, Default: "10m", Least: 1, Most: day,
			Meaning: "How long the first piece of a reply may take. It is long because local servers load the model first."},
		{Name: "timeouts.idle", Type: Duration, Default: "2m", Least: 1, Most: day,
			Meaning: "How long a reply may pause."},
		{Name: "timeouts.total", Type: Duration, Default: "30m", Least: 1, Most: day,
			Meaning: "How long one call may take in all."},

		{Name: "limits.tool_calls", Type: Whole, Default: "40", Least: 1, Most: 100_000, Rule: Tighten,
			Meaning: "Tool calls in one turn."},
		{Name: "limits.time", Type: Duration, Default: "30m", Least: 1, Most: 7 * day, Rule: Tighten,
			Meaning: "Wall time of one turn."},
		{Name: "limits.tokens", Type: Whole, Default: "0", Rule: Tighten,
			Meaning: "Tokens, prompt and output, of all calls of one turn; 0 is no limit."},
		{Name: "limits.result_bytes", Type: Whole, Least: 256, Most: 64 << 20, Rule: Tighten,
			Meaning: "The most bytes of one tool result that the model is shown at once. Without it the free part of the window decides. The whole is kept and can be paged through."},
		{Name: "limits.wait", Type: Duration, Default: "1m", Most: day, Rule: Tighten,
			Meaning: "The longest single wait for a server that asks for patience; beyond it the run pauses."},

		{Name: "search.library", Type: Text, Path: true, Rule: Outside, Danger: "reads documents outside the repository",
			Meaning: "A folder of your own documents (Markdown, HTML, text, PDF) that search looks through."},
		{Name: "search.max_results", Type: Whole, Default: "5", Least: 1, Most: 50,
			Meaning: "How many results a search gives where the model asks for no number."},
		{Name: "search.searxng", Type: Text, URL: true, Default: "http://localhost:8090", Rule: NeedsTrust, Danger: dangerService,
			Meaning: "The address of a SearXNG of your own. `towpath init --services` writes one, `towpath doctor` says whether it is ready."},

		{Name: "servers.*.builtin", Type: Text,
			Meaning: "The built-in tool server that goes by this name: search-server, browser-server, ..."},
		{Name: "servers.*.command", Type: Text, Rule: NeedsTrust, Danger: dangerCommand,
			Meaning: "The program of a tool server that speaks MCP over its input and output."},
		{Name: "servers.*.args", Type: List, Rule: NeedsTrust, Danger: dangerCommand,
			Meaning: "The program's arguments."},
		{Name: "servers.*.env.*", Type: Text, Secret: true, Rule: NeedsTrust, Danger: dangerCommand,
			Meaning: "A variable of the program's environment. The value \"$NAME\" is taken from your own environment."},
		{Name: "servers.*.url", Type: Text, URL: true, Rule: NeedsTrust, Danger: dangerAddress,
			Meaning: "The address of a tool server that speaks MCP over HTTP."},
		{Name: "servers.*.headers.*", Type: Text, Secret: true, Rule: NeedsTrust, Danger: dangerKey,
			Meaning: "A header of every request to that address. The value \"$NAME\", or \"Bearer $NAME\", is taken from the environment."},
		{Name: "servers.*.token_file", Type: Text, Path: true, Rule: NeedsTrust, Danger: dangerKey,
			Meaning: "The file that holds a bearer token for that address. It is read again when the server refuses the token."},
		{Name: "servers.*.start_timeout", Type: Duration, Least: 0.1, Most: 3600,
			Meaning: "How long the server may take to answer after its start, 2m without it. Launchers may have to install the server first."},
		{Name: "servers.*.call_timeout", Type: Duration, Least: 0.1, Most: day,
			Meaning: "How long a call may go without an answer or a sign of progress, 1m without it."},
		{Name: "servers.*.call_limit", Type: Duration, Least: 0.1, Most: day,
			Meaning: "The most that a call may take as a whole, whatever progress it reports, 10m without it."},
		{Name: "servers.*.optional", Type: Bool, Default: "false",
			Meaning: "Whether a stage goes on when the server cannot be started."},

		{Name: "fetch.allow", Type: List, Rule: NeedsTrust, Danger: "lets pages be fetched from private addresses",
			Meaning: "Address ranges such as 127.0.0.1/32 that may be fetched though they are private."},
		{Name: "fetch.camofox", Type: Text, URL: true, Default: "http://localhost:9500", Rule: NeedsTrust, Danger: dangerService,
			Meaning: "The address of a camofox-browser of your own. `towpath init --services` writes one, `towpath doctor` says whether it is ready."},
	}
})
