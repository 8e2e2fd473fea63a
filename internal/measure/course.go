package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"towpath/internal/starter"
)

// course writes the course example with the results of its first three stages,
// and gives its folder.
func (b *bench) course(name string) (string, error) {
	dir := filepath.Join(b.dir, name)
	if err := starter.Write(dir, "course"); err != nil {
		return "", err
	}
	// A repository of its own, so that its tree begins here and not at the
	// checkout's root.
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		return "", err
	}
	for file, text := range map[string]string{
		"pipeline/01-scope/output/objectives.md": objectives,
		"pipeline/02-research/output/notes.md":   notes(),
		"pipeline/03-outline/output/outline.md":  outline,
	} {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

const objectives = `1. Create a database file and a table with typed columns.
2. Import rows from a CSV file and check their number.
3. Write queries that filter, sort and group rows.
4. Repair a slow query with an index and compare its plan.
`

func notes() string {
	var s strings.Builder
	for i, o := range strings.Split(strings.TrimSpace(objectives), "\n") {
		fmt.Fprintf(&s, `## %s

- The command line program opens the file that it is given and makes it if it is missing.
- A column has a type affinity; STRICT tables hold values to the type of their column.
- Commands of the program begin with a dot, statements of SQL end with a semicolon.
- Forgetting the semicolon makes the prompt wait for the rest of the statement.

Source: library:getting-started.md#part-%d

`, o[3:], i+1)
	}
	return s.String()
}

const outline = `# Data in one file

## Module 1: A database and its tables

- Open a file and make a table.
- Choose the types of its columns.

## Module 2: Rows from elsewhere

- Import a CSV file.
- Count what came in.

## Module 3: Asking questions

- Filter and sort.
- Group and count.

## Module 4: Making it quick

- Read a query plan.
- Add an index.

## Module 5: Keeping it safe

- Back a database up while it is in use.
- Check its integrity.
`
