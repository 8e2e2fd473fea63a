package durable

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// tree opens a fresh folder as a tree, closed when the test ends.
func tree(t *testing.T) *Tree {
	t.Helper()
	tr, err := OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// temps lists temporary files anywhere below dir.
func temps(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && IsTemp(d.Name()) {
			found = append(found, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestOpenTreeFindsTheRepository(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	write(t, filepath.Join(repo, ".git"), "gitdir: elsewhere\n") // a linked work tree has a file
	ws := filepath.Join(repo, "docs", "course")
	if err := os.MkdirAll(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	tr, dir, err := OpenTree(ws)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if tr.Root() != repo || dir != "docs/course" {
		t.Errorf("root %s, workspace %s; want %s, docs/course", tr.Root(), dir, repo)
	}
}

func TestOpenTreeWithoutRepositoryIsTheWorkspace(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	tr, dir, err := OpenTree(ws)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if tr.Root() != ws || dir != "." {
		t.Errorf("root %s, workspace %s; want %s, .", tr.Root(), dir, ws)
	}
}

func TestOpenTreeNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, _, err := OpenTree(filepath.Join(dir, "nothing"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	write(t, filepath.Join(dir, "file"), "x")
	if _, _, err := OpenTree(filepath.Join(dir, "file")); !errors.Is(err, ErrNotFolder) {
		t.Errorf("got %v", err)
	}
}

func TestFSKeepsTheRulesOfFileSystems(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	write(t, tr.Abs("a/b.md"), "b")
	write(t, tr.Abs("c.md"), "c")
	if err := fstest.TestFS(tr.FS(), "a/b.md", "c.md"); err != nil {
		t.Error(err)
	}
}

func TestAbsoluteLinkInsideTheTreeIsFollowed(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	write(t, tr.Abs("shared/voice.md"), "calm")
	link(t, tr.Abs("shared"), tr.Abs("ws/_config/shared"))
	data, err := tr.ReadFile("ws/_config/shared/voice.md")
	if err != nil || string(data) != "calm" {
		t.Errorf("got %q, %v", data, err)
	}
	data, err = fs.ReadFile(tr.FS(), "ws/_config/shared/voice.md")
	if err != nil || string(data) != "calm" {
		t.Errorf("through FS: got %q, %v", data, err)
	}
	target, err := fs.ReadLink(tr.FS(), "ws/_config/shared")
	if err != nil || target != "../../shared" {
		t.Errorf("link reads %q, %v; want ../../shared", target, err)
	}
	real, err := tr.Resolve("ws/_config/shared/voice.md")
	if err != nil || real != "shared/voice.md" {
		t.Errorf("resolves to %q, %v", real, err)
	}
}

func TestAbsoluteLinkThroughAnotherNameOfTheRootIsFollowed(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	write(t, filepath.Join(base, "real", "a.md"), "a")
	link(t, filepath.Join(base, "real"), filepath.Join(base, "alias"))
	link(t, filepath.Join(base, "alias", "a.md"), filepath.Join(base, "real", "b.md"))
	tr, _, err := OpenTree(filepath.Join(base, "alias"))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if data, err := tr.ReadFile("b.md"); err != nil || string(data) != "a" {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestNothingIsReadOutsideTheTree(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	write(t, filepath.Join(base, "secret"), "s")
	root := filepath.Join(base, "tree")
	link(t, filepath.Join(base, "secret"), filepath.Join(root, "absolute"))
	link(t, "../secret", filepath.Join(root, "relative"))
	link(t, "..", filepath.Join(root, "folder"))
	link(t, root+"/../secret", filepath.Join(root, "sly"))
	tr, err := OpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for _, name := range []string{"absolute", "relative", "folder/secret", "sly", "../secret", "/etc/passwd"} {
		if data, err := tr.ReadFile(name); !errors.Is(err, ErrLeaves) {
			t.Errorf("reading %s: got %q, %v", name, data, err)
		}
		if _, err := tr.Stat(name); err == nil {
			t.Errorf("looking at %s: no error", name)
		}
		if err := tr.WriteFile(name, []byte("x")); !errors.Is(err, ErrLeaves) {
			t.Errorf("writing %s: got %v", name, err)
		}
	}
	if got := content(t, filepath.Join(base, "secret")); got != "s" {
		t.Errorf("the file outside holds %q", got)
	}
}

func TestLinksInACircleAreAnError(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	link(t, "b", tr.Abs("a"))
	link(t, "a", tr.Abs("b"))
	if _, err := tr.ReadFile("a"); !errors.Is(err, ErrLoop) {
		t.Errorf("got %v", err)
	}
	if err := tr.WriteFile("a", nil); !errors.Is(err, ErrLoop) {
		t.Errorf("got %v", err)
	}
}

func TestReadFileRefusesWhatIsNotAFile(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	if err := tr.MakeDir("folder"); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.ReadFile("folder"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("got %v", err)
	}
	if _, err := tr.ReadFile("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	f, err := os.Create(tr.Abs("big"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(MaxFile+1), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.ReadFile("big"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestWriteFileMakesParentsAndReplaces(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	for _, text := range []string{"first", "", "a longer second text"} {
		if err := tr.WriteFile("a/b/c.md", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := content(t, tr.Abs("a/b/c.md")); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
	if left := temps(t, tr.Root()); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestWriteFileKeepsPermissions(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // permissions there are not bits
	}
	tr := tree(t)
	write(t, tr.Abs("run.sh"), "old")
	if err := os.Chmod(tr.Abs("run.sh"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := tr.WriteFile("run.sh", []byte("new")); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(tr.Abs("run.sh"))
	if err != nil || st.Mode().Perm() != 0o750 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestWriteThroughALinkInsideTheTreeKeepsTheLink(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	write(t, tr.Abs("real.md"), "old")
	link(t, "../real.md", tr.Abs("out/a.md"))
	if err := tr.WriteFile("out/a.md", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got := content(t, tr.Abs("real.md")); got != "new" {
		t.Errorf("the file holds %q", got)
	}
	if st, err := os.Lstat(tr.Abs("out/a.md")); err != nil || st.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", st, err)
	}
}

func TestWriteThroughADanglingLinkIsRefused(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "new")
	tr := tree(t)
	link(t, outside, tr.Abs("output/a.md"))
	link(t, "nowhere", tr.Abs("output/b.md"))
	link(t, tr.Abs("nowhere/deep"), tr.Abs("output/c.md"))
	link(t, "../gone", tr.Abs("output/dir"))
	for name, want := range map[string]error{
		"output/a.md": ErrLeaves, "output/b.md": ErrDangling, "output/c.md": ErrDangling, "output/dir/d.md": ErrDangling,
	} {
		if err := tr.WriteFile(name, []byte("x")); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
	for _, p := range []string{outside, tr.Abs("output/nowhere"), tr.Abs("nowhere"), tr.Abs("gone")} {
		if _, err := os.Lstat(p); err == nil {
			t.Errorf("%s was made", p)
		}
	}
	if _, err := tr.ReadFile("output/b.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading a dangling link: %v", err)
	}
}

func TestWriteFileRefusesNamesThatAreNoPaths(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	for _, name := range []string{"", ".", "..", "a/../../b", "/abs", "a//b", "a/", "zero\x00byte", "./a"} {
		if err := tr.WriteFile(name, []byte("x")); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	list, err := os.ReadDir(tr.Root())
	if err != nil || len(list) != 0 {
		t.Errorf("the tree holds %v, %v", list, err)
	}
}

func TestWriteFileDoesNotReplaceAFolder(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	if err := tr.MakeDir("a"); err != nil {
		t.Fatal(err)
	}
	if err := tr.WriteFile("a", []byte("x")); !errors.Is(err, ErrNotRegular) {
		t.Errorf("got %v", err)
	}
	write(t, tr.Abs("file"), "x")
	if err := tr.WriteFile("file/below", []byte("x")); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func TestMove(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	write(t, tr.Abs("out/a.md"), "a")
	if err := tr.Move("out/a.md", "history/run/rejected/a.md"); err != nil {
		t.Fatal(err)
	}
	if got := content(t, tr.Abs("history/run/rejected/a.md")); got != "a" {
		t.Errorf("got %q", got)
	}
	if _, err := os.Lstat(tr.Abs("out/a.md")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old one is still there: %v", err)
	}
	write(t, tr.Abs("out/a.md"), "second")
	if err := tr.Move("out/a.md", "history/run/rejected/a.md"); !errors.Is(err, ErrInTheWay) {
		t.Errorf("got %v", err)
	}
	if got := content(t, tr.Abs("history/run/rejected/a.md")); got != "a" {
		t.Errorf("it was replaced by %q", got)
	}
	if err := tr.Move("none", "b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := tr.Move("out/a.md", "../b"); !errors.Is(err, ErrLeaves) {
		t.Errorf("got %v", err)
	}
}

func TestRemoveTakesTheLinkNotItsTarget(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	write(t, tr.Abs("real.md"), "kept")
	link(t, "real.md", tr.Abs("link.md"))
	if err := tr.Remove("link.md"); err != nil {
		t.Fatal(err)
	}
	if got := content(t, tr.Abs("real.md")); got != "kept" {
		t.Errorf("got %q", got)
	}
	if err := tr.Remove("link.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestFailedFlushLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	write(t, tr.Abs("a.md"), "old")
	tr.sync = func(*os.File) error { return errors.New("the disk went away") }
	if err := tr.WriteFile("a.md", []byte("new")); err == nil || !strings.Contains(err.Error(), "the disk went away") {
		t.Errorf("got %v", err)
	}
	if got := content(t, tr.Abs("a.md")); got != "old" {
		t.Errorf("got %q", got)
	}
	if left := temps(t, tr.Root()); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestTemporaryNamesOfADeadProcessDoNotStopAWrite(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	f, name, err := tr.createTemp(".")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	tr.temp.Store(0) // a new process of the same number counts from the start
	if err := tr.WriteFile("a.md", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if got := temps(t, tr.Root()); !slices.Equal(got, []string{tr.Abs(name)}) {
		t.Errorf("temporary files: %v", got)
	}
}

func TestSeveralWritersOfOneFileLeaveOneWhole(t *testing.T) {
	t.Parallel()
	tr := tree(t)
	done := make(chan error)
	for i := range 8 {
		go func() {
			done <- tr.WriteFile("a.md", bytes.Repeat([]byte{byte('a' + i)}, 10_000))
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	got := content(t, tr.Abs("a.md"))
	if len(got) != 10_000 || strings.Trim(got, got[:1]) != "" {
		t.Errorf("%d bytes, mixed", len(got))
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // of FIPS 180-2
	if got := Hash([]byte("abc")); got != want {
		t.Errorf("got %s", got)
	}
}

func FuzzResolveStaysInside(f *testing.F) {
	for _, s := range []string{"a", "a/b", "up/secret", "../x", "loop/x", "abs/secret", "a/../b", "dir/up/up/secret"} {
		f.Add(s)
	}
	base := f.TempDir()
	root := filepath.Join(base, "tree")
	if err := os.MkdirAll(filepath.Join(root, "dir"), 0o755); err != nil {
		f.Fatal(err)
	}
	for name, target := range map[string]string{"up": "..", "loop": "loop", "abs": base, "dir/up": "..", "dir/self": root} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(base, "secret"), []byte("s"), 0o644); err != nil {
		f.Fatal(err)
	}
	tr, err := OpenDir(root)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if real, err := tr.Resolve(name); err == nil && !fs.ValidPath(real) {
			t.Errorf("%q resolves to %q", name, real)
		}
		if data, err := tr.ReadFile(name); err == nil && string(data) == "s" {
			t.Errorf("%q reads the file outside", name)
		}
	})
}

func TestPutNamesTheFoldersToFlush(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "stage"), 0o755); err != nil {
		t.Fatal(err)
	}
	tr, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for _, want := range [][]string{{"stage", "stage/output"}, {"stage/output"}} { // a new folder is a new name too
		got, err := tr.Put("stage/output/a.md", []byte("text"))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Put = %v, %v; want %v", got, err, want)
		}
		if err := tr.Sync(got...); err != nil {
			t.Error(err)
		}
	}
	if data, err := tr.ReadFile("stage/output/a.md"); err != nil || string(data) != "text" {
		t.Errorf("ReadFile = %q, %v", data, err)
	}
}

func TestLinksAreHeldWithinTheTreeByEveryWayOfOpening(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	for _, f := range []string{filepath.Join(outside, "secret.md"), filepath.Join(dir, "in.md")} {
		if err := os.WriteFile(f, []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"out": outside, "up": "../../../../../../../../../../etc", "file": filepath.Join(outside, "secret.md"), "self": "self", "good": "in.md",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	fast, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer fast.Close()
	slow, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	slow.fast.close()
	slow.fast = beneath{} // as on an older kernel
	for _, tr := range []*Tree{fast, slow} {
		for _, name := range []string{"out/secret.md", "up/passwd", "file", "self"} {
			if data, err := tr.ReadFile(name); err == nil {
				t.Errorf("ReadFile(%s) = %q, want an error", name, data)
			}
			if _, err := tr.Stat(name); err == nil {
				t.Errorf("Stat(%s) has no error", name)
			}
			if f, err := tr.Open(name); err == nil {
				f.Close()
				t.Errorf("Open(%s) has no error", name)
			}
		}
		if data, err := tr.ReadFile("good"); err != nil || string(data) != "text" {
			t.Errorf("ReadFile(good) = %q, %v", data, err)
		}
		if info, err := fs.Lstat(tr.FS(), "good"); err != nil || info.Mode().Type() != fs.ModeSymlink {
			t.Errorf("Lstat(good) = %v, %v; want a link", info, err)
		}
		if info, err := tr.Stat("good"); err != nil || !info.Mode().IsRegular() || info.Size() != 4 || info.Name() != "good" {
			t.Errorf("Stat(good) = %v, %v", info, err)
		}
	}
}
