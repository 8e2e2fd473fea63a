package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

func mustText(t *testing.T, name string, data []byte) Doc {
	t.Helper()
	doc, err := Text(t.Context(), name, data)
	if err != nil {
		t.Fatalf("Text(%s): %v", name, err)
	}
	return doc
}

func wantIn(t *testing.T, s string, parts ...string) {
	t.Helper()
	at := 0
	for _, p := range parts {
		i := strings.Index(s[at:], p)
		if i < 0 {
			t.Fatalf("%q is missing, or out of order, in:\n%s", p, s)
		}
		at += i + len(p)
	}
}

const page = `<!doctype html><html><head><title>Running a service | Example Docs</title></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/a">Alpha</a></li><li><a href="/b">Beta</a></li></ul></nav>
<main><article><h1>Running a service<a class="headerlink" href="#running">¶</a></h1>
<p>A service is a program that the system starts and keeps alive for as long as the machine is up, and restarts when it fails.</p>
<h2 id="units">Unit files</h2>
<p>Each service has a <em>unit file</em>, described in the <a href="units.html#syntax">syntax guide</a>, with three sections that are read in order.</p>
<ul><li>Unit</li><li>Service</li><li>Install</li></ul>
<table><thead><tr><th>Key</th><th>Meaning</th></tr></thead><tbody><tr><td>ExecStart</td><td>the command that is run when the service starts</td></tr></tbody></table>
<pre><code class="language-ini">[Service]
ExecStart=/usr/bin/app
</code></pre>
<p>After a change the manager has to read the files again, which the command above does not do by itself, so it is told to.</p>
<img src="data:image/png;base64,AAAA" alt="x"></article></main>
<footer><p>Copyright the authors</p></footer></body></html>`

func TestPageBecomesMarkdownWithItsStructure(t *testing.T) {
	t.Parallel()
	doc := mustText(t, "service.html", []byte(page))
	if doc.Kind != KindHTML || doc.Title != "Running a service" {
		t.Errorf("kind %q title %q", doc.Kind, doc.Title)
	}
	wantIn(t, doc.Markdown, "# Running a service\n", "## Unit files\n", "*unit file*", "[syntax guide](units.html#syntax)",
		"- Unit\n", "| Key | Meaning |", "| ExecStart | the command", "```ini\n[Service]\nExecStart=/usr/bin/app\n```")
	for _, no := range []string{"Copyright", "Alpha", "¶", "base64"} {
		if strings.Contains(doc.Markdown, no) {
			t.Errorf("%q is still there:\n%s", no, doc.Markdown)
		}
	}
	if strings.Count(doc.Markdown, "# Running a service") != 1 {
		t.Errorf("the title stands more than once:\n%s", doc.Markdown)
	}
}

func TestCharacterSetsAreDetected(t *testing.T) {
	t.Parallel()
	russian := "Служба запускается системой и работает до тех пор, пока машина включена. Файл службы состоит из трёх частей."
	japaneseText := "サービスはシステムによって起動され、マシンが動いている間は動き続けるプログラムです。設定ファイルは三つの部分からなります。"
	chinese := "服务是由系统启动并在机器运行期间保持运行的程序。服务文件由三个部分组成，按顺序读取。"
	enc := func(f func(string) (string, error), s string) []byte {
		out, err := f(s)
		if err != nil {
			t.Fatal(err)
		}
		return []byte(out)
	}
	cp1251 := charmap.Windows1251.NewEncoder().String
	sjis := japanese.ShiftJIS.NewEncoder().String
	gbk := simplifiedchinese.GBK.NewEncoder().String
	html := func(meta, body string) string {
		return "<html><head>" + meta + "<title>T</title></head><body><article><p>" + body + "</p></article></body></html>"
	}
	far := "<!--" + strings.Repeat("x", 3000) + "-->"
	for _, c := range []struct {
		name, media, file string
		data              []byte
		want              string
	}{
		{"header", "text/html; charset=windows-1251", "a.html", enc(cp1251, html("", russian)), russian},
		{"meta charset", "text/html", "a.html", enc(sjis, html(`<meta charset=shift_jis>`, japaneseText)), japaneseText},
		{"meta http-equiv", "", "a.html", enc(cp1251, html(`<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=windows-1251">`, russian)), russian},
		{"meta beyond the first kilobyte", "", "a.html", enc(gbk, html(far+`<meta charset="gbk">`, chinese)), chinese},
		{"xml declaration", "", "a.xhtml", append([]byte(`<?xml version="1.0" encoding="windows-1251"?>`), enc(cp1251, html("", russian))...), russian},
		{"nothing said, text file", "", "a.txt", enc(cp1251, russian), russian},
		{"nothing said, Markdown", "", "a.md", enc(sjis, strings.Repeat(japaneseText+"\n", 5)), japaneseText},
		{"utf-8 mark", "", "a.txt", []byte("\ufeff" + russian), russian},
		{"utf-16", "", "a.txt", enc(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String, russian), russian},
		{"a header that lies", "text/html; charset=utf-8", "a.html", enc(cp1251, html(`<meta charset="windows-1251">`, russian)), russian},
		{"latin 1", "", "a.txt", []byte("Le caf\xe9 est ouvert d\xe8s le matin, \xe0 c\xf4t\xe9 de l'\xe9glise."), "Le café est ouvert dès le matin, à côté de l'église."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doc, err := NewReader(Options{}).TextOf(t.Context(), c.file, c.media, c.data)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(doc.Markdown, c.want) {
				t.Errorf("got %q", doc.Markdown)
			}
			if strings.Contains(doc.Markdown, "\uFFFD") || strings.Contains(doc.Markdown, "\ufeff") {
				t.Errorf("left-over marks in %q", doc.Markdown)
			}
		})
	}
}

func TestTextThatCannotBeDecodedIsAnError(t *testing.T) {
	t.Parallel()
	// A lone 0xff and 0x81 mean nothing in UTF-8, Shift_JIS or windows-1252.
	_, err := Text(t.Context(), "odd.txt", bytes.Repeat([]byte("a\x81\x8d\x8f\x90\x9d"), 50))
	if err == nil || !strings.Contains(err.Error(), "odd.txt") || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("got %v", err)
	}
}

func TestTypesWithoutTextAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, want string }{
		{"a.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "PNG image"},
		{"a.md", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "PNG image"},
		{"a.jpg", "\xff\xd8\xff\xe0\x00\x10JFIF", "JPEG image"},
		{"a.zip", "PK\x03\x04\x14\x00\x00\x00", "ZIP archive"},
		{"a.docx", "PK\x03\x04\x14\x00\x06\x00", "Word document"},
		{"report", "PK\x03\x04\x14\x00\x06\x00.......word/document.xml", "Word document"},
		{"a.gz", "\x1f\x8b\x08\x00\x00", "gzip archive"},
		{"a", "\x7fELF\x02\x01\x01\x00", "ELF program"},
		{"a.db", "SQLite format 3\x00\x10\x00", "SQLite database"},
		{"a.mp4", "\x00\x00\x00\x18ftypmp42\x00", "MP4 video"},
		{"a.txt", "some\x00thing", "binary file"},
	} {
		_, err := Text(t.Context(), c.name, []byte(c.data))
		var u *UnsupportedError
		if !errors.As(err, &u) || u.Type != c.want || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	for _, ok := range []string{"ID3 tags are blocks at a file's beginning.", "MZ is how programs begin.", "BM25 ranks documents.", "RIFF is a container."} {
		if doc := mustText(t, "a.txt", []byte(ok)); strings.TrimSpace(doc.Markdown) != ok {
			t.Errorf("%q became %q", ok, doc.Markdown)
		}
	}
}

// makePDF writes a PDF with one text stream a page.
func makePDF(title string, pages ...string) []byte {
	var b bytes.Buffer
	var at []int
	object := func(s string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), s)
	}
	b.WriteString("%PDF-1.4\n")
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 5+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object(fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), len(pages)))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	object(fmt.Sprintf("<< /Title (%s) >>", title))
	for i, p := range pages {
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", 6+2*i))
		object(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(p), p))
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, o := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer << /Size %d /Root 1 0 R /Info 4 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, xref)
	return b.Bytes()
}

func manual() []byte {
	return makePDF("The pump manual",
		"BT /F1 24 Tf 72 720 Td (Starting the pump) Tj /F1 11 Tf 0 -40 Td (Open the valve before the pump is switched on, because a dry) Tj 0 -13 Td (pump over-) Tj 0 -13 Td (heats within a minute.) Tj 0 -30 Td (Then wait for the green lamp.) Tj ET",
		"BT /F1 15 Tf 72 720 Td (Pressure limits) Tj /F1 11 Tf 0 -30 Td (The pressure stays below 6 bar.) Tj ET")
}

func TestPDFIsReadWithItsHeadings(t *testing.T) {
	t.Parallel()
	doc := mustText(t, "pump.pdf", manual())
	if doc.Kind != KindPDF || doc.Title != "The pump manual" || doc.Cut != "" {
		t.Errorf("kind %q, title %q, cut %q", doc.Kind, doc.Title, doc.Cut)
	}
	want := "# Starting the pump\n\nOpen the valve before the pump is switched on, because a dry\npump overheats within a minute.\n\nThen wait for the green lamp.\n\n## Pressure limits\n\nThe pressure stays below 6 bar.\n"
	if doc.Markdown != want {
		t.Errorf("got:\n%s\nwant:\n%s", doc.Markdown, want)
	}
}

func TestPDFBytesUnderAnotherNameNeverReachTheText(t *testing.T) {
	t.Parallel()
	doc, err := NewReader(Options{}).TextOf(t.Context(), "http://example.org/paper", "text/html", manual())
	if err != nil || doc.Kind != KindPDF || strings.Contains(doc.Markdown, "%PDF") {
		t.Errorf("got %+v, %v", doc, err)
	}
}

func TestDamagedPDFsAreErrors(t *testing.T) {
	t.Parallel()
	whole := manual()
	for name, data := range map[string][]byte{
		"header only": []byte("%PDF-1.7\n"),
		"garbage":     append([]byte("%PDF-1.4\n"), bytes.Repeat([]byte("\x00\xff obj stream "), 200)...),
		"no text":     makePDF("x", "0 0 100 100 re f"),
	} {
		if doc, err := Text(t.Context(), "a.pdf", data); err == nil || !strings.Contains(err.Error(), "a.pdf") {
			t.Errorf("%s: got %+v, %v", name, doc, err)
		}
	}
	r := NewReader(Options{})
	r.pdf.interpret = true
	defer func() { _ = r.Close() }()
	for cut := 9; cut < len(whole); cut += 173 { // no panic, no hang
		_, _ = r.Text(t.Context(), "cut.pdf", whole[:cut])
	}
}

func TestReaderKeepsTheEngineAndBoundsPages(t *testing.T) {
	t.Parallel()
	r := NewReader(Options{MaxPages: 1})
	r.pdf.interpret = true
	for range 3 {
		doc, err := r.Text(t.Context(), "pump.pdf", manual())
		if err != nil {
			t.Fatal(err)
		}
		if doc.Cut != "only the first 1 of 2 pages are given" || strings.Contains(doc.Markdown, "Pressure") {
			t.Errorf("got %+v", doc)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Text(t.Context(), "pump.pdf", manual()); err == nil {
		t.Error("a closed reader reads")
	}
}

func TestPDFTimeIsBounded(t *testing.T) {
	t.Parallel()
	r := NewReader(Options{PDFTime: 1})
	r.pdf.interpret = true
	defer func() { _ = r.Close() }()
	if _, err := r.Text(t.Context(), "pump.pdf", manual()); err == nil {
		t.Error("no error")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if _, err := r.Text(ctx, "pump.pdf", manual()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestNotebookBecomesProseAndCode(t *testing.T) {
	t.Parallel()
	nb := `{"nbformat":4,"metadata":{"language_info":{"name":"Python"}},"cells":[
	{"cell_type":"markdown","source":["# Fitting a line\n","\n","Two points suffice."]},
	{"cell_type":"code","source":"print('` + "```" + `')\n","outputs":[{"output_type":"stream","name":"stdout","text":["` + "```" + `\n"]},{"output_type":"display_data","data":{"image/png":"AAAA","text/plain":["<Figure>"]}}]},
	{"cell_type":"code","source":["1/0"],"outputs":[{"output_type":"error","ename":"ZeroDivisionError","evalue":"division by zero","traceback":["\u001b[0;31m"]}]},
	{"cell_type":"code","source":["loop()"],"outputs":[{"output_type":"stream","text":"` + strings.Repeat("spam ", 1000) + `"}]}]}`
	doc := mustText(t, "fit.ipynb", []byte(nb))
	if doc.Title != "Fitting a line" || doc.Kind != KindNotebook {
		t.Errorf("%+v", doc)
	}
	wantIn(t, doc.Markdown, "# Fitting a line\n\nTwo points suffice.", "````python\nprint('```')\n````", "Output:\n\n````text\n```\n<Figure>\n````",
		"ZeroDivisionError: division by zero", "Output (the first 2000 of 4999 bytes):")
	if strings.Contains(doc.Markdown, "AAAA") || len(doc.Markdown) > 4000 {
		t.Errorf("too much: %d bytes", len(doc.Markdown))
	}
	for _, bad := range []string{"", "[]", "{}", `{"cells":3}`, `{"cells":[{"source":`} {
		if _, err := Text(t.Context(), "bad.ipynb", []byte(bad)); err == nil || !strings.Contains(err.Error(), "bad.ipynb") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestTableOfValues(t *testing.T) {
	t.Parallel()
	doc := mustText(t, "prices.csv", []byte("name;price;note\r\nTea|green;3,50;\"two\nlines\"\r\nMilk;1,20\r\n"))
	want := "| name | price | note |\n| --- | --- | --- |\n| Tea\\|green | 3,50 | two lines |\n| Milk | 1,20 |  |\n"
	if doc.Markdown != want || doc.Title != "prices" {
		t.Errorf("title %q, got\n%s", doc.Title, doc.Markdown)
	}
	long := mustText(t, "long.csv", []byte("a,b\n"+strings.Repeat("1,2\n", maxRows+9)))
	if long.Cut != fmt.Sprintf("only the first %d of %d rows are given", maxRows, maxRows+10) {
		t.Errorf("cut: %q", long.Cut)
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, want string }{
		{"01-first_steps.md", "no heading here", "first steps"},
		{"a.md", "---\ntitle: \"Read me: now\"\n---\n# Other\n", "Read me: now"},
		{"a.md", "\ufeff---\r\ntitle: Windows\r\n---\r\ntext\r\n", "Windows"},
		{"a.md", "+++\ntitle = 'Toml'\n+++\n# Other\n", "Toml"},
		{"a.md", "```sh\n# not a heading\n```\n\n## Second\n\n# First **one**\n", "First one"},
		{"a.md", "Under\n=====\n", "Under"},
		{"a.txt", "\n  A plain beginning\nmore", "A plain beginning"},
		{"x/main.go", "package main\n", "main.go"},
		{".md", "", ".md"},
	} {
		if doc := mustText(t, c.name, []byte(c.data)); doc.Title != c.want {
			t.Errorf("%s %q: title %q, want %q", c.name, c.data, doc.Title, c.want)
		}
	}
}

func TestSourceCannotLeaveItsBlock(t *testing.T) {
	t.Parallel()
	doc := mustText(t, "doc.go", []byte("// ```\n// ````\npackage doc\n"))
	if want := "`````go\n// ```\n// ````\npackage doc\n`````\n"; doc.Markdown != want {
		t.Errorf("got %q", doc.Markdown)
	}
}

func TestPageHiddenUntilAScriptRunsIsRead(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("<p>The article was sent whole and waits for a script that shows it to the reader of the page.</p>", 6)
	doc := mustText(t, "ssr.html", []byte(`<html><body><p>Loading</p><div hidden id="S:1"><h2>Streamed</h2>`+body+`</div></body></html>`))
	wantIn(t, doc.Markdown, "Streamed", "The article was sent whole")
}

func TestHostilePagesAreBounded(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]string{
		"deep":     strings.Repeat("<div>", 20000) + "deep text" + strings.Repeat("</div>", 20000),
		"tables":   strings.Repeat("<table><tr><td>", 150) + "deep text",
		"unclosed": strings.Repeat("<b><i><a href=x>", 3000) + "deep text",
		"many":     "<p>deep text</p>" + strings.Repeat("<p>x</p>", 50000),
		"colspan":  `<table><tr><td colspan="1000000000" rowspan="1000000000">deep text</td></tr></table>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			doc, err := Text(ctx, "a.html", []byte(s))
			if err != nil || !strings.Contains(doc.Markdown, "deep text") {
				t.Errorf("%v: %.300s", err, doc.Markdown)
			}
		})
	}
}

func TestTooLargeIsAnErrorAndLongTextIsCut(t *testing.T) {
	t.Parallel()
	r := NewReader(Options{MaxBytes: 100, MaxText: 50})
	if _, err := r.Text(t.Context(), "big.txt", make([]byte, 101)); err == nil || !strings.Contains(err.Error(), "101 bytes") {
		t.Errorf("got %v", err)
	}
	doc, err := r.Text(t.Context(), "a.txt", []byte(strings.Repeat("й", 45)))
	if err != nil || doc.Cut == "" || len(doc.Markdown) > 50 || strings.Contains(doc.Markdown, "\uFFFD") {
		t.Errorf("got %+v, %v", doc, err)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a.html", []byte(page))
	f.Add("a.csv", []byte("a,b\n\"1,2\n"))
	f.Add("a.ipynb", []byte(`{"cells":[{"cell_type":"code","source":["x"],"outputs":[{"text":1}]}]}`))
	f.Add("a.md", []byte("---\ntitle: x\n---\n# y\n"))
	f.Add("a.txt", []byte("\xff\xfeh\x00i\x00"))
	f.Add("", []byte("<html><table><tr><td colspan=9><b"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if kindOf(name, "", data) == KindPDF || len(data) > 1<<16 {
			return // the engine has its own tests; starting it for each input takes too long
		}
		doc, err := Text(t.Context(), name, data)
		if err != nil {
			return
		}
		if doc.Title == "" || doc.Kind == "" || strings.ContainsAny(doc.Title, "\n\r") || strings.ContainsAny(doc.Markdown, "\r\x00") {
			t.Errorf("bad document: %+v", doc)
		}
	})
}
