//go:build models

package modelruns

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// ideas are what ten people might ask of the example library.
var ideas = [10]string{
	"A short course that teaches a developer to keep and query data in a SQLite database from the command line.",
	"A course on importing CSV files into SQLite and answering questions about them.",
	"A mini-course on keeping a SQLite database safe: backups, integrity checks and recovery.",
	"Teach Python developers to store the data of a small program in SQLite.",
	"A course on making slow SQLite queries fast with indexes and query plans.",
	"A short course on searching notes with SQLite's full-text search.",
	"A course on changing the schema of a SQLite database that is in use.",
	"Working with JSON data in SQLite, for developers who log events.",
	"A course about transactions and several programs that write to one SQLite file.",
	"A practical course on reports by month: dates, grouping and output formats in SQLite.",
}

// enough is how many of the ten have to come through.
const enough = 9

func TestTenIdeasBecomeCourses(t *testing.T) {
	bin := program(t)
	n := len(ideas)
	if s := os.Getenv("TOWPATH_DEMOS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	passed := 0
	for i, idea := range ideas[:n] {
		c := newCourse(t, bin)
		last, err := c.run(t, bin, "--model", "local/qwen2.5-coder-1.5b", "--input", idea)
		if err == nil {
			err = c.verify()
		} else if exit, _ := last["exit"].(map[string]any); exit == nil || exit["reason"] == "" {
			t.Errorf("demo %d stopped without a reason: %v", i+1, last)
		}
		if err != nil {
			c.keep(t)
			fmt.Printf("demo %2d: %v\n", i+1, err)
			continue
		}
		passed++
		fmt.Printf("demo %2d: complete\n", i+1)
	}
	fmt.Printf("%d of %d demos are complete\n", passed, n)
	if passed < n*enough/len(ideas) {
		t.Errorf("%d of %d demos are complete, want at least %d of %d", passed, n, enough, len(ideas))
	}
}
