package document

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The most of a table that is given.
const (
	maxRows    = 5000
	maxColumns = 60
	maxCell    = 1000 // bytes
)

// readCSV gives comma, semicolon, tab or bar separated values as a Markdown
// table whose first row is the heading.
func readCSV(name, text string) (Doc, error) {
	doc := Doc{Kind: KindCSV}
	comma := separator(name, text)
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord, r.TrimLeadingSpace = comma, true, -1, comma != '\t'
	var rows [][]string
	columns, left := 0, 0
	for {
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Doc{}, fmt.Errorf("reading the table: %w", err)
		}
		if len(rows) == maxRows {
			left++
			continue
		}
		columns = max(columns, len(rec))
		rows = append(rows, rec[:min(len(rec), maxColumns)])
	}
	if left > 0 {
		doc.Cut = fmt.Sprintf("only the first %d of %d rows are given", maxRows, maxRows+left)
	}
	if columns > maxColumns {
		doc.Cut = join(doc.Cut, fmt.Sprintf("only the first %d of %d columns are given", maxColumns, columns))
		columns = maxColumns
	}
	var b strings.Builder
	for i, rec := range rows {
		writeRow(&b, rec, columns)
		if i == 0 {
			b.WriteString("|" + strings.Repeat(" --- |", columns) + "\n")
		}
	}
	doc.Markdown = b.String()
	return doc, nil
}

func writeRow(b *strings.Builder, rec []string, columns int) {
	b.WriteByte('|')
	for i := range columns {
		cell := ""
		if i < len(rec) {
			cell = strings.NewReplacer("\\", "\\\\", "|", "\\|").Replace(oneLine(rec[i], maxCell))
		}
		b.WriteString(" " + cell + " |")
	}
	b.WriteByte('\n')
}

// separator finds what parts the columns: the candidate that occurs most in
// the first line, outside quotes.
func separator(name, text string) rune {
	if ext(name) == ".tsv" {
		return '\t'
	}
	counts := map[rune]int{}
	quoted := false
	for _, r := range text[:min(len(text), sniffLen)] {
		switch {
		case r == '"':
			quoted = !quoted
		case r == '\n' && !quoted && len(counts) > 0:
			return most(counts)
		case !quoted && strings.ContainsRune(",;\t|", r):
			counts[r]++
		}
	}
	return most(counts)
}

func most(counts map[rune]int) rune {
	best := ','
	for _, r := range ",;\t|" {
		if counts[r] > counts[best] {
			best = r
		}
	}
	return best
}
