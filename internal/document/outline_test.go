package document

import (
	"reflect"
	"testing"
)

func TestOutlineAndAnchors(t *testing.T) {
	t.Parallel()
	md := "intro\n\n# Guide\n\ntext\n\n## First *steps*: Go!\n\nbody\n\n```\n# no heading\n```\n\n### Даты и время\n\nd\n\n## First steps Go\n\nlast\n"
	got := Outline(md)
	var anchors []string
	for _, s := range got {
		anchors = append(anchors, s.Anchor)
	}
	want := []string{"guide", "first-steps-go", "даты-и-время", "first-steps-go-1"}
	if !reflect.DeepEqual(anchors, want) {
		t.Fatalf("anchors %q, want %q", anchors, want)
	}
	s, end, ok := Find(got, "First Steps: Go!")
	if !ok || md[s.Start:end] != "## First *steps*: Go!\n\nbody\n\n```\n# no heading\n```\n\n### Даты и время\n\nd\n\n" {
		t.Errorf("found %v %q", ok, md[s.Start:end])
	}
	if last, end, ok := Find(got, "first-steps-go-1"); !ok || md[last.Body:end] != "\nlast\n" && md[last.Body:end] != "last\n" {
		t.Errorf("found %v %q", ok, md[last.Body:end])
	}
	if _, _, ok := Find(got, "nowhere"); ok {
		t.Error("found what is not there")
	}
}

func TestLinksOfADocument(t *testing.T) {
	t.Parallel()
	got := Links("See [the *first* guide](a/b.md#x), <https://example.org/z>, ![no](i.png), [ref][r] and https://example.org/bare.\n\n```\n[code](no.md)\n```\n\n[r]: ../up.md\n")
	want := []Link{{"the first guide", "a/b.md#x"}, {"https://example.org/z", "https://example.org/z"}, {"ref", "../up.md"}, {"https://example.org/bare", "https://example.org/bare"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}
