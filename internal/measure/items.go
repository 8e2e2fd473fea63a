package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"towpath/internal/app"
	"towpath/internal/journal"
	"towpath/internal/prompt"
)

const smallModel = "smollm2-135m"

// itemsShared runs the items of a for-each on a real small model and reads from
// its events how many tokens of each prompt were kept from the call before. The
// floor is what two prompts in a row differ in, counted in bytes.
func itemsShared(b *bench) (table, error) {
	dir, err := b.course("items")
	if err != nil {
		return table{}, err
	}
	if err := b.shorten(dir); err != nil {
		return table{}, err
	}
	pull := exec.CommandContext(b.ctx, b.towpath, "models", "pull", smallModel)
	pull.Stderr = os.Stderr
	if err := pull.Run(); err != nil {
		return table{}, fmt.Errorf("fetching %s: %w", smallModel, err)
	}
	prompts, err := b.prompts(dir)
	if err != nil {
		return table{}, err
	}
	used, err := b.usage(dir)
	if err != nil {
		return table{}, err
	}
	if len(used) != len(prompts) {
		return table{}, fmt.Errorf("%d items were counted, want %d", len(used), len(prompts))
	}
	t := table{title: "Prompt tokens that the local model does not compute again, by item of a for-each"}
	var all, kept, floor float64
	for i, u := range used {
		alike := 0.0
		if i > 0 {
			alike = shared(prompts[i-1], prompts[i]) * float64(*u.Prompt)
		}
		all, kept, floor = all+float64(*u.Prompt), kept+float64(*u.Cached), floor+alike
		t.rows = append(t.rows, row{fmt.Sprintf("item %d of %d", i+1, len(used)),
			fmt.Sprintf("%d of %d kept", *u.Cached, *u.Prompt), fmt.Sprintf("about %.0f alike", alike),
			fmt.Sprintf("%.0f %%", percent(float64(*u.Cached), float64(*u.Prompt))), ""})
	}
	t.rows = append(t.rows, row{"together", fmt.Sprintf("%.0f of %.0f kept", kept, all), fmt.Sprintf("about %.0f alike", floor),
		fmt.Sprintf("%.0f %%", percent(kept, all)), "all that is alike"})
	return t, nil
}

func percent(part, whole float64) float64 { return 100 * part / max(1, whole) }

// shorten asks for one sentence where the example asks for a module: what is
// measured is the prompts, not the replies.
func (b *bench) shorten(dir string) error {
	path := filepath.Join(dir, "pipeline", "04-draft", "CONTEXT.md")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(data)
	from, to := strings.Index(text, "## Process"), strings.Index(text, "## Outputs")
	if from < 0 || to < from {
		return errors.New("the example's last contract has no Process before its Outputs")
	}
	text = text[:from] + "## Process\nSay in one short sentence what the one module below teaches.\n\n" + text[to:]
	return os.WriteFile(path, []byte(text), 0o644)
}

// prompts builds what each item will be sent.
func (b *bench) prompts(dir string) ([]string, error) {
	a, err := app.Open(b.ctx, app.Options{Path: dir, WorkDir: b.dir, Environ: b.environ()})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	st, err := a.Workspace.Stage("04-draft")
	if err != nil {
		return nil, err
	}
	list, err := a.Workspace.Items(a.Tree.FS(), st)
	if err != nil {
		return nil, err
	}
	var out []string
	for i := range list.Items {
		c, err := prompt.Build(a.Tree.FS(), a.Workspace, st, prompt.Options{Item: &list.Items[i], Total: len(list.Items)})
		if err != nil {
			return nil, err
		}
		out = append(out, c.System+c.User)
	}
	return out, nil
}

// shared is the part of b that begins as a does.
func shared(a, b string) float64 {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return float64(n) / float64(max(1, len(b)))
}

// usage runs the stage and gives what the first reply of each item counts.
func (b *bench) usage(dir string) ([]journal.Usage, error) {
	cmd := exec.CommandContext(b.ctx, b.towpath, "run", dir, "--stage", "04-draft", "--json", "--model", "local/"+smallModel)
	cmd.Env = b.environ("TOWPATH_REPLY=128")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var used []journal.Usage
	seen := map[int]bool{}
	var exit *journal.Exited
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e journal.Event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		if e.Exit != nil {
			exit = e.Exit
		}
		if e.Type == journal.ModelReply && !seen[e.Item] && e.Reply.Usage.Prompt != nil && e.Reply.Usage.Cached != nil {
			seen[e.Item] = true
			used = append(used, e.Reply.Usage)
		}
	}
	// A model of this size may not find an end in time; its prompts were
	// computed all the same.
	if err := errors.Join(lines.Err(), cmd.Wait()); err != nil && len(used) == 0 {
		if exit != nil {
			return nil, fmt.Errorf("%w: %s", err, exit.Reason)
		}
		return nil, fmt.Errorf("%w\n%s", err, said.String())
	}
	return used, nil
}
