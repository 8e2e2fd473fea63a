package salvage

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"towpath/internal/model"
)

func tools() []model.ToolDef {
	return []model.ToolDef{
		{Name: "search", Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"},"exact":{"type":"boolean"},"tags":{"type":"array"}},"required":["query"]}`)},
		{Name: "search-server_search", Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)},
		{Name: "now", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
		{Name: "math.add", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`)},
	}
}

// call is name and arguments, as a test writes them.
type call struct{ name, args string }

func check(t *testing.T, text string, want ...call) {
	t.Helper()
	got := Calls(text, tools())
	if len(got) != len(want) {
		t.Errorf("%q\n gives %+v\n want  %+v", text, got, want)
		return
	}
	for i, w := range want {
		var g, x any
		if json.Unmarshal([]byte(got[i].Arguments), &g) != nil || json.Unmarshal([]byte(w.args), &x) != nil || got[i].Name != w.name || !reflect.DeepEqual(g, x) {
			t.Errorf("%q\n gives %+v\n want  %+v", text, got[i], w)
		}
	}
}

func TestFormatsOfDifferentModels(t *testing.T) {
	t.Parallel()
	x := call{"search", `{"query":"x"}`}
	for name, text := range map[string]string{
		"Hermes":                    "<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": \"x\"}}\n</tool_call>",
		"Hermes without braces end": "<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": \"x\"}\n</tool_call>",
		"Llama":                     `<|python_tag|>{"name": "search", "parameters": {"query": "x"}}<|eom_id|>`,
		"Llama function":            `<function=search>{"query": "x"}</function>`,
		"Llama Python":              `<|python_tag|>search.call(query="x")`,
		"Llama list":                `[search(query='x')]`,
		"Mistral":                   `[TOOL_CALLS][{"name": "search", "arguments": {"query": "x"}}]`,
		"Mistral, newer":            `[TOOL_CALLS]search[ARGS]{"query": "x"}`,
		"Mistral with id":           `[TOOL_CALLS]search[CALL_ID]a1B2[ARGS]{"query": "x"}`,
		"DeepSeek":                  "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{\"query\": \"x\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"DeepSeek, newer":           `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>{"query": "x"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
		"Qwen coder":                "<tool_call>\n<function=search>\n<parameter=query>\nx\n</parameter>\n</function>\n</tool_call>",
		"Qwen coder, no end":        "<function=search>\n<parameter=query>\nx\n</parameter>\n</function>",
		"GLM":                       "<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
		"Kimi":                      `<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{"query": "x"}<|tool_call_end|><|tool_calls_section_end|>`,
		"gpt-oss":                   `<|channel|>commentary to=functions.search <|constrain|>json<|message|>{"query":"x"}<|call|>`,
		"Command":                   "Action: ```json\n[{\"tool_name\": \"search\", \"parameters\": {\"query\": \"x\"}}]\n```",
		"Command, newer":            `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "search", "parameters": {"query": "x"}}]<|END_ACTION|>`,
		"Gemma":                     "```tool_code\nprint(search(query=\"x\"))\n```",
		"Granite":                   `<|tool_call|>[{"name": "search", "arguments": {"query": "x"}}]`,
		"Phi":                       `functools[{"name": "search", "arguments": {"query": "x"}}]`,
		"Nemotron":                  `<TOOLCALL>[{"name": "search", "arguments": {"query": "x"}}]</TOOLCALL>`,
		"LM Studio":                 "[TOOL_REQUEST]\n{\"name\": \"search\", \"arguments\": {\"query\": \"x\"}}\n[END_TOOL_REQUEST]",
		"LFM":                       `<|tool_call_start|>[search(query="x")]<|tool_call_end|>`,
		"Seed":                      "<seed:tool_call>\n<function=search>\n<parameter=query>x</parameter>\n</function>\n</seed:tool_call>",
		"MiniMax":                   "<minimax:tool_call>\n<invoke name=\"search\">\n<parameter name=\"query\">x</parameter>\n</invoke>\n</minimax:tool_call>",
		"function_calls":            "<function_calls>\n<invoke name=\"search\">\n<parameter name=\"query\">x</parameter>\n</invoke>\n</function_calls>",
		"Internlm":                  `<|action_start|><|plugin|>{"name": "search", "parameters": {"query": "x"}}<|action_end|>`,
		"Apertus":                   `<|tools_prefix|>[{"search": {"query": "x"}}]<|tools_suffix|>`,
		"ReAct":                     "Action: search\nAction Input: {\"query\": \"x\"}",
		"functionary":               ">>>search\n{\"query\": \"x\"}",
		"name, then object":         "search\n{\"query\": \"x\"}",
		"element per tool":          "<search>\n<query>x</query>\n</search>",
		"elements":                  "<tool_call><name>search</name><arguments>{\"query\": \"x\"}</arguments></tool_call>",
		"OpenAI":                    `{"id":"call_1","type":"function","function":{"name":"search","arguments":"{\"query\":\"x\"}"}}`,
		"OpenAI message":            `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"search","arguments":"{\"query\":\"x\"}"}}]}`,
		"parallel":                  `{"tool_uses":[{"recipient_name":"functions.search","parameters":{"query":"x"}}]}`,
		"Anthropic":                 `{"type":"tool_use","id":"toolu_1","name":"search","input":{"query":"x"}}`,
		"LangChain":                 `{"action": "search", "action_input": {"query": "x"}}`,
		"tool and args":             `{"tool": "search", "args": {"query": "x"}}`,
		"arguments beside the name": `{"name": "search", "query": "x"}`,
		"one positional object":     `search({"query": "x"})`,
		"fence named after it":      "```search\n{\"query\": \"x\"}\n```",
		"inline code":               "`{\"name\": \"search\", \"arguments\": {\"query\": \"x\"}}`",
		"escaped as a whole":        `"{\"name\": \"search\", \"arguments\": {\"query\": \"x\"}}"`,
		"escaped quotes":            `{\"name\": \"search\", \"arguments\": {\"query\": \"x\"}}`,
		"HTML entities":             `{&quot;name&quot;: &quot;search&quot;, &quot;arguments&quot;: {&quot;query&quot;: &quot;x&quot;}}`,
	} {
		t.Run(name, func(t *testing.T) { check(t, text, x) })
	}
}

func TestSlipsInTheJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]call{
		`{"name": "search", "arguments": {"query": "x"`:                                                            {"search", `{"query":"x"}`},
		`{"name": "search", "arguments": {"query": "x"}}}`:                                                         {"search", `{"query":"x"}`},
		`{{"name": "search", "arguments": {"query": "x"}}}`:                                                        {"search", `{"query":"x"}`},
		`{'name': 'search', 'arguments': {'query': 'it\'s', 'exact': True}}`:                                       {"search", `{"query":"it's","exact":true}`},
		`{"name": "search", "arguments": {"query": "x", "limit": 5,}}`:                                             {"search", `{"query":"x","limit":5}`},
		`{"name": "search", "arguments": {"query": "say "hi" now"}}`:                                               {"search", `{"query":"say \"hi\" now"}`},
		"{\"name\": \"search\", \"arguments\": {\"query\": \"a\tb\nc\"}}":                                          {"search", `{"query":"a\tb\nc"}`},
		`{"name": "search", "arguments": {"query": "C:\dir\*.go"}}`:                                                {"search", `{"query":"C:\\dir\\*.go"}`},
		`{"name": "search", "arguments": {"query": "x" "limit": 5}}`:                                               {"search", `{"query":"x","limit":5}`},
		`{"name": "search", "arguments": {"query": "x", "tags": ["a", "b"}}`:                                       {"search", `{"query":"x","tags":["a","b"]}`},
		`{"name": "search", "arguments": {"query": "x", /* few */ "limit": 5}}`:                                    {"search", `{"query":"x","limit":5}`},
		`{“name”: “search”, “arguments”: {“query”: “x”}}`:                                                          {"search", `{"query":"x"}`},
		`{"name": "search", "arguments": "{\"query\": \"x\"}"}`:                                                    {"search", `{"query":"x"}`},
		`{"name": "search", "arguments": {"query": "x", "limit": None}}`:                                           {"search", `{"query":"x","limit":null}`},
		`{"name": "search", "arguments": {"query": "\ud83d\ude00 \u00e9"}}`:                                        {"search", `{"query":"😀 é"}`},
		`"name": "search", "arguments": {"query": "x"}}`:                                                           {"search", `{"query":"x"}`},
		`{"name": "search", "arguments": {"query": x}}`:                                                            {"search", `{"query":"x"}`},
		`{"name": "now", "arguments": {}}`:                                                                         {"now", `{}`},
		`{"name": "now"}`:                                                                                          {"now", `{}`},
		`now()`:                                                                                                    {"now", `{}`},
		`math.add(a=1, b=-2.5)`:                                                                                    {"math.add", `{"a":1,"b":-2.5}`},
		`search-server_search("x")`:                                                                                {"search-server_search", `{"query":"x"}`},
		`search(query="a, b)", tags=["x", 'y'], limit=3, exact=False)`:                                             {"search", `{"query":"a, b)","tags":["x","y"],"limit":3,"exact":false}`},
		"<function=search>\n<parameter=query>\n12\n</parameter>\n<parameter=limit>\n12\n</parameter>\n</function>": {"search", `{"query":"12","limit":12}`},
		"<function=search><parameter=query>a </parameter> b\n<c></parameter></function>":                           {"search", `{"query":"a </parameter> b\n<c>"}`},
	} {
		check(t, text, want)
	}
}

func TestSeveralCalls(t *testing.T) {
	t.Parallel()
	x, y := call{"search", `{"query":"x"}`}, call{"search", `{"query":"y"}`}
	const one, two = `{"name": "search", "arguments": {"query": "x"}}`, `{"name": "search", "arguments": {"query": "y"}}`
	check(t, one+"\n"+two, x, y)
	check(t, one+"; "+two, x, y)
	check(t, "["+one+", "+two+"]", x, y)
	check(t, one+one, x)
	check(t, one+two+one, x, y, x)
	check(t, "<tool_call>\n"+one+"\n</tool_call>\n<tool_call>\n"+two+"\n</tool_call>", x, y)
	check(t, "```json\n"+one+"\n```\n```json\n"+two+"\n```", x, y)
	check(t, `[search(query="x"), search(query="y")]`, x, y)
	check(t, `<function=search>{"query":"x"}</function><function=search>{"query":"y"}</function>`, x, y)
}

func TestNothingIsReadIntoOtherText(t *testing.T) {
	t.Parallel()
	const one = `{"name": "search", "arguments": {"query": "x"}}`
	for _, text := range []string{
		"", "search", "now", "search: the act of looking", "search for {\"query\": \"x\"} please",
		"Here it is: " + one, one + "\nDone.", "# Heading\n" + one, "// comment\n" + one, one + " and then " + one,
		"Use `search` to find things.", "```json\n" + one + "\n```\nThis calls the tool.", "> " + one,
		`{"name": "other", "arguments": {"query": "x"}}`, "[" + one + `, {"name": "other", "arguments": {}}]`,
		`{"name": "search"}`, `{"name": "search", "arguments": null}`, `search()`, `search("x", 3)`,
		`{"name": "search", "arguments": {"query": "x`, `{"name": "search", "arguments": {"query":`, `{"name": "search", "arguments": {"query": "x",`,
		`{"name": "search", "arguments": {`, `{"name": "search", "arguments": "{\"query\": \"x"}`, `{"name": "search", "arguments": ["x"]}`,
		`{"name": "search", "arguments": {"query": "x"}, "query": "y"}`, `{"name": "search", "arguments": {"query": "x"}, "arguments": {"query": "y"}}`,
		`<function=search><parameter=query>x`, `search(query="x`, `search(query=y + 1)`, `[search(query="x"), other()]`,
		`{"title": "search", "body": {"query": "x"}}`, `[]`, `{}`, `[{}]`, `null`, "<b>search</b>", "<search>", "search(query=f\"{x}\")",
		"| name | search |\n|---|---|\n| a | b |",
	} {
		if got := Calls(text, tools()); got != nil {
			t.Errorf("%q gives %+v", text, got)
		}
	}
	if got := Calls(one, nil); got != nil {
		t.Errorf("without tools: %+v", got)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		`{"path":"a"}{"path":`:            {`{"path":"a"}`},
		`{"path":"a"}{"path":"a"}`:        {`{"path":"a"}`},
		`{"path":"a"}{"path":"b"}`:        {`{"path":"a"}`, `{"path":"b"}`},
		"```json\n{\"path\":\"a\"}\n```":  {`{"path":"a"}`},
		`{"path":"a"} I hope that helps.`: {`{"path":"a"}`},
		`{"path":"a",}`:                   {`{"path": "a"}`},
		"{\"path\":\"a\nb\"}":             {`{"path": "a\nb"}`},
		`"{\"path\":\"a\"}"`:              {`{"path":"a"}`},
		`{{"path":"a"}}`:                  {`{"path":"a"}`},
		`{"cmd":"rm -rf /tmp/x`:           nil,
		`{"cmd":"rm -rf /tmp/x"`:          nil,
		`{"cmd":`:                         nil,
		`{"path":"a"}{"other":`:           nil,
		`path=a`:                          nil,
		`[1]`:                             nil,
		``:                                nil,
	} {
		if got := Arguments(in); !reflect.DeepEqual(got, want) {
			t.Errorf("Arguments(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestHostileTextEndsSoon(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"{", "[", "<tool_call>", "(", `{"name":`, "search(", "`", `"`, `\`, "<function=search>", `{"a":"b" `, "search:", "Action: "} {
		text := "search " + strings.Repeat(unit, 200000/len(unit))
		Calls(text, tools())
		Calls(strings.Repeat(unit, 200000/len(unit))+"search", tools())
		Arguments(text[7:])
	}
}

func FuzzCalls(f *testing.F) {
	for _, s := range []string{
		`{"name": "search", "arguments": {"query": "x"}}`, `<function=search><parameter=query>x</parameter></function>`, `[search(query='x')]`,
		"```json\n{name: 'search', args: {query: “x”}}\n```", `[TOOL_CALLS]search[ARGS]{"query":"x"}`, `{"tool_calls":[{"function":{"name":"now","arguments":"{}"}}]}`,
	} {
		f.Add(s)
	}
	offered := tools()
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range Calls(s, offered) {
			if _, ok := newCatalogue(offered).tools[c.Name]; !ok {
				t.Fatalf("%q gives the name %q, which is not offered", s, c.Name)
			}
			var args map[string]any
			if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
				t.Fatalf("%q gives arguments %q: %v", s, c.Arguments, err)
			}
		}
		for _, a := range Arguments(s) {
			if !json.Valid([]byte(a)) {
				t.Fatalf("%q gives arguments %q", s, a)
			}
		}
	})
}
