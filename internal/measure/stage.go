package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"towpath/internal/app"
	"towpath/internal/engine"
	"towpath/internal/fakeserver"
	"towpath/internal/journal"
)

// stageCost runs the third stage, which asks once and has no tools, from taking
// the lock to its gate, and takes off what the call itself took.
func stageCost(b *bench) (table, error) {
	server, err := fakeserver.Start(fakeserver.Script{Replies: []fakeserver.Reply{{Text: outline, Times: -1}}})
	if err != nil {
		return table{}, err
	}
	defer server.Close()
	dir, err := b.course("stage")
	if err != nil {
		return table{}, err
	}
	var call time.Duration
	// Runs of one second get numbers that cost a look into their journals, and
	// no real model is that fast: every run here has a second of its own.
	var ahead time.Duration
	a, err := app.Open(b.ctx, app.Options{Path: dir, WorkDir: b.dir, Version: "measured",
		Clock:   func() time.Time { return time.Now().Add(ahead) },
		Environ: b.environ("OLLAMA_HOST="+server.URL, "TOWPATH_MODEL=ollama/test"),
		Observe: func(e journal.Event) {
			if e.Type == journal.ModelReply {
				call += e.Reply.Elapsed
			}
		}})
	if err != nil {
		return table{}, err
	}
	defer a.Close()
	var calls []time.Duration
	// Nothing is deleted: some file systems go out of their way not to use again
	// what was given free within seconds, and no run deletes that much.
	moved := 0
	aside := func() error {
		moved++
		runs, err := filepath.Glob(filepath.Join(dir, "history", "*-03-outline"))
		if err != nil {
			return err
		}
		for _, from := range append(runs, filepath.Join(dir, "pipeline", "03-outline", "output")) {
			to := filepath.Join(b.dir, fmt.Sprintf("%d-%s", moved, filepath.Base(from)))
			if err := os.Rename(from, to); err != nil {
				return err
			}
		}
		return nil
	}
	stage := &side{ready: func() error {
		call, ahead = 0, ahead+2*time.Second
		return aside()
	}, run: func() error {
		exited, err := a.Engine.Run(b.ctx, engine.Options{})
		if err == nil && exited.How != engine.HowGate {
			err = fmt.Errorf("the stage ended %q", exited.How)
		}
		calls = append(calls, call)
		return err
	}}
	flushes := 0
	flush := &side{run: func() error { flushes++; return flushAndRename(dir, fmt.Sprint("flushed-", flushes)) }}
	trip := &side{run: func() error { return roundTrip(server.URL) }}
	if err := alternate(b.turns(100), stage, flush, trip); err != nil {
		return table{}, err
	}
	beyond := &side{}
	for i, d := range stage.taken {
		beyond.taken = append(beyond.taken, d-calls[i+1])
	}
	less := &side{} // what is left for the disk after one round trip
	for i, d := range beyond.taken {
		less.taken = append(less.taken, d-trip.taken[i])
	}
	return table{title: "A stage beyond its model call, against one flush and one rename", rows: []row{
		{"stage without the call", ms(beyond.median()), ms(flush.median()), times(pairwise(less, flush)) + " after one round trip", "at most 5 times"},
		{"whole stage, instant model", ms(stage.median()), ms(flush.median() + trip.median()), times(pairwise(stage, flush)), ""},
	}, notes: []string{
		"model call " + ms(median(calls)) + ", one HTTP round trip " + ms(trip.median()),
	}}, nil
}

func roundTrip(url string) error {
	res, err := http.Get(url + "/api/version")
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return errors.Join(err, res.Body.Close())
}

// flushAndRename is the least that a result costs which survives a crash.
func flushAndRename(dir, name string) error {
	temp := filepath.Join(dir, "flushed.tmp")
	f, err := os.Create(temp)
	if err != nil {
		return err
	}
	_, err = f.WriteString(objectives)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(temp, filepath.Join(dir, name))
}
