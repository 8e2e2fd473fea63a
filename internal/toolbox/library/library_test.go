package library

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"towpath/internal/document"
)

// books makes a library of files in a folder of its own.
func books(t *testing.T, files map[string]string) *Library {
	t.Helper()
	return openAt(t, folderOf(t, files), t.TempDir())
}

func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, dir, name, text)
	}
	return dir
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func openAt(t *testing.T, dir, cache string) *Library {
	t.Helper()
	r := document.NewReader(document.Options{})
	l, err := Open(Options{Folder: dir, Cache: cache, Reader: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	})
	return l
}

func addresses(t *testing.T, l *Library, query string) []string {
	t.Helper()
	hits, err := l.Search(t.Context(), query, 5)
	if err != nil {
		t.Fatalf("Search(%q): %v", query, err)
	}
	out := []string{}
	for _, h := range hits {
		out = append(out, h.Address)
	}
	return out
}

func shelf() map[string]string {
	return map[string]string{
		"guide/install.md": "# Installing the server\n\nDownload the package first.\n\n## First steps\n\nStart the daemon with `systemctl start orca`. It listens on port 8090.\n\n## Removing it\n\nDelete the package and its settings.\n",
		"guide/backup.md":  "# Backups\n\nA backup copies the whole database while it is being written.\n\n## Restoring\n\nStop the daemon, then restore the newest copy.\n",
		"page.html":        "<html><head><title>Time zones</title></head><body><article><h1>Time zones</h1><p>Dates are stored in universal time, and every reader converts them to the zone of its own place.</p></article></body></html>",
		"служба.txt":       "Служба запускается системой. Настройки службы лежат в одном файле.",
		"ja.md":            "# 設定ファイル\n\nサービスはシステムによって起動され、設定ファイルを読み込みます。\n",
		"code/pump.py":     "def open_valve(pressure):\n    return pressure < 6\n",
		"nb.ipynb":         `{"nbformat":4,"cells":[{"cell_type":"markdown","source":"# Curve fitting\n\nLeast squares."}]}`,
	}
}

func TestSearchFindsThePlace(t *testing.T) {
	t.Parallel()
	l := books(t, shelf())
	for query, want := range map[string]string{
		"which port does the server listen on?":       "library:guide/install.md#first-steps",
		"restored copies":                             "library:guide/backup.md#restoring",
		"How do I start the daemon?":                  "library:guide/install.md#first-steps",
		"database backup":                             "library:guide/backup.md",
		"timezone universal time":                     "library:page.html",
		"настройка служб":                             "library:служба.txt",
		"запуск службы":                               "library:служба.txt",
		"設定ファイル":                                      "library:ja.md",
		"システムの起動":                                     "library:ja.md",
		"open_valve":                                  "library:code/pump.py",
		"least squares curve":                         "library:nb.ipynb",
		`"newest copy"`:                               "library:guide/backup.md#restoring",
		"systemctl start orca":                        "library:guide/install.md#first-steps",
		"download packages":                           "library:guide/install.md",
		"what are the main steps to remove a package": "library:guide/install.md#removing-it",
	} {
		if got := addresses(t, l, query); len(got) == 0 || got[0] != want {
			t.Errorf("%q: got %q, want %q first", query, got, want)
		}
	}
}

func TestSearchTellsWholeFromPartialAnswers(t *testing.T) {
	t.Parallel()
	l := books(t, shelf())
	hits, err := l.Search(t.Context(), "restore unicorn", 5)
	if err != nil || len(hits) == 0 || hits[0].All {
		t.Errorf("got %+v, %v", hits, err)
	}
	hits, err = l.Search(t.Context(), "restore newest copy", 5)
	if err != nil || len(hits) == 0 || !hits[0].All || hits[0].Title != "Backups > Restoring" || hits[0].Snippet != "Stop the daemon, then restore the newest copy." {
		t.Errorf("got %+v, %v", hits, err)
	}
	if hits, err = l.Search(t.Context(), "zygote xylophone", 5); err != nil || len(hits) != 0 {
		t.Errorf("got %+v, %v", hits, err)
	}
}

func TestOddQueriesNeverBreakTheSearch(t *testing.T) {
	t.Parallel()
	l := books(t, shelf())
	odd := []string{
		`"`, `""`, `"""`, `"backup`, `backup"`, `'backup'`, `back"up`, `AND`, `OR`, `NOT`, `NEAR(backup copy, 3)`, `backup AND`, `OR backup`,
		`NOT backup`, `backup*`, `*backup`, `*`, `^backup`, `title:backup`, `body : backup`, `{title body}: x`, `-backup`, `+backup +copy`,
		`(backup`, `backup)`, `((`, `))`, `()`, `[]`, `{}`, `a:b:c`, `a-b`, `--`, `;`, `; DROP TABLE docs; --`, `' OR 1=1 --`, `\`, `\\`, `\"`, "`backup`", `%`, `_`,
		`%s%d%n`, `$HOME`, `$(id)`, `<script>alert(1)</script>`, `&amp;`, `?`, `???`, `!`, `...`, `…`, `—`, `“backup”`, `«backup»`, `„backup“`, `don't`, `l'eau`,
		`C++`, `C#`, `.NET`, `node.js`, `go1.26`, `192.168.0.1`, `2026-11-30`, `1,234.5`, `user@example.org`, `https://example.org/a?b=c#d`, `/etc/passwd`, `..\..\x`,
		"\x00", "backup\x00copy", "\xff\xfe", "back\xffup", "\n", "a\nb", "\t", "\u200b", "\u202ebackup", "\ufeff", "é", "e\u0301", "ß", "İ", "ǅ", "🙂", "🙂 backup", "👩‍👩‍👧",
		"數", "中文 搜索", "ファイル", "ー", "ไทย", "한국어", "العربية", "עברית", "ё", "й", "Ї", "the", "the a an", "how to", "что это", strings.Repeat("backup ", 1000),
		strings.Repeat("x", 100000), strings.Repeat(`"`, 999), strings.Repeat("(", 999), strings.Repeat("a b c d ", 200), strings.Repeat("漢", 3000), "NULL", "nil", "{{item}}", `{"query": "backup"}`,
		"What are the steps that one has to take in order to restore a backup, and how long does it usually take, if the database is large?",
	}
	if len(odd) < 100 {
		t.Fatalf("only %d queries", len(odd))
	}
	for _, q := range odd {
		if _, err := l.Search(t.Context(), q, 5); err != nil && !errors.Is(err, ErrEmptyQuery) {
			t.Errorf("%.60q: %v", q, err)
		}
	}
	for _, q := range []string{"", "   ", "\n", `"`, "?!", "…", "*", "()", "🙂"} {
		if _, err := l.Search(t.Context(), q, 5); !errors.Is(err, ErrEmptyQuery) {
			t.Errorf("%q: got %v, want ErrEmptyQuery", q, err)
		}
	}
	for _, q := range []string{`backup"`, `"backup`, `(backup`, `backup)`, "`backup`", `{"query": "backup"}`, `title:backup`, "\u202ebackup", "back-ups"} {
		if q == "back-ups" {
			continue // parted by its writer: the words stand for themselves
		}
		if got := addresses(t, l, q); len(got) == 0 || !strings.HasPrefix(got[0], "library:guide/backup.md") {
			t.Errorf("%q: got %q", q, got)
		}
	}
}

func TestIndexFollowsTheFolder(t *testing.T) {
	t.Parallel()
	dir, cache := folderOf(t, shelf()), t.TempDir()
	l := openAt(t, dir, cache)
	rep, err := l.Refresh(t.Context())
	if err != nil || rep.Files != 7 || rep.Changed != 7 || rep.Removed != 0 || len(rep.Passed) != 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	put(t, dir, "guide/backup.md", "# Backups\n\nOnly zebras.\n")
	put(t, dir, "new.md", "An okapi.\n")
	if err := os.Remove(filepath.Join(dir, "nb.ipynb")); err != nil {
		t.Fatal(err)
	}
	if got := addresses(t, l, "zebras"); !slices.Equal(got, []string{"library:guide/backup.md"}) {
		t.Errorf("got %q", got)
	}
	if got := addresses(t, l, "okapi"); !slices.Equal(got, []string{"library:new.md"}) {
		t.Errorf("got %q", got)
	}
	if got := addresses(t, l, "restoring"); len(got) != 0 {
		t.Errorf("old text is still found: %q", got)
	}
	if got := addresses(t, l, "least squares"); len(got) != 0 {
		t.Errorf("a removed document is still found: %q", got)
	}
	again := openAt(t, dir, cache)
	if rep, err = again.Refresh(t.Context()); err != nil || rep.Changed != 0 || rep.Files != 7 {
		t.Errorf("a second process reads again: %+v, %v", rep, err)
	}
}

func TestChangeOfEqualSizeAndTimeIsSeen(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, map[string]string{"a.md": "one zebra\n"})
	l := openAt(t, dir, t.TempDir())
	if got := addresses(t, l, "zebra"); len(got) != 1 {
		t.Fatalf("got %q", got)
	}
	file := filepath.Join(dir, "a.md")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "a.md", "one okapi\n")
	if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if got := addresses(t, l, "okapi"); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

func TestOldDocumentsAreNotReadAgain(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, map[string]string{"a.md": "one zebra\n"})
	old := time.Now().Add(-time.Hour)
	file := filepath.Join(dir, "a.md")
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	r := document.NewReader(document.Options{})
	read := 0
	l, err := Open(Options{Folder: dir, Cache: t.TempDir(), Reader: r, Progress: func(done, total int) { read++ }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for range 3 {
		if got := addresses(t, l, "zebra"); len(got) != 1 {
			t.Fatalf("got %q", got)
		}
	}
	if read != 1 {
		t.Errorf("read %d times", read)
	}
}

func TestWhatIsNoDocumentIsPassedOver(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	put(t, outside, "secret.md", "the zebra secret\n")
	dir := folderOf(t, map[string]string{
		"a.md": "zebra\n", "a.md~": "zebra\n", ".a.md.swp": "zebra\n", "#a.md#": "zebra\n", "._a.md": "zebra\n", "4913": "zebra\n", "Thumbs.db": "zebra\n",
		".git/x.md": "zebra\n", ".hidden/x.md": "zebra\n", "node_modules/x/readme.md": "zebra\n", "pic.png": "\x89PNG\r\n\x1a\n\x00zebra", "a.kate-swp": "zebra\n",
	})
	for link, to := range map[string]string{"out.md": filepath.Join(outside, "secret.md"), "outdir": outside, "in.md": "a.md", "loop": ".", "dangling.md": "/nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	l := openAt(t, dir, t.TempDir())
	if got := addresses(t, l, "zebra"); !slices.Equal(got, []string{"library:a.md"}) {
		t.Errorf("got %q", got)
	}
	rep, err := l.Refresh(t.Context())
	if err != nil || rep.Files != 1 || !strings.Contains(strings.Join(rep.Passed, "\n"), "pic.png: it is a PNG image") {
		t.Errorf("%+v, %v", rep, err)
	}
	for _, address := range []string{"library:out.md", "library:outdir/secret.md", "library:dangling.md", "library:.git/x.md", "library:loop", "library:outdir"} {
		if page, err := l.Read(t.Context(), address); err == nil {
			t.Errorf("%s was read: %q", address, page.Markdown)
		}
	}
}

func TestAddressesNeverLeaveTheLibrary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "secret.txt", "secret")
	put(t, dir, "lib/a.md", "text")
	l := openAt(t, filepath.Join(dir, "lib"), t.TempDir())
	for _, a := range []string{
		"library:../../etc/passwd", "library:../secret.txt", "../secret.txt", "library:a/../../secret.txt", "library:%2e%2e/secret.txt", "library:..%2fsecret.txt",
		"library:%2E%2E%2Fsecret.txt", "library:/../secret.txt", "library://../secret.txt", "library:" + filepath.Join(dir, "secret.txt"), filepath.Join(dir, "secret.txt"),
		"library:./../secret.txt", "library:..", "library:.", "library:", "", "library:a.md/../../secret.txt", "file:///etc/passwd", "library:a.md\x00", "library:%00", "library:..\\secret.txt",
		"library:....//secret.txt", "library:" + strings.Repeat("../", 900) + "etc/passwd", "library:" + strings.Repeat("a/", 2000),
	} {
		if page, err := l.Read(t.Context(), a); err == nil {
			t.Errorf("%q was read: %q", a, page.Markdown)
		} else if strings.Contains(err.Error(), dir) && !strings.Contains(a, dir) {
			t.Errorf("%q: the error tells where the library lies: %v", a, err)
		}
	}
}

func TestReadTakesAddressesAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	l := books(t, map[string]string{
		"guide/install.md": "# Installing\n\n## First steps\n\nbody\n", "odd name (1) [x]#2 100%.md": "odd\n", "Ünï/Čo.md": "accents\n", "a%20b.md": "percent\n",
	})
	for address, want := range map[string]string{
		"library:guide/install.md": "library:guide/install.md", "guide/install.md": "library:guide/install.md", " <library:guide/install.md> ": "library:guide/install.md",
		"`library:guide/install.md`": "library:guide/install.md", "[the guide](library:guide/install.md#first-steps)": "library:guide/install.md#first-steps",
		"library:guide/install.md#First Steps": "library:guide/install.md#first-steps", "library://guide/install.md": "library:guide/install.md", "LIBRARY:Guide/Install.md": "library:guide/install.md",
		"library:/guide/./install.md#nowhere": "library:guide/install.md", `"library:guide/install.md"`: "library:guide/install.md",
		"library:odd%20name%20%281%29%20%5Bx%5D%232%20100%25.md": "library:odd%20name%20%281%29%20%5Bx%5D%232%20100%25.md",
		"library:Ünï/Čo.md": "library:Ünï/Čo.md", "library:a%2520b.md": "library:a%2520b.md",
	} {
		page, err := l.Read(t.Context(), address)
		if err != nil || page.Address.String() != want {
			t.Errorf("%q: got %q, %v", address, page.Address, err)
		}
	}
	for _, a := range mustAddresses(t, l) {
		if _, err := l.Read(t.Context(), a); err != nil {
			t.Errorf("its own address %q cannot be read: %v", a, err)
		}
	}
}

func mustAddresses(t *testing.T, l *Library) []string {
	t.Helper()
	all, err := l.Addresses(t.Context())
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	return all
}

func TestUnknownAddressNamesTheNearest(t *testing.T) {
	t.Parallel()
	l := books(t, shelf())
	_, err := l.Read(t.Context(), "library:guides/instalation.md")
	var none *NotFoundError
	if !errors.As(err, &none) || len(none.Nearest) == 0 || none.Nearest[0] != "library:guide/install.md" || !strings.Contains(err.Error(), "library:guide/install.md") {
		t.Errorf("got %v", err)
	}
	_, err = l.Read(t.Context(), "https://example.org/guide")
	var bad *AddressError
	if !errors.As(err, &bad) || bad.Scheme != "https" {
		t.Errorf("got %v", err)
	}
}

func TestResolveLinksOfADocument(t *testing.T) {
	t.Parallel()
	at := Address{Path: "guide/install.md"}
	for target, want := range map[string]string{
		"backup.md": "library:guide/backup.md", "../page.html#x": "library:page.html#x", "/code/a b.py": "library:code/a%20b.py", "#first-steps": "library:guide/install.md#first-steps",
		"a%20b.md?raw=1": "library:guide/a%20b.md", "library:x.md": "library:x.md", "./sub/../z.md": "library:guide/z.md",
	} {
		if got, ok := at.Resolve(target); !ok || got.String() != want {
			t.Errorf("%q: got %q %v, want %q", target, got, ok, want)
		}
	}
	for _, target := range []string{"https://example.org", "//example.org/x", "mailto:a@b.c", "../../up.md", "", "#", "javascript:alert(1)"} {
		if got, ok := at.Resolve(target); ok {
			t.Errorf("%q: got %q", target, got)
		}
	}
}

func TestDamagedIndexIsMadeAnew(t *testing.T) {
	t.Parallel()
	dir, cache := folderOf(t, shelf()), t.TempDir()
	if got := addresses(t, openAt(t, dir, cache), "restoring"); len(got) == 0 {
		t.Fatal("nothing found")
	}
	files, err := filepath.Glob(filepath.Join(cache, "library-*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if err := os.WriteFile(f, []byte(strings.Repeat("this is no index ", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := addresses(t, openAt(t, dir, cache), "restoring"); len(got) == 0 {
		t.Error("nothing found after the index was damaged")
	}
}

func TestBoundsOfTheLibrary(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, map[string]string{"a.md": "zebra\n", "b.md": "zebra\n", "c.md": "zebra\n", "big.md": strings.Repeat("zebra ", 100)})
	r := document.NewReader(document.Options{})
	l, err := Open(Options{Folder: dir, Cache: t.TempDir(), Reader: r, MaxFiles: 2, MaxBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	rep, err := l.Refresh(t.Context())
	if err != nil || rep.Files != 2 || len(rep.Passed) != 2 {
		t.Errorf("%+v, %v", rep, err)
	}
	if _, err := Open(Options{Folder: filepath.Join(dir, "nowhere"), Cache: t.TempDir(), Reader: r}); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v", err)
	}
	if _, err := Open(Options{Folder: filepath.Join(dir, "a.md"), Cache: t.TempDir(), Reader: r}); err == nil {
		t.Error("a file was opened as a library")
	}
}

func TestLongDocumentsHaveManyPlaces(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "Paragraph %d talks about nothing in particular.\n\n", i)
	}
	l := books(t, map[string]string{"long.txt": b.String() + "At the very end there is a zebra.\n", "short.md": "zebra stripes\n"})
	hits, err := l.Search(t.Context(), "zebra at the end", 5)
	if err != nil || len(hits) != 2 || hits[0].Address != "library:long.txt" || !strings.Contains(hits[0].Snippet, "there is a zebra") {
		t.Errorf("%+v, %v", hits, err)
	}
}

// indexProcess is what the test's own binary does as a second process.
const indexProcess = "LIBRARY_TEST_INDEX"

func TestMain(m *testing.M) {
	if dir := os.Getenv(indexProcess); dir != "" {
		if err := indexOnce(dir, os.Getenv(indexProcess+"_CACHE")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func indexOnce(dir, cache string) error {
	r := document.NewReader(document.Options{})
	l, err := Open(Options{Folder: dir, Cache: cache, Reader: r})
	if err != nil {
		return err
	}
	for range 3 {
		hits, err := l.Search(context.Background(), "zebra", 50)
		if err != nil {
			return err
		}
		if len(hits) != 50 {
			return fmt.Errorf("%d hits", len(hits))
		}
	}
	return errors.Join(l.Close(), r.Close())
}

func TestProcessesIndexSideBySide(t *testing.T) {
	t.Parallel()
	dir, cache := t.TempDir(), t.TempDir()
	for i := range 300 {
		put(t, dir, fmt.Sprintf("d%d/doc%d.md", i%7, i), fmt.Sprintf("# Document %d\n\nzebra number%d\n", i, i))
	}
	var all []*exec.Cmd
	for range 3 {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), indexProcess+"="+dir, indexProcess+"_CACHE="+cache)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	for _, c := range all {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	l := openAt(t, dir, cache)
	rep, err := l.Refresh(t.Context())
	if err != nil || rep.Files != 300 || rep.Changed != 0 {
		t.Errorf("%+v, %v", rep, err)
	}
	for _, q := range []string{"number7", "number299"} {
		if got := addresses(t, l, q); len(got) != 1 {
			t.Errorf("%s: %q", q, got)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"library:a/b.md#c", "../x", "[a](library:b)", "<x>", "%2e%2e/%", "LIBRARY:%ff", "library:a%23b#c%20d", "c:\\x", "a:b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddress(s)
		if err != nil {
			return
		}
		if a.Path == "" || strings.HasPrefix(a.Path, "/") || a.Path == ".." || strings.HasPrefix(a.Path, "../") || strings.Contains(a.Path, "/../") {
			t.Fatalf("%q leads to %q", s, a.Path)
		}
		back, err := ParseAddress(a.String())
		if err != nil || back != a {
			t.Fatalf("%q gives %q, which gives %+v, %v", s, a.String(), back, err)
		}
	})
}

func FuzzQuery(f *testing.F) {
	for _, s := range []string{`how do "I restore" it?`, "служба ファイル go1.26", `"" " AND OR NEAR(x)`, "don't \xff", "a_b-c.d/e:f;g"} {
		f.Add(s)
	}
	l := fuzzLibrary(f)
	f.Fuzz(func(t *testing.T, s string) {
		q, err := parseQuery(s)
		if err != nil {
			return
		}
		for _, e := range []string{q.all, q.any, q.begins} {
			if e == "" {
				continue
			}
			if _, err := l.ix.match(t.Context(), e, 1); err != nil {
				t.Fatalf("%q gives %q: %v", s, e, err)
			}
		}
	})
}

func fuzzLibrary(f *testing.F) *Library {
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("a zebra"), 0o644); err != nil {
		f.Fatal(err)
	}
	r := document.NewReader(document.Options{})
	l, err := Open(Options{Folder: dir, Cache: f.TempDir(), Reader: r})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = errors.Join(l.Close(), r.Close()) })
	if _, err := l.Refresh(context.Background()); err != nil {
		f.Fatal(err)
	}
	return l
}
