package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"towpath/internal/markdown"
)

var (
	code    = regexp.MustCompile("(?ms)^(`{3,})[^`\n]*\n.*?^`{3,}\\s*$|`[^`\n]*`")
	target  = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	element = regexp.MustCompile(`(?i)<(?:a|img)\s[^>]*(?:href|src)="([^"]+)"`)
)

// TestLinksLeadSomewhere follows every link of every page: the file is there,
// and so is the heading that the link names.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	pages := []string{filepath.Join("..", "README.md"), filepath.Join("..", "CHANGELOG.md"), filepath.Join("..", "ARCHITECTURE.md")}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if err == nil && strings.HasSuffix(p, ".md") {
			pages = append(pages, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, page := range pages {
		text := code.ReplaceAllString(read(t, page), "")
		for _, m := range append(target.FindAllStringSubmatch(text, -1), element.FindAllStringSubmatch(text, -1)...) {
			links++
			if why := broken(t, page, m[1]); why != "" {
				t.Errorf("%s: %s: %s", page, m[1], why)
			}
		}
	}
	if links < 30 {
		t.Errorf("%d links were found", links)
	}
}

// TestIndexNamesEveryPage keeps the index whole.
func TestIndexNamesEveryPage(t *testing.T) {
	t.Parallel()
	index := read(t, "README.md")
	for _, pattern := range []string{"*.md", "reference/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pages {
			if p != "README.md" && !strings.Contains(index, "]("+filepath.ToSlash(p)+")") {
				t.Errorf("docs/README.md does not name %s", p)
			}
		}
	}
}

// broken says why a link leads nowhere. Addresses of the web are not asked.
func broken(t *testing.T, page, link string) string {
	t.Helper()
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return ""
	}
	file, anchor, _ := strings.Cut(link, "#")
	at := page
	if file != "" {
		at = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
	}
	if _, err := os.Stat(at); err != nil {
		return "there is no such file"
	}
	if anchor == "" {
		return ""
	}
	for _, b := range markdown.Parse([]byte(read(t, at))).Blocks {
		if b.Kind == markdown.Heading && anchorOf(markdown.Plain(b.Title)) == anchor {
			return ""
		}
	}
	return "there is no such heading"
}

// anchorOf is the address that a heading has on a rendered page.
func anchorOf(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}
