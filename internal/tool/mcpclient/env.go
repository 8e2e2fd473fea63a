package mcpclient

import (
	"maps"
	"runtime"
	"slices"
	"strings"
)

// passedOn are the variables that a server gets from this program's own
// environment. Keys, tokens and addresses are not among them: a server gets
// those that are set for it and no others.
var passedOn = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TMPDIR", "TZ", "TERM",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
	// Windows
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT",
	"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "SYSTEMDRIVE", "SYSTEMROOT",
	"TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// Environment makes a server's environment: the few variables of this program's
// that programs need to run at all, and those that are set for the server.
func Environment(environ []string, set map[string]string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if _, ok := set[name]; !ok && passes(name) {
			out = append(out, kv)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		out = append(out, name+"="+set[name])
	}
	return out
}

func passes(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	return slices.Contains(passedOn, name) || strings.HasPrefix(name, "LC_")
}
