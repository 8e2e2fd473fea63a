package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"towpath/internal/app"
)

// TestChatPageListsEveryCommand holds docs/chat.md to the program.
func TestChatPageListsEveryCommand(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "chat.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range slashes() {
		row := fmt.Sprintf("| `%s` | %s |\n", strings.TrimSpace(s.name+" "+s.args), s.about)
		if !strings.Contains(string(page), row) {
			t.Errorf("the page does not have the row\n%s", row)
		}
	}
}

func TestPathsAreNoCommands(t *testing.T) {
	t.Parallel()
	u := &chatUI{}
	for _, text := range []string{"/etc/hosts, what is it?", "/", "/ x", "what is /tools?", "/usr.local", "//help", "/tools\nand more"} {
		if got, err := u.command(t.Context(), text); got != question || err != nil {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

func TestWhatMayBecomeACallIsHeld(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": true, " {": true, "{\"name\": ": true, "[{": true, "[": true, "<": true, "<tool_call>": true, "<function=x>": true, "<|x|>": true,
		"``": true, "```": true, "```json\n{": true, "```js": true, "```tool_call\n": true,
		"A": false, "[link](x)": false, "<div>": false, "```go": false, "```json\nx": false, "`code`": false, "```python\n{": false,
	} {
		if got := mayBeCall(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestSaveStaysBelowItsFolders tries ways out.
func TestSaveStaysBelowItsFolders(t *testing.T) {
	t.Parallel()
	u, dir := savingUI(t)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "new"), filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../x", "/tmp/towpath-must-not-be-written", filepath.Join(outside, "x"), "link/x", "dangling", ".", "sub/../../x"} {
		if err := u.write(name, "text"); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("outside there is %v", left)
	}
	if err := u.write("new/folder/a b.md", "text\n"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "new", "folder", "a b.md")); err != nil || string(data) != "text\n" {
		t.Errorf("it holds %q, %v", data, err)
	}
}

func TestSaveAsksBeforeItWritesOver(t *testing.T) {
	t.Parallel()
	u, dir := savingUI(t)
	name := filepath.Join(dir, "a.md")
	if err := os.WriteFile(name, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key  rune
		want string
	}{{'n', "mine"}, {'\r', "mine"}, {'y', "new"}} {
		u.answer = func(string) (rune, error) { return c.key, nil }
		_ = u.write("a.md", "new") // the file says it
		if data, _ := os.ReadFile(name); string(data) != c.want {
			t.Errorf("after %q it holds %q", c.key, data)
		}
	}
}

// savingUI is a conversation in a folder of its own.
func savingUI(t *testing.T) (*chatUI, string) {
	t.Helper()
	dir := t.TempDir()
	var said strings.Builder
	u := newChatUI(&cli{env: Env{Out: &said, Err: &said, Dir: dir}}, false)
	u.app = &app.App{}
	return u, dir
}
