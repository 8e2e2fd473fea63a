package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWrongFilesAreSaidWithTheirLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\nmodle = \"a/b\"\n":       "2: modle: there is no such key; did you mean model?",
		"[limits]\ntool_call = 3\n": "2: limits.tool_call: there is no such key; did you mean limits.tool_calls?",
		"tool_calls = 3\n":          "1: tool_calls: there is no such key; did you mean limits.tool_calls?",
		"[limit]\ntool_calls = 3\n": "1: limit: there is no such key; did you mean limits?",
		"[providers.x]\nurl = \"http://h\"\nhedaers = {a=\"b\"}\n": "3: providers.x.hedaers: there is no such key; did you mean providers.x.headers?",
		"[providers.x]\nkey = \"abc\"\n":                           "2: providers.x.key: keys are never written into settings; name the variable",
		"completely = 1\n":                                         "1: completely: there is no such key; towpath config lists",
		"limits = 3\n":                                             "1: limits: this is a table",
		"[[limits]]\ntime = \"1m\"\n":                              "1: limits: this is a table",
		"model = 3\n":                                              "1: model: it takes a text, not the number 3",
		"model = \"qwen\"\n":                                       "1: model: a model is named provider/model",
		"reply = \"many\"\n":                                       `1: reply: it takes a whole number, not the text "many"`,
		"reply = 2.5\n":                                            "1: reply: it takes a whole number, not the number 2.5",
		"reply = 1\n":                                              "1: reply: 1 is too small; 16 is the least",
		"temperature = nan\n":                                      "1: temperature: NaN is too small",
		"temperature = 3\n":                                        "1: temperature: 3 is too large; 2 is the most",
		"[timeouts]\nidle = 30\n":                                  `2: timeouts.idle: it takes a duration such as "30s"`,
		"[timeouts]\nidle = \"-3s\"\n":                             "2: timeouts.idle: -3s is too small",
		"[timeouts]\n\n\nidle = \"soon\"\n":                        "4: timeouts.idle: it takes a duration",
		"write = \"src\"\n":                                        `1: write: it takes a list of texts such as ["a", "b"], not the text "src"`,
		"write = [1]\n":                                            "1: write: it takes a list of texts",
		"think = 1979-05-27\n":                                     "1: think: it takes a value true or false, not a date",
		"[fetch]\nallow = [\"localhost\"]\n":                       "2: fetch.allow: it takes address ranges",
		"[providers.x]\nkind = \"other\"\n":                        "2: providers.x.kind: it takes ollama or openai",
		"[providers.x]\nurl = \"http://me:pw@h\"\n":                "2: providers.x.url: a name and password do not belong into an address",
		"[providers.x]\nurl = \"ftp://h\"\n":                       "2: providers.x.url: it takes an address",
		"model = \"a/b\"\nmodel = \"a/c\"\n":                       "2: model: this is not TOML",
		"x = = 3\n":                                                "1: this is not TOML",
		"a = \"b\"\n<<<<<<< HEAD\n":                                "2: there is a merge conflict",
		"[servers.a]\noptional = true\n":                           "2: servers.a.optional: a server has one of builtin, command and url",
		"[servers.a]\nbuiltin = \"b\"\ncommand = \"c\"\n":          "3: servers.a.command: a server has one of",
		"\"\" = 1\n":                                               "1: \"\": there is no such key",
		strings.Repeat("a.", 5000) + "b = 1\n":                     "1: a: there is no such key",
	} {
		p := newPlace(t)
		file := p.user(text)
		_, err := p.try()
		var bad *FileError
		if !errors.As(err, &bad) || bad.ExitCode() != 2 {
			t.Errorf("%.40q: got %v", text, err)
			continue
		}
		if !strings.HasPrefix(err.Error(), file+":"+want) {
			t.Errorf("%.40q: got %.300s\nwant %s", text, strings.TrimPrefix(err.Error(), file+":"), want)
		}
	}
}

func TestFilesThatCannotBeReadAreSaid(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := filepath.Join(p.ws, ProjectFile)
	if err := os.Mkdir(file, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := p.try(); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a folder: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	p.project(strings.Repeat("# long\n", 200_000))
	if _, err := p.try(); err == nil || !strings.Contains(err.Error(), "larger than 1024 KiB") {
		t.Errorf("a large file: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	outside := p.write(filepath.Join(filepath.Dir(p.repo), "secret"), "root:x:0:0\n")
	if err := os.Symlink(outside, file); err != nil {
		t.Fatal(err)
	}
	if _, err := p.try(); err == nil || strings.Contains(err.Error(), "root:x") {
		t.Errorf("a link out of the repository: %v", err)
	}
	if _, err := Load(Options{Workspace: filepath.Join(p.repo, "none")}); err == nil {
		t.Error("a workspace that is not there: no error")
	}
}

func TestInlineAndDottedKeysHaveTheirLines(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.user("\ufefflimits.time = \"5m\"\r\n\r\nmodels = { \"ollama/a.b:9\" = { temperature = 1 } }\r\n\r\n[vars]\r\nназва = \"x\"\r\n")
	_, err := p.try()
	if err == nil || !strings.Contains(err.Error(), ":6: ") { // TOML's bare keys are ASCII
		t.Errorf("got %v", err)
	}
	p.user("\ufefflimits.time = \"5m\"\r\n\r\nmodels = { \"ollama/a.b:9\" = { temperature = 1 } }\r\n\r\n[vars]\r\n\"назва\" = \"x\"\r\n")
	s := p.load()
	if got := origin(s, `models."ollama/a.b:9".temperature`); got != file+":3" {
		t.Errorf("the inline key is at %s", got)
	}
	if origin(s, "limits.time") != file+":1" || s.Limits.Time != 5*time.Minute || s.Vars["назва"] != "x" {
		t.Errorf("%v %v", origin(s, "limits.time"), s.Vars)
	}
}

func TestWrongFlagsAndVariablesAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ flag, value, env, want string }{
		{"modle", "a/b", "", "modle: there is no such key; did you mean model?"},
		{"model", "qwen", "", "--model: a model is named provider/model"},
		{"limits.tool_calls", "x", "", "--limits.tool-calls: it takes a whole number"},
		{"a = 1\nb", "x", "", "this is not a key"},
		{"", "", "TOWPATH_TIMEOUTS_IDLE=3", "TOWPATH_TIMEOUTS_IDLE: it takes a duration"},
		{"", "", "TOWPATH_THINK=maybe", "TOWPATH_THINK: it takes a value true or false"},
		{"", "", "OLLAMA_HOST=ftp://x", "OLLAMA_HOST: it takes an address"},
	} {
		p := newPlace(t)
		if c.flag != "" {
			p.flags = map[string]string{c.flag: c.value}
		}
		p.environ = []string{c.env}
		_, err := p.try()
		var bad *InputError
		if !errors.As(err, &bad) || bad.ExitCode() != 2 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	for _, s := range []string{
		dangerous, "", "a", "[a]\nb=1", "[[a]]\nb=1", "\"\"=1", "models.\"a/b\".window = 5", "x = [[[[[[]]]]]]", "a={b={c=1}}",
		"[vars]\n\"\\u0000\" = \"x\"", "model = '''\nollama/a'''", "limits.time = \"1h\"\nlimits.tokens = -1", "\ufeff# bom",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := parseFile("f.toml", data, rankProject)
		var bad *FileError
		if err != nil && (!errors.As(err, &bad) || bad.Line < 1) {
			t.Errorf("got %v", err)
		}
		for name, v := range l {
			if v.data == nil || v.origin.Line < 1 || v.name() != name {
				t.Errorf("%s: %+v", name, v)
			}
			v.shown()
		}
	})
}
