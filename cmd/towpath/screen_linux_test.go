package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"towpath/internal/chat/line"
)

// terminal is the program at a real terminal, and what a person sees there.
type terminal struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd
	exited chan struct{}

	mu      sync.Mutex
	screen  *screen
	changed chan struct{} // closed and made anew with each change
}

// session is where a program is started.
type session struct {
	t   *testing.T
	dir string
	env []string
}

// newSession gives a home of its own, and the model server at url.
func newSession(t *testing.T, url string) *session {
	t.Helper()
	s := &session{t: t, dir: t.TempDir()}
	home := t.TempDir()
	s.env = []string{"HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
		"TOWPATH_CACHE=" + filepath.Join(home, "cache"), "OLLAMA_HOST=" + url, "TOWPATH_MODEL=ollama/test", "TERM=xterm", "PATH=" + os.Getenv("PATH")}
	return s
}

// start runs the program at a terminal of that size.
func (s *session) start(columns, rows int, args ...string) *terminal {
	s.t.Helper()
	master, slave := openTerminal(s.t)
	x := &terminal{t: s.t, master: master, exited: make(chan struct{}), screen: newScreen(columns, rows), changed: make(chan struct{})}
	x.size(columns, rows)
	path, err := exec.LookPath("towpath")
	if err != nil {
		s.t.Fatal(err)
	}
	x.cmd = exec.Command(path, args...)
	x.cmd.Dir, x.cmd.Env = s.dir, s.env
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = slave, slave, slave
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	slave.Close()
	go x.read()
	go func() {
		_ = x.cmd.Wait() // the code is asked for by exits
		close(x.exited)
	}()
	s.t.Cleanup(func() {
		_ = x.cmd.Process.Kill()
		<-x.exited
		master.Close()
	})
	return x
}

func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

func (x *terminal) size(columns, rows int) {
	err := unix.IoctlSetWinsize(int(x.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)})
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := x.master.Read(buf)
		x.mu.Lock()
		x.screen.write(string(buf[:n]))
		close(x.changed)
		x.changed = make(chan struct{})
		x.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// types sends keys.
func (x *terminal) types(keys string) {
	x.t.Helper()
	if _, err := x.master.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// sees waits until the screen, with what scrolled off it, holds a text.
func (x *terminal) sees(text string) {
	x.t.Helper()
	x.until(fmt.Sprintf("%q on the screen", text), func(s *screen) bool { return strings.Contains(s.text(), text) })
}

// seesTimes waits until a text is there so many times.
func (x *terminal) seesTimes(text string, n int) {
	x.t.Helper()
	x.until(fmt.Sprintf("%q %d times on the screen", text, n), func(s *screen) bool { return strings.Count(s.text(), text) == n })
}

// ready waits for an empty prompt.
func (x *terminal) ready() {
	x.t.Helper()
	x.until("a prompt", func(s *screen) bool { return s.col == 2 && s.row() == "> " })
}

func (x *terminal) until(what string, ok func(*screen) bool) {
	x.t.Helper()
	late := time.After(20 * time.Second)
	for {
		x.mu.Lock()
		met, changed := ok(x.screen), x.changed
		x.mu.Unlock()
		if met {
			return
		}
		select {
		case <-changed:
		case <-late:
			x.mu.Lock()
			defer x.mu.Unlock()
			x.t.Fatalf("%s was awaited; the screen shows\n%s", what, x.screen.text())
		}
	}
}

// exits waits for the end of the program.
func (x *terminal) exits(code int) {
	x.t.Helper()
	select {
	case <-x.exited:
	case <-time.After(20 * time.Second):
		x.mu.Lock()
		defer x.mu.Unlock()
		x.t.Fatalf("the program does not end; the screen shows\n%s", x.screen.text())
	}
	if got := x.cmd.ProcessState.ExitCode(); got != code {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.t.Errorf("exit code %d, want %d; the screen shows\n%s", got, code, x.screen.text())
	}
}

func (x *terminal) look(f func(*screen)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f(x.screen)
}

// screen is what a terminal makes of what it is sent. It knows what the program
// may use, and notes everything else.
type screen struct {
	columns, rows int
	gone          []string // lines that scrolled off
	lines         [][]rune
	y, col        int
	rest          string
	odd           []string // sequences that the program has no business to send
	coloured      bool
	cleared       int // times that a line or the screen was cleared
	wrapped       int // times that a line ran over the edge
}

func newScreen(columns, rows int) *screen {
	return &screen{columns: columns, rows: rows, lines: make([][]rune, 1)}
}

func (s *screen) text() string {
	var b strings.Builder
	for _, l := range s.gone {
		b.WriteString(l + "\n")
	}
	for _, l := range s.lines {
		b.WriteString(strings.TrimRight(string(l), " ") + "\n")
	}
	return b.String()
}

func (s *screen) row() string { return string(s.lines[s.y]) }

func (s *screen) write(data string) {
	data = s.rest + data
	s.rest = ""
	for data != "" {
		if data[0] == 0x1b {
			n := s.escape(data)
			if n == 0 {
				s.rest = data
				return
			}
			data = data[n:]
			continue
		}
		r := []rune(data[:min(len(data), 4)])[0]
		if r == 0xfffd && len(data) < 4 {
			s.rest = data
			return
		}
		data = data[len(string(r)):]
		s.put(r)
	}
}

func (s *screen) put(r rune) {
	switch r {
	case '\r':
		s.col = 0
		return
	case '\n':
		s.down()
		return
	case '\b':
		s.col = max(s.col-1, 0)
		return
	}
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		s.odd = append(s.odd, fmt.Sprintf("%q", r))
		return
	}
	w := line.ColumnsOf(r)
	if w > 0 && s.col+w > s.columns {
		s.wrapped++
		s.col = 0
		s.down()
	}
	l := s.lines[s.y]
	at := 0 // the rune that stands at the column
	for c := 0; at < len(l) && c < s.col; at++ {
		c += line.ColumnsOf(l[at])
	}
	for line.Columns(string(l)) < s.col {
		l = append(l, ' ')
		at = len(l)
	}
	if at < len(l) && w > 0 {
		l[at] = r
	} else {
		l = append(l, r)
	}
	s.lines[s.y] = l
	s.col += w
}

func (s *screen) down() {
	s.y++
	if s.y == len(s.lines) {
		s.lines = append(s.lines, nil)
	}
	if len(s.lines) > s.rows {
		s.gone = append(s.gone, strings.TrimRight(string(s.lines[0]), " "))
		s.lines, s.y = s.lines[1:], s.y-1
	}
}

// escape carries out a sequence and gives its length, 0 where it is not whole.
func (s *screen) escape(data string) int {
	if len(data) < 2 {
		return 0
	}
	if data[1] != '[' {
		s.odd = append(s.odd, fmt.Sprintf("%q", data[:2]))
		return 2
	}
	end := strings.IndexFunc(data[2:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
	if end < 0 {
		return 0
	}
	arg, final := data[2:2+end], data[2+end]
	n, _ := strconv.Atoi(arg) // 0 where there is none
	switch final {
	case 'A':
		s.y = max(s.y-max(n, 1), 0)
	case 'C':
		s.col = min(s.col+max(n, 1), s.columns-1)
	case 'H':
		s.y, s.col = 0, 0
	case 'J':
		s.cleared++
		if n == 2 {
			s.lines = make([][]rune, s.y+1)
			break
		}
		s.lines = s.lines[:s.y+1]
		s.cut()
	case 'K':
		s.cleared++
		if n == 2 {
			s.lines[s.y] = nil
			break
		}
		s.cut()
	case 'm':
		s.coloured = true
	default:
		if arg != "?2004" {
			s.odd = append(s.odd, fmt.Sprintf("%q", data[:3+end]))
		}
	}
	return 3 + end
}

// resize breaks lines anew that have become too long, as terminals do.
func (s *screen) resize(columns int) {
	s.columns = columns
	var lines [][]rune
	y, col := 0, 0
	for i, l := range s.lines {
		at := len(lines)
		for len(l) > columns {
			lines, l = append(lines, l[:columns:columns]), l[columns:]
		}
		lines = append(lines, l)
		if i == s.y {
			y, col = at+s.col/columns, s.col%columns
		}
	}
	s.lines, s.y, s.col = lines, min(y, len(lines)-1), col
}

// cut clears the line from the cursor on.
func (s *screen) cut() {
	l, c := s.lines[s.y], 0
	for i, r := range l {
		if c >= s.col {
			s.lines[s.y] = l[:i]
			return
		}
		c += line.ColumnsOf(r)
	}
}
