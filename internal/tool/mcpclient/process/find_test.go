package process

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestShimsAreFoundByTheirExtension(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"npx.cmd", "server.exe"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	exts := extensions("windows", []string{"PATHEXT=.COM;.EXE;.CMD"})
	if want := []string{".com", ".exe", ".cmd"}; !slices.Equal(exts, want) {
		t.Errorf("extensions %q", exts)
	}
	if got := extensions("windows", nil); len(got) != 4 {
		t.Errorf("without PATHEXT %q", got)
	}
	if got := extensions("linux", []string{"PATHEXT=.EXE"}); got != nil {
		t.Errorf("on Linux %q", got)
	}
	for name, want := range map[string]string{"npx": "npx.cmd", "npx.cmd": "npx.cmd", "server": "server.exe", "nothing": ""} {
		got, err := executable(filepath.Join(dir, name), exts)
		if want == "" {
			if !errors.Is(err, exec.ErrNotFound) {
				t.Errorf("%s: %s, error %v", name, got, err)
			}
			continue
		}
		if err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%s: %s, error %v", name, got, err)
		}
	}
}

func TestBatchFilesGetTheirArgumentsWhole(t *testing.T) {
	t.Parallel()
	got, err := batchLine(`C:\Program Files\nodejs\npx.cmd`, []string{"-y", "pkg@1", `a & del b`, `(x) | y > z ^ !w!`})
	want := `cmd.exe /d /e:on /v:off /s /c ""C:\Program Files\nodejs\npx.cmd" "-y" "pkg@1" "a & del b" "(x) | y > z ^ !w!""`
	if err != nil || got != want {
		t.Errorf("line %s, error %v\nwant %s", got, err, want)
	}
	for _, bad := range []string{`say "hi"`, `%PATH%`, "a\nb", `c:\`} {
		if got, err := batchLine(`C:\x.cmd`, []string{bad}); err == nil {
			t.Errorf("%q gave %s", bad, got)
		}
	}
}

func TestCommandsAreFoundInTheServersOwnPath(t *testing.T) {
	t.Parallel()
	dir, here := t.TempDir(), t.TempDir()
	write := func(path string, mode fs.FileMode) {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "tool"), 0o755)
	write(filepath.Join(here, "tool"), 0o755)
	write(filepath.Join(here, "plain"), 0o644)
	env := []string{"PATH=.:" + dir}
	if got, err := find("tool", here, env); err != nil || got != filepath.Join(dir, "tool") {
		t.Errorf("found %s, error %v", got, err)
	}
	if got, err := find("./tool", here, env); err != nil || got != filepath.Join(here, "tool") {
		t.Errorf("found %s, error %v", got, err)
	}
	for command, want := range map[string]error{"nothing": exec.ErrNotFound, "": exec.ErrNotFound, "./plain": fs.ErrPermission, "./nothing": fs.ErrNotExist} {
		if got, err := find(command, here, env); !errors.Is(err, want) {
			t.Errorf("%q: found %s, error %v", command, got, err)
		}
	}
}
