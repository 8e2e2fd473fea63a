package cli

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func newCLI(dir string) *cli {
	return &cli{env: Env{In: os.Stdin, Out: io.Discard, Err: io.Discard, Dir: dir, Clock: time.Now}, flags: map[string]string{}}
}

// commands gives every command that a person can type.
func commands(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			all = append(all, commands(c)...)
		}
	}
	return all
}

func TestEveryCommandHasAnExampleThatParses(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands(newCLI(t.TempDir()).root()) {
		lines := strings.Split(strings.TrimSpace(cmd.Example), "\n")
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
			continue
		}
		for _, line := range lines {
			line = strings.TrimPrefix(strings.TrimSpace(line), "source <(")
			words := shellWords(strings.TrimSuffix(line, ")"))
			if len(words) == 0 || words[0] != "towpath" {
				t.Errorf("%s: the example %q does not begin with towpath", cmd.CommandPath(), line)
				continue
			}
			root := newCLI(t.TempDir()).root()
			if cmd.HasParent() {
				checkExample(t, root, cmd.CommandPath(), words[1:])
			}
		}
	}
}

func checkExample(t *testing.T, root *cobra.Command, path string, words []string) {
	t.Helper()
	found, rest, err := root.Find(words)
	if err != nil || !strings.HasPrefix(found.CommandPath(), path) {
		t.Errorf("%s: the example %q is one of %s (%v)", path, words, found.CommandPath(), err)
		return
	}
	if err := found.ParseFlags(rest); err != nil {
		t.Errorf("%s: the example %q: %v", path, words, err)
		return
	}
	if err := found.ValidateArgs(found.Flags().Args()); err != nil {
		t.Errorf("%s: the example %q: %v", path, words, err)
	}
}

// shellWords splits a line at blanks outside quotes.
func shellWords(line string) []string {
	var words []string
	var b strings.Builder
	var quote rune
	in := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, in = r, true
		case quote == 0 && r == ' ':
			if in {
				words = append(words, b.String())
			}
			b.Reset()
			in = false
		default:
			b.WriteRune(r)
			in = true
		}
	}
	if in {
		words = append(words, b.String())
	}
	return words
}

func TestHelpFitsEightyColumns(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands(newCLI(t.TempDir()).root()) {
		for _, text := range []string{cmd.Long, cmd.Short} {
			for _, line := range strings.Split(text, "\n") {
				if len(line) > 80 {
					t.Errorf("%s: %d columns: %q", cmd.CommandPath(), len(line), line)
				}
			}
		}
		if strings.HasSuffix(cmd.Short, ".") || cmd.Short == "" {
			t.Errorf("%s: the short text is %q; it is a phrase without a stop", cmd.CommandPath(), cmd.Short)
		}
	}
}

func TestExitCodesAreInTheHelp(t *testing.T) {
	t.Parallel()
	root := newCLI(t.TempDir()).root()
	run, _, err := root.Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*cobra.Command{root, run} {
		text := strings.Join(strings.Fields(cmd.Long), " ")
		for _, want := range []string{"0 done or at a gate", "1 error", "2 usage or contract", "3 a loop gave up", "4 waits for a person",
			"6 the workspace is locked", "7 paused until a stated time", "130 interrupted"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s --help does not name the exit code %q", cmd.CommandPath(), want)
			}
		}
	}
}
