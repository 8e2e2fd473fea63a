package main

import (
	"fmt"
	"os/exec"
	"time"
)

// startUp times whole processes: version is the program's start alone, probe
// reads the workspace and builds a prompt.
func startUp(b *bench) (table, error) {
	dir, err := b.course("start")
	if err != nil {
		return table{}, err
	}
	process := func(path string, args ...string) *side {
		return &side{run: func() error {
			cmd := exec.CommandContext(b.ctx, path, args...)
			cmd.Env = b.environ()
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%v: %w\n%s", args, err, out)
			}
			return nil
		}}
	}
	empty, version, probe := process(b.empty), process(b.towpath, "version"), process(b.towpath, "probe", "03-outline", dir)
	if err := alternate(b.turns(60), empty, version, probe); err != nil {
		return table{}, err
	}
	t := table{title: "Start-up against an empty program"}
	for _, r := range []struct {
		name string
		side *side
	}{{"towpath version", version}, {"towpath probe", probe}} {
		t.rows = append(t.rows, row{r.name, ms(r.side.median()), ms(empty.median()), "+" + ms(more(r.side, empty)), "at most +15 ms"})
	}
	return t, nil
}

// more is the median of what each turn of a took longer than that of b.
func more(a, b *side) time.Duration {
	var all []time.Duration
	for i := range min(len(a.taken), len(b.taken)) {
		all = append(all, a.taken[i]-b.taken[i])
	}
	return median(all)
}
