package workspace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"towpath/internal/markdown"
)

// ItemList is what a for-each runs over.
type ItemList struct {
	Items  []Item
	How    string   // how they were found: `headings that begin with "module"`, "files of notes/*.md"
	Passed []string // what was passed over: "line 12: ## Summary"
}

// maxItems bounds a for-each.
const maxItems = 10000

// MissingSourceError says that the source of a for-each is not there.
type MissingSourceError struct {
	Stage    *Stage
	Resolved Resolved
}

// Error names the source and who makes it.
func (e *MissingSourceError) Error() string {
	s := fmt.Sprintf("%s:%d: the source of For each is not there: %s", e.Stage.Contract.Path, e.Stage.Contract.ForEach.Line, e.Resolved.Path)
	if e.Resolved.Maker != nil && e.Resolved.Maker != e.Stage {
		return s + "; run " + e.Resolved.Maker.Name + " first"
	}
	return s + "; write it, or mend the path"
}

// Items reads the items of a stage's for-each. A stage without one and a
// source without items are errors; a *MissingSourceError says that the source
// is yet to be made, an *OutsideError that it is refused.
func (w *Workspace) Items(fsys fs.FS, st *Stage) (ItemList, error) {
	fe := st.Contract.ForEach
	if fe == nil {
		return ItemList{}, fmt.Errorf("%s has no For each section", st.Contract.Path)
	}
	res, err := w.Resolve(fsys, st, fe.Source)
	if err != nil {
		return ItemList{}, err
	}
	if res.Missing {
		return ItemList{}, &MissingSourceError{Stage: st, Resolved: res}
	}
	if _, glob := globOf(fe.Source.Written); glob || len(res.Files) != 1 || isFolder(fsys, res.Path) {
		return w.fileItems(fsys, res)
	}
	src, err := fs.ReadFile(fsys, res.Files[0])
	if err != nil {
		return ItemList{}, fmt.Errorf("read the source of For each: %w", err)
	}
	if line, what, ok := readable(src); !ok {
		return ItemList{}, encodingProblem(res.Files[0], line, what)
	}
	first := 0
	if res.Input.Section != "" {
		text, line, ok := SectionOf(src, res.Input.Section)
		if !ok {
			return ItemList{}, fmt.Errorf("%s:%d: %s has no section %q", st.Contract.Path, fe.Line, w.Display(res.Files[0]), res.Input.Section)
		}
		src, first = []byte(text), line-1
	}
	list, err := ItemsOf(src, res.Files[0], fe.Word)
	if err != nil {
		return ItemList{}, fmt.Errorf("%s:%d: %w", st.Contract.Path, fe.Line, err)
	}
	for i := range list.Items {
		if list.Items[i].Line > 0 {
			list.Items[i].Line += first
		}
	}
	return list, nil
}

func isFolder(fsys fs.FS, p string) bool {
	_, info, err := newTree(fsys).real(p)
	return err == nil && info.IsDir()
}

func (w *Workspace) fileItems(fsys fs.FS, res Resolved) (ItemList, error) {
	list := ItemList{How: "files of " + w.Display(res.Path)}
	for i, f := range res.Files {
		base := path.Base(f)
		title := strings.TrimSuffix(base, path.Ext(base))
		if title == "" {
			title = base
		}
		it := Item{N: i + 1, Title: title, File: f}
		src, err := fs.ReadFile(fsys, f)
		if err != nil {
			return ItemList{}, fmt.Errorf("read an item of For each: %w", err)
		}
		if utf8.Valid(src) && bytes.IndexByte(src, 0) < 0 {
			it.Text = markdown.Normalise(src)
		}
		list.Items = append(list.Items, it)
	}
	if len(list.Items) == 0 {
		return list, fmt.Errorf("%s holds no files", w.Display(res.Path))
	}
	return list, nil
}

// ItemsOf finds the items in the text of a source: the elements of a JSON
// array; else the headings that begin with the item's word; else the headings
// of the shallowest level that occurs at least twice; else the top-level list
// items. file is the tree path that each item is given. No item is an error.
func ItemsOf(src []byte, file, word string) (ItemList, error) {
	var list ItemList
	if trimmed := bytes.TrimSpace(bytes.TrimPrefix(src, []byte("\ufeff"))); strings.HasSuffix(strings.ToLower(file), ".json") || bytes.HasPrefix(trimmed, []byte("[")) && json.Valid(trimmed) {
		l, err := jsonItems(trimmed, word)
		if err != nil {
			return list, err
		}
		list = l
	} else {
		list = textItems(markdown.Parse(src), word)
	}
	if len(list.Items) == 0 {
		what := "a heading of one level twice, or a list"
		if word != "" {
			what = fmt.Sprintf("a heading that begins with %q, %s", word, what)
		}
		return list, fmt.Errorf("%s has no items: it needs %s", file, what)
	}
	if len(list.Items) > maxItems {
		return list, fmt.Errorf("%s has %d items, more than %d", file, len(list.Items), maxItems)
	}
	for i := range list.Items {
		list.Items[i].N, list.Items[i].File = i+1, file
	}
	return list, nil
}

func jsonItems(src []byte, word string) (ItemList, error) {
	list := ItemList{How: "elements of a JSON array"}
	var elems []json.RawMessage
	if err := json.Unmarshal(src, &elems); err != nil {
		var obj map[string]json.RawMessage
		if json.Unmarshal(src, &obj) != nil {
			return list, fmt.Errorf("the source is not valid JSON: %w", err)
		}
		for _, key := range []string{word + "s", word, "items"} {
			if raw, ok := obj[key]; ok && key != "" && json.Unmarshal(raw, &elems) == nil {
				list.How = fmt.Sprintf("elements of the JSON array %q", key)
				break
			}
		}
		if elems == nil {
			return list, fmt.Errorf("the source is JSON without an array at its top")
		}
	}
	for i, e := range elems {
		list.Items = append(list.Items, Item{Title: jsonTitle(e, i), Text: string(e)})
	}
	for i := range list.Items {
		var s string
		if json.Unmarshal(elems[i], &s) == nil {
			list.Items[i].Text = s
		}
	}
	return list, nil
}

func jsonTitle(e json.RawMessage, i int) string {
	var s string
	if json.Unmarshal(e, &s) == nil {
		return markdown.Plain(firstLine(s))
	}
	var obj map[string]json.RawMessage
	if json.Unmarshal(e, &obj) == nil {
		for _, key := range []string{"title", "name", "heading", "id", "slug", "question", "text"} {
			if json.Unmarshal(obj[key], &s) == nil && s != "" {
				return markdown.Plain(firstLine(s))
			}
		}
		return fmt.Sprintf("%d", i+1)
	}
	return string(e)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

func textItems(d *markdown.Doc, word string) ItemList {
	var heads []markdown.Block
	for _, b := range d.Blocks {
		if b.Kind == markdown.Heading {
			heads = append(heads, b)
		}
	}
	if word != "" {
		if chosen := byWord(d, heads, word); len(chosen) > 0 {
			return headingItems(d, heads, chosen, fmt.Sprintf("headings that begin with %q", word))
		}
	}
	count := map[int]int{}
	for _, h := range heads {
		count[h.Level]++
	}
	for level := 1; level <= 6; level++ {
		if count[level] < 2 {
			continue
		}
		var chosen []markdown.Block
		for _, h := range heads {
			if h.Level == level {
				chosen = append(chosen, h)
			}
		}
		return headingItems(d, heads, chosen, fmt.Sprintf("headings of level %d", level))
	}
	return listItems(d)
}

// byWord gives the headings that begin with the word. One that lies below
// another is part of it, unless the outer one holds several: then the outer
// one is the title of them all.
func byWord(d *markdown.Doc, heads []markdown.Block, word string) []markdown.Block {
	var fits []markdown.Block
	for _, h := range heads {
		if beginsWith(h.Title, word) {
			fits = append(fits, h)
		}
	}
	var out []markdown.Block
	for i := 0; i < len(fits); i++ {
		end := blockEnd(d, heads, fits[i])
		j := i + 1
		for j < len(fits) && fits[j].Start < end {
			j++
		}
		inner := fits[i+1 : j]
		if len(inner) >= 2 && !hasDigit(fits[i].Title) && sameLevel(inner) {
			out = append(out, inner...)
		} else {
			out = append(out, fits[i])
		}
		i = j - 1
	}
	return out
}

func sameLevel(b []markdown.Block) bool {
	for _, x := range b {
		if x.Level != b[0].Level {
			return false
		}
	}
	return true
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// beginsWith compares words, ignoring marks, numbering, emoji, case and a
// plural s in the contract.
func beginsWith(title, word string) bool {
	t := fold(trimNumbering(strings.TrimFunc(markdown.Plain(title), edge)))
	w := fold(word)
	for _, w := range []string{w, strings.TrimSuffix(w, "s")} {
		rest, ok := strings.CutPrefix(t, w)
		if !ok || w == "" {
			continue
		}
		r, _ := utf8.DecodeRuneInString(rest)
		if rest == "" || !unicode.IsLetter(r) && r != '\'' {
			return true
		}
	}
	return false
}

func blockEnd(d *markdown.Doc, heads []markdown.Block, h markdown.Block) int {
	for _, n := range heads {
		if n.Start > h.Start && n.Level <= h.Level {
			return n.Start
		}
	}
	return len(d.Text)
}

func headingItems(d *markdown.Doc, heads, chosen []markdown.Block, how string) ItemList {
	list := ItemList{How: how}
	ends := make([]int, len(chosen))
	for i, h := range chosen {
		ends[i] = blockEnd(d, heads, h)
		list.Items = append(list.Items, Item{Title: markdown.Plain(h.Title), Line: h.Line,
			Text: strings.TrimRight(d.Slice(h.Start, ends[i]), " \t\n") + "\n"})
	}
	first := chosen[0].Start
	if s := strings.TrimSpace(d.Slice(len(d.Front), first)); s != "" && !strings.HasPrefix(s, "#") {
		list.Passed = append(list.Passed, fmt.Sprintf("line %d: text before the first item", d.LineOf(len(d.Front))+strings.Count(leadingBlank(d.Slice(len(d.Front), first)), "\n")))
	}
	for _, h := range heads {
		inside := false
		for i, c := range chosen {
			inside = inside || h.Start >= c.Start && h.Start < ends[i]
		}
		if !inside {
			list.Passed = append(list.Passed, fmt.Sprintf("line %d: %s %s", h.Line, strings.Repeat("#", h.Level), markdown.Plain(h.Title)))
		}
	}
	return list
}

func leadingBlank(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, " \t\n"))]
}

func listItems(d *markdown.Doc) ItemList {
	list := ItemList{How: "list items"}
	for _, b := range d.Blocks {
		if b.Kind != markdown.List {
			if s := strings.TrimSpace(d.Slice(b.Start, b.End)); s != "" && b.Kind != markdown.HTML && b.Kind != markdown.Rule {
				list.Passed = append(list.Passed, fmt.Sprintf("line %d: %s", b.Line, shorten(firstLine(s))))
			}
			continue
		}
		for _, it := range b.Items {
			title := plain(firstLine(it.Text))
			text := strings.TrimRight(d.Slice(it.Start, it.End), " \t\n")
			if title == "" && strings.Trim(strings.TrimSpace(text), "-*+0123456789.)[] ") == "" {
				continue
			}
			list.Items = append(list.Items, Item{Title: markdown.Plain(title), Line: it.Line, Text: text + "\n"})
		}
	}
	return list
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return s
}
