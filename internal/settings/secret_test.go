package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

func TestKeysComeFromVariablesAndFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	keyFile := p.write(filepath.Join(p.userDir, "groq.key"), "file-key-1\n")
	p.user("[providers.groq]\nkey_file = \"groq.key\"\n[providers.mine]\nurl = \"https://mine.example/v1\"\nkey_env = \"MINE\"\nheaders = { X-Team = \"$TEAM\", X-Plain = \"plain-value\" }\n")
	p.environ = []string{"MINE= env-key-2 \n", "TEAM=team-key-3"}
	s := p.load()
	key := func(name string) string {
		t.Helper()
		pr, ok := s.Provider(name)
		k, err := pr.Key()
		if !ok || err != nil {
			t.Fatalf("%s: %v, %v", name, ok, err)
		}
		return k.Reveal()
	}
	if key("groq") != "file-key-1" || key("mine") != "env-key-2" || key("openai") != "" {
		t.Errorf("%q %q %q", key("groq"), key("mine"), key("openai"))
	}
	if m := s.Providers["mine"]; m.Kind != "openai" || m.Headers["X-Team"].Reveal() != "team-key-3" {
		t.Errorf("%+v", m)
	}
	if diff := cmp.Diff([]string{"env-key-2", "file-key-1", "plain-value", "team-key-3"}, s.Secrets()); diff != "" {
		t.Error(diff)
	}
	p.write(keyFile, "rotated-key-4") // the key is renewed while the program runs
	if key("groq") != "rotated-key-4" {
		t.Errorf("%q", key("groq"))
	}
	p.write(keyFile, "two\nlines")
	if _, err := s.Providers["groq"].Key(); err == nil || strings.Contains(err.Error(), "two") {
		t.Errorf("got %v", err)
	}
}

func TestReservedProviderNames(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.user("[providers.local]\nurl = \"http://h\"\n")
	if _, err := p.try(); err == nil || !strings.Contains(err.Error(), ":2: providers.local.url") {
		t.Errorf("got %v", err)
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.user("[providers.x]\nurl = \"http://h/v1\"\nkey_env = \"K\"\nheaders = { A = \"hunter-2222\" }\n[servers.s]\ncommand = \"c\"\nenv = { B = \"hunter-3333\" }\n")
	p.environ = []string{"K=hunter-4444"}
	s := p.load()
	key, err := s.Providers["x"].Key()
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	holder := struct {
		Key  Secret
		Ptr  *Secret
		List []Secret
	}{key, &key, []Secret{key}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&all, verb+"\n", key)
		fmt.Fprintf(&all, verb+"\n", holder)
		fmt.Fprintf(&all, verb+"\n", s.Servers)
	}
	for _, v := range []any{key, holder, s.Servers, s.Values()} {
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(j)
	}
	tm, err := toml.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	all.Write(tm)
	for _, v := range s.Values() {
		fmt.Fprintln(&all, v)
	}
	if got := all.String(); strings.Contains(got, "hunter") || strings.Contains(got, "68756e746572") || !strings.Contains(got, "(hidden)") {
		t.Errorf("printed:\n%s", got)
	}
	type inside struct{ deep Secret }
	fmt.Fprintf(&all, "%+v %#v %+v %#v %+v", s, *s, s.Providers, s.Providers, inside{key})
	if got := all.String(); strings.Contains(got, "hunter") {
		t.Errorf("the whole of the settings prints a key:\n%s", got)
	}
}
