package mcpclient

import (
	"encoding/json"
	"strings"
	"testing"

	"towpath/internal/fakeserver"
	"towpath/internal/tool"
)

func TestErrorFlagIsKeptApartFromStructuredContent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     tool.Result
	}{
		{"error with both", `{"isError":true,"content":[{"type":"text","text":"disk full"}],"structuredContent":{"code":28}}`,
			tool.Result{Text: "disk full\n{\"code\":28}", Structured: json.RawMessage(`{"code":28}`), IsError: true}},
		{"structured alone", `{"content":[],"structuredContent":{"b":1, "a":9007199254740993}}`,
			tool.Result{Text: `{"b":1,"a":9007199254740993}`, Structured: json.RawMessage(`{"b":1, "a":9007199254740993}`)}},
		{"structured, said in text too", `{"content":[{"type":"text","text":"{\n \"a\": 1\n}"}],"structuredContent":{"a":1}}`,
			tool.Result{Text: "{\n \"a\": 1\n}", Structured: json.RawMessage(`{"a":1}`)}},
		{"structured, its only field said in text", `{"content":[{"type":"text","text":"# A\n"}],"structuredContent":{"content":"# A\n"}}`,
			tool.Result{Text: "# A\n", Structured: json.RawMessage(`{"content":"# A\n"}`)}},
		{"structured list, each said in text", `{"content":[{"type":"text","text":"1"},{"type":"text","text":"b"}],"structuredContent":{"result":[1,"b"]}}`,
			tool.Result{Text: "1\nb", Structured: json.RawMessage(`{"result":[1,"b"]}`)}},
		{"structured, of which the text says a part", `{"content":[{"type":"text","text":"found"}],"structuredContent":{"a":"found","b":2}}`,
			tool.Result{Text: "found\n{\"a\":\"found\",\"b\":2}", Structured: json.RawMessage(`{"a":"found","b":2}`)}},
		{"structured error alone", `{"isError":true,"content":[],"structuredContent":{"a":1}}`,
			tool.Result{Text: `{"a":1}`, Structured: json.RawMessage(`{"a":1}`), IsError: true}},
		{"no content at all", `{"content":[]}`, tool.Result{}},
		{"several pieces", `{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}`, tool.Result{Text: "one\ntwo"}},
		{"picture and sound", `{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"audio","mimeType":"audio/wav","data":"AAA="}]}`,
			tool.Result{Text: "[image, image/png, 3 bytes; it is not shown here]\n[audio, audio/wav, 2 bytes; it is not shown here]"}},
		{"resources", `{"content":[{"type":"resource","resource":{"uri":"file:///a.md","text":"# A"}},{"type":"resource","resource":{"uri":"x:b","mimeType":"a/b","blob":"AAAA"}},{"type":"resource_link","uri":"x:c","name":"c","description":"the third"}]}`,
			tool.Result{Text: "[resource file:///a.md]\n# A\n[resource x:b, a/b, 3 bytes; it is not shown here]\n[resource x:c: c]"}},
		{"a kind of later", `{"content":[{"type":"hologram","data":7},{"type":"text","text":"and text"}]}`, tool.Result{}},
	} {
		got, err := result(described{closed: true}, json.RawMessage(c.in), nil)
		if c.name == "no content at all" && err == nil && got.Text == "" && !got.IsError {
			continue
		}
		if c.name == "a kind of later" {
			if err != nil || got.Text != "[content of the kind \"hologram\", which is not shown here]\nand text" {
				t.Errorf("%s: %+v, error %v", c.name, got, err)
			}
			continue
		}
		if err != nil || got.Text != c.want.Text || string(got.Structured) != string(c.want.Structured) || got.IsError != c.want.IsError {
			t.Errorf("%s:\ngot  %+v, error %v\nwant %+v", c.name, got, err, c.want)
		}
	}
}

func TestWhatComesFromOutsideIsMarked(t *testing.T) {
	t.Parallel()
	s := scripted(t, fakeserver.Tools{})
	ts := tools(t, s)
	for name, want := range map[string]bool{"echo": false, "pid": true} { // echo says that it deals with nothing from outside
		if res, err := ts[name].Call(t.Context(), json.RawMessage(`{}`)); err != nil || res.Untrusted != want {
			t.Errorf("%s: %+v, error %v", name, res, err)
		}
	}
}

func TestAnswersInStrangeShapes(t *testing.T) {
	t.Parallel()
	s := scripted(t, fakeserver.Tools{})
	for _, c := range []struct{ raw, text string }{
		{`{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"hologram"},{"type":"text","text":"x"}]}}`, "x"},
		{`{"result":{"content":[{"type":"text","text":"id last"}]},"jsonrpc":"2.0","id":$ID}`, "id last"},
		{`[{"jsonrpc":"2.0","method":"notifications/message","params":{}},{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"in a batch"}]}}]`, "in a batch"},
		{`{"jsonrpc":"2.0","id":$ID,"result":{}}`, ""},
		{`{"jsonrpc":"2.0","id":$ID,"result":{"content":"text"}}`, "cannot be read"},
		{`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"internal","data":{"a":1}}}`, `the server refused the call: internal {"a":1} (-32603)`},
		{`{"jsonrpc":"2.0","id":99999,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"after a stray one"}]}}`, "after a stray one"},
	} {
		b, _ := json.Marshal(map[string]string{"raw": c.raw})
		res, err := attempt(t.Context(), s, "answer", string(b))
		if err != nil || !strings.Contains(res.Text, c.text) {
			t.Errorf("%s: %+v, error %v", c.raw, res, err)
		}
	}
}

func FuzzResult(f *testing.F) {
	f.Add(`{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":1},"isError":true}`)
	f.Add(`{"content":[{"type":"image","data":"===="},{"type":"resource"}]}`)
	f.Add(`{"structuredContent":" "}`)
	f.Fuzz(func(t *testing.T, in string) {
		var w struct {
			IsError bool `json:"isError"`
		}
		got, err := result(described{}, json.RawMessage(in), nil)
		if err == nil && json.Unmarshal([]byte(in), &w) == nil && got.IsError != w.IsError {
			t.Errorf("%q: the error flag was lost", in)
		}
	})
}
