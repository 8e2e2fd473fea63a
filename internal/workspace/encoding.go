package workspace

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxContract bounds the size of a contract in bytes.
const maxContract = 1 << 20

// readable says what keeps bytes from being read as UTF-8 text: a UTF-16 mark,
// a NUL byte, an invalid sequence. ok is true where nothing does.
func readable(src []byte) (line int, what string, ok bool) {
	if bytes.HasPrefix(src, []byte{0xff, 0xfe}) || bytes.HasPrefix(src, []byte{0xfe, 0xff}) {
		return 1, "it is UTF-16", false
	}
	if i := bytes.IndexByte(src, 0); i >= 0 {
		return 1 + bytes.Count(src[:i], []byte("\n")), "it has a NUL byte", false
	}
	if utf8.Valid(src) {
		return 0, "", true
	}
	line = 1
	for len(src) > 0 {
		r, n := utf8.DecodeRune(src)
		if r == utf8.RuneError && n <= 1 {
			break
		}
		if r == '\n' {
			line++
		}
		src = src[n:]
	}
	return line, "it is not UTF-8", false
}

func encodingProblem(file string, line int, what string) Problem {
	return Problem{File: file, Line: line, Severity: Error, Code: "encoding",
		Message: "unreadable encoding: " + what, Mend: "save the file as UTF-8"}
}

// conflict finds the first merge conflict that was left in a text, as the line
// of its opening marker. One that stands whole inside a fenced block is an
// example.
func conflict(text string) int {
	open, middle, fence, openFence := 0, false, "", 0
	fences := 0
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		line = strings.TrimSuffix(line, "\r")
		trimmed := strings.TrimLeft(line, " \t")
		if f := fenceMark(trimmed); f != "" {
			if fence == "" {
				fence, fences = f, fences+1
			} else if strings.HasPrefix(f, fence) && strings.TrimSpace(strings.TrimLeft(trimmed, f[:1])) == "" {
				fence = ""
			}
		}
		inside := 0
		if fence != "" {
			inside = fences
		}
		switch {
		case strings.HasPrefix(line, "<<<<<<< ") || line == "<<<<<<<":
			if open == 0 {
				open, openFence = n, inside
			}
		case line == "=======" && open > 0:
			middle = true
		case (strings.HasPrefix(line, ">>>>>>> ") || line == ">>>>>>>") && open > 0 && middle:
			if openFence == 0 || openFence != inside {
				return open
			}
			open, middle = 0, false
		}
	}
	return 0
}

func fenceMark(s string) string {
	for _, c := range []string{"`", "~"} {
		n := len(s) - len(strings.TrimLeft(s, c))
		if n >= 3 {
			return strings.Repeat(c, n)
		}
	}
	return ""
}

func conflictProblem(file string, line int) Problem {
	return Problem{File: file, Line: line, Severity: Error, Code: "merge-conflict",
		Message: "a merge conflict was left here", Mend: "choose one side and remove the lines of < = > signs"}
}

func tooLarge(file string, size int) Problem {
	return Problem{File: file, Line: 0, Severity: Error, Code: "too-large",
		Message: fmt.Sprintf("the contract has %d bytes, more than %d", size, maxContract), Mend: "move reference material into files of its own"}
}
