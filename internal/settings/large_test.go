package settings

import (
	"errors"
	"strings"
	"testing"
)

// TestKeyOfManyPartsIsReadInTime: a dotted key of 100,000 parts took more than
// a minute, and so did a file of many short keys.
func TestKeyOfManyPartsIsReadInTime(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for range 60_000 {
		many.WriteString("[[a]]\nb = 1\n")
	}
	for name, text := range map[string]string{
		"parts": "model = \"a/b\"\n" + strings.Repeat("a.", 100_000) + "a = 1\n",
		"keys":  "model = \"a/b\"\n" + many.String(),
	} {
		_, err := parseFile("towpath.toml", []byte(text), 1)
		var fe *FileError
		if !errors.As(err, &fe) || fe.Line != 2 || fe.Key != "a" {
			t.Errorf("%s: the error is %v, want one about key a of line 2", name, err)
		}
	}
}
