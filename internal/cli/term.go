package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/term"
)

// terminal reports whether w is a terminal that may be written over.
func (c *cli) terminal(w io.Writer) bool {
	f, ok := outFile(w)
	return ok && !c.plain && c.getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// attended reports whether a person can answer questions.
func (c *cli) attended() bool {
	return c.env.In != nil && term.IsTerminal(int(c.env.In.Fd()))
}

func (c *cli) outStyle() style { return c.styleOf(c.env.Out) }
func (c *cli) errStyle() style { return c.styleOf(c.env.Err) }

func (c *cli) styleOf(w io.Writer) style {
	return style{on: c.terminal(w) && c.getenv("NO_COLOR") == ""}
}

// keeper keeps the first error of writing results: a program that could not say
// them did not do its work.
type keeper struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

func (k *keeper) Write(b []byte) (int, error) {
	n, err := k.w.Write(b)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil && k.err == nil {
		k.err = err
	}
	return n, err
}

// failed says that results were lost, nil if none were.
func (k *keeper) failed() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		return nil
	}
	return fmt.Errorf("the results could not be written to standard output: %w; files that were made are there, see towpath status", k.err)
}

// fit breaks text at blanks where it goes to a terminal.
func (c *cli) fit(w io.Writer, text string) string {
	if !c.terminal(w) {
		return text
	}
	return wrap(text, wide(w)())
}

// beside breaks text for standard output that begins in a column.
func (c *cli) beside(column int, text string) string {
	if !c.terminal(c.env.Out) {
		return text
	}
	return strings.ReplaceAll(wrap(text, max(wide(c.env.Out)()-column, 20)), "\n", "\n"+strings.Repeat(" ", column))
}

// wide is the width of the terminal at w, in columns.
func wide(w io.Writer) func() int {
	return func() int {
		if f, ok := outFile(w); ok {
			if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
				return n
			}
		}
		return 80
	}
}

// print writes text for people; nothing in it can steer the terminal.
func (c *cli) print(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, c.styleOf(w).safe(fmt.Sprintf(format, args...)))
}

// printRaw writes the bytes of files as they are, but to a terminal only what
// cannot steer it.
func (c *cli) printRaw(w io.Writer, text string) {
	if c.terminal(w) {
		text = style{}.safe(text)
	}
	_, _ = io.WriteString(w, text)
}

// clean drops control characters, which could steer a terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && (unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069') {
			return -1
		}
		return r
	}, s)
}
