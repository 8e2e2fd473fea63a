package journal

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"towpath/internal/durable"
)

// stage writes what a stage with one model call writes, its output too.
func stage(b *testing.B, tr *durable.Tree, n int) {
	r, err := Create(tr, ".", "01-a", Options{Secrets: []string{"hunter-2222"}})
	if err != nil {
		b.Fatal(err)
	}
	system, user, text := body(b, r, strings.Repeat("system ", 500)), body(b, r, fmt.Sprint(n, strings.Repeat(" user", 500))), strings.Repeat("reply ", 400)
	answer := body(b, r, text)
	kept, err := r.Keep("a.md", []byte(text))
	if err != nil {
		b.Fatal(err)
	}
	add(b, r, Event{Type: RunStarted, Started: &Started{}}, Event{Type: ContextBuilt, Context: &Context{}},
		Event{Type: ModelCall, Request: &Request{Messages: []Body{system, user}}},
		Event{Type: ModelReply, Reply: &Reply{Text: answer}})
	if err := tr.WriteFile("out/a.md", []byte(text)); err != nil {
		b.Fatal(err)
	}
	add(b, r, Event{Type: OutputWritten, Output: &Output{Path: "out/a.md", Kept: kept}},
		Event{Type: Gate, Gate: &GateOpened{Kind: "stop"}}, Event{Type: Exit, Exit: &Exited{How: "gate"}})
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkStageOnDisk(b *testing.B) {
	tr := tree(b)
	for i := 0; b.Loop(); i++ {
		stage(b, tr, i)
	}
}

// BenchmarkStageOnDiskFloor is one flush and one rename.
func BenchmarkStageOnDiskFloor(b *testing.B) {
	dir := b.TempDir()
	data := []byte(strings.Repeat("reply ", 400))
	for b.Loop() {
		f, err := os.Create(dir + "/temp")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Write(data); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		f.Close()
		if err := os.Rename(dir+"/temp", dir+"/a"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLatestAmongManyRuns(b *testing.B) {
	tr := tree(b)
	r := create(b, tr, "01-a", Options{})
	add(b, r, Event{Type: RunStarted, Started: &Started{}}, output("a", "h", false))
	for i := range 300 {
		create(b, tr, "02-b", Options{Clock: at(evening.Add(time.Duration(i) * time.Minute))})
	}
	h := Open(tr, ".")
	for b.Loop() {
		if _, err := h.Latest("01-a"); err != nil {
			b.Fatal(err)
		}
	}
}
