package process

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// find looks a command up as the program's own environment has it. A path is
// meant from dir.
func find(command, dir string, env []string) (string, error) {
	if command == "" {
		return "", exec.ErrNotFound
	}
	exts := extensions(runtime.GOOS, env)
	if strings.ContainsAny(command, pathSeparators) {
		if !filepath.IsAbs(command) {
			command = filepath.Join(dir, command)
		}
		return executable(command, exts)
	}
	for _, folder := range filepath.SplitList(value(env, "PATH")) {
		if !filepath.IsAbs(folder) {
			continue // a command is never taken from the folder where one happens to be
		}
		if path, err := executable(filepath.Join(folder, command), exts); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// extensions are those that a command may have besides none: on Windows npx is
// npx.cmd.
func extensions(goos string, env []string) []string {
	if goos != "windows" {
		return nil
	}
	list := value(env, "PATHEXT")
	if list == "" {
		list = ".COM;.EXE;.BAT;.CMD"
	}
	return strings.FieldsFunc(strings.ToLower(list), func(r rune) bool { return r == ';' })
}

func executable(path string, exts []string) (string, error) {
	if len(exts) == 0 {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return "", err
		case info.IsDir():
			return "", &fs.PathError{Op: "start", Path: path, Err: fmt.Errorf("it is a folder")}
		case info.Mode()&0o111 == 0 && runtime.GOOS != "windows":
			return "", &fs.PathError{Op: "start", Path: path, Err: fs.ErrPermission}
		}
		return path, nil
	}
	own := strings.ToLower(filepath.Ext(path))
	for _, ext := range exts {
		if own == ext {
			return executable(path, nil)
		}
	}
	for _, ext := range exts {
		if found, err := executable(path+ext, nil); err == nil {
			return found, nil
		}
	}
	return "", exec.ErrNotFound
}

// value gives a variable of an environment; the last one counts.
func value(env []string, name string) string {
	found := ""
	for _, kv := range env {
		k, v, ok := strings.Cut(kv, "=")
		if ok && (k == name || runtime.GOOS == "windows" && strings.EqualFold(k, name)) {
			found = v
		}
	}
	return found
}

// batchLine is the command line that runs a batch file, which Windows hands to
// its command interpreter: every argument is quoted so that the interpreter
// takes it as it is. What cannot be written so that it stays as it is, is
// refused.
func batchLine(path string, args []string) (string, error) {
	var b strings.Builder
	b.WriteString(`cmd.exe /d /e:on /v:off /s /c ""` + path + `"`)
	if strings.ContainsAny(path, "%\"\r\n\x00") {
		return "", fmt.Errorf("the path %q cannot be handed to a batch file", path)
	}
	for _, a := range args {
		if strings.ContainsAny(a, "%\"\r\n\x00") || strings.HasSuffix(a, `\`) {
			return "", fmt.Errorf("the argument %q cannot be handed to a batch file safely; start its program directly (node, python)", a)
		}
		b.WriteString(` "` + a + `"`)
	}
	b.WriteString(`"`)
	return b.String(), nil
}
