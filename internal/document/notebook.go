package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// The most of a notebook that is given.
const (
	maxCells  = 2000
	maxOutput = 2000 // bytes of one cell's outputs
)

// notebook is the part of Jupyter's format that holds text. Format 4 has
// cells; format 3 has them in worksheets.
type notebook struct {
	Cells      []cell `json:"cells"`
	Worksheets []struct {
		Cells []cell `json:"cells"`
	} `json:"worksheets"`
	Metadata struct {
		Title      string `json:"title"`
		Kernelspec struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
		LanguageInfo struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
}

type cell struct {
	Type    string   `json:"cell_type"`
	Source  lines    `json:"source"`
	Input   lines    `json:"input"` // format 3
	Level   int      `json:"level"` // of a heading, format 3
	Outputs []output `json:"outputs"`
}

type output struct {
	Type   string           `json:"output_type"`
	Text   lines            `json:"text"`
	Data   map[string]lines `json:"data"`
	Name   string           `json:"ename"`
	Value  string           `json:"evalue"`
	Stream string           `json:"name"`
}

// lines is text that stands as one string or as a list of them. Anything else
// is no text.
type lines string

// UnmarshalJSON takes a string or a list of strings.
func (l *lines) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*l = lines(s)
		return nil
	}
	var list []string
	if json.Unmarshal(data, &list) == nil {
		*l = lines(strings.Join(list, ""))
	}
	return nil
}

// readNotebook gives a notebook's cells in order: prose as it is, code and
// outputs in code blocks.
func readNotebook(text string) (Doc, error) {
	var nb notebook
	if err := json.Unmarshal([]byte(text), &nb); err != nil {
		return Doc{}, fmt.Errorf("it is not a notebook: %w", err)
	}
	cells := nb.Cells
	for _, w := range nb.Worksheets {
		cells = append(cells, w.Cells...)
	}
	if len(cells) == 0 {
		return Doc{}, errors.New("it is not a notebook: it has no cells")
	}
	doc := Doc{Kind: KindNotebook, Title: nb.Metadata.Title}
	if len(cells) > maxCells {
		doc.Cut = fmt.Sprintf("only the first %d of %d cells are given", maxCells, len(cells))
		cells = cells[:maxCells]
	}
	lang := nb.Metadata.LanguageInfo.Name
	if lang == "" {
		lang = nb.Metadata.Kernelspec.Language
	}
	lang = strings.ToLower(oneLine(strings.ReplaceAll(lang, "`", ""), 20))
	var parts []string
	for _, c := range cells {
		if p := strings.TrimSpace(c.markdown(lang)); p != "" {
			parts = append(parts, p)
		}
	}
	doc.Markdown = strings.Join(parts, "\n\n")
	if doc.Title == "" {
		doc.Title = firstHeading(doc.Markdown)
	}
	return doc, nil
}

func (c cell) markdown(lang string) string {
	src := string(c.Source)
	switch c.Type {
	case "code":
		if src == "" {
			src = string(c.Input)
		}
		if strings.TrimSpace(src) == "" {
			return ""
		}
		return fence(lang, src) + c.outputs()
	case "heading":
		return strings.Repeat("#", min(max(c.Level, 1), 6)) + " " + oneLine(src, 200)
	}
	return src
}

var ansi = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// outputs gives what a cell printed, as one bounded block.
func (c cell) outputs() string {
	var b strings.Builder
	for _, o := range c.Outputs {
		switch {
		case o.Name != "":
			b.WriteString(o.Name + ": " + o.Value + "\n")
		case o.Text != "":
			b.WriteString(string(o.Text))
		case o.Data["text/plain"] != "":
			b.WriteString(string(o.Data["text/plain"]) + "\n")
		}
	}
	text := strings.TrimSpace(ansi.ReplaceAllString(b.String(), ""))
	if text == "" {
		return ""
	}
	note := "Output:"
	if len(text) > maxOutput {
		note = fmt.Sprintf("Output (the first %d of %d bytes):", maxOutput, len(text))
		text = cutAt(text, maxOutput)
	}
	return "\n" + note + "\n\n" + fence("text", text)
}
