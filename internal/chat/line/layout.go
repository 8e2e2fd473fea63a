package line

import "strings"

// layout is a text laid out in rows of a terminal.
type layout struct {
	rows     []string
	row, col int // of the cursor
}

// lay breaks a text into rows of at most width columns. The first row begins
// with prompt, each line after it with more. Rows are never left to the
// terminal to break, so that it is always known where the cursor is.
func lay(prompt, more string, text []rune, pos, width int) layout {
	width = max(width, 4)
	l := layout{}
	var b strings.Builder
	col := 0
	put := func(s string) {
		for _, r := range s {
			w := ColumnsOf(r)
			if col+w > width {
				l.rows = append(l.rows, b.String())
				b.Reset()
				col = 0
			}
			b.WriteRune(r)
			col += w
		}
	}
	put(prompt)
	for i := 0; ; i++ {
		if i == pos {
			if col == width {
				l.rows = append(l.rows, b.String())
				b.Reset()
				col = 0
			}
			l.row, l.col = len(l.rows), col
		}
		if i >= len(text) {
			break
		}
		switch r := text[i]; r {
		case '\n':
			l.rows = append(l.rows, b.String())
			b.Reset()
			col = 0
			put(more)
		case '\t':
			put(strings.Repeat(" ", tabWidth))
		default:
			put(string(r))
		}
	}
	l.rows = append(l.rows, b.String())
	return l
}

// seen gives at most height rows around the cursor, and the cursor's row among
// them.
func (l layout) seen(height int) ([]string, int) {
	height = max(height, 1)
	if len(l.rows) <= height {
		return l.rows, l.row
	}
	top := min(max(l.row-height/2, 0), len(l.rows)-height)
	return l.rows[top : top+height], l.row - top
}
