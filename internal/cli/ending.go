package cli

import (
	"fmt"
	"regexp"
	"strings"

	"towpath/internal/app"
	"towpath/internal/journal"
)

// ending tells a person how a run ended, with paths and commands that work from
// the current folder.
func (c *cli) ending(a *app.App, e journal.Exited) string {
	st := c.outStyle()
	reason, mend := e.Reason, c.typed(a, e.Mend)
	if len(e.Outputs) > 0 {
		shown := make([]string, len(e.Outputs))
		for i, o := range e.Outputs {
			shown[i] = st.bold(a.ShownOutput(o))
		}
		reason = strings.Replace(reason, strings.Join(e.Outputs, ", "), strings.Join(shown, ", "), 1)
	}
	text := reason
	if mend != "" {
		text += "; " + mend
	}
	for _, lead := range []struct {
		text  string
		style func(string) string
	}{{"review gate:", st.yellow}, {"every stage is done", st.green}} {
		text = strings.Replace(text, lead.text, lead.style(lead.text), 1)
	}
	return c.outStyle().safe(text)
}

// typed gives commands in a text the workspace that they are about, where it is
// not the one at the current folder.
func (c *cli) typed(a *app.App, text string) string {
	if a.Shown == "." || strings.HasPrefix(a.Shown, "..") {
		return text
	}
	at := " " + quoted(a.Shown)
	onStage := regexp.MustCompile(`towpath (approve|reject|diff|answer) (\S+?)( done\|repeat\|skip)?([,;]|$| )`)
	text = onStage.ReplaceAllString(text, "towpath $1 $2$3"+strings.ReplaceAll(at, "$", "$$")+"$4")
	return strings.ReplaceAll(text, "towpath run --", "towpath run"+at+" --")
}

// quoted gives a path as a shell takes it.
func quoted(path string) string {
	if path != "" && !strings.ContainsAny(path, " \t\n\"'\\$`&|;<>()*?[]{}!#~") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// warnings says what is wrong with the settings, before a run.
func (c *cli) warnings(a *app.App) {
	for _, w := range a.Settings.Warnings {
		fmt.Fprintf(c.env.Err, "%s %s\n", c.errStyle().yellow("warning:"), clean(w))
	}
}

// located is an error about a workspace with its places as they are opened from
// the current folder.
type located struct {
	error
	text string
}

func (e located) Error() string { return e.text }
func (e located) Unwrap() error { return e.error }

// locate gives an error about a workspace places that open from the current
// folder.
func (c *cli) locate(a *app.App, err error) error {
	if err == nil || a.Tree == nil {
		return err
	}
	return located{err, c.typed(a, c.placed(a, err.Error()))}
}

// placed makes "pipeline/01-scope/CONTEXT.md:4: ..." at the head of each line a
// path that opens from the current folder. Other words before a colon stay.
func (c *cli) placed(a *app.App, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if m := placeAt.FindStringSubmatch(line); m != nil && a.Has(m[1]) {
			lines[i] = a.ShownOutput(m[1]) + strings.TrimPrefix(line, m[1])
		}
	}
	return strings.Join(lines, "\n")
}

// placeAt is a file, and mostly a line, at the head of a sentence.
var placeAt = regexp.MustCompile(`^([^\s:][^:]*\.md)(?::[0-9]+)?: `)
