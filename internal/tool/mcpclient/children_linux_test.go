package mcpclient

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"

	"towpath/internal/fakeserver"
)

func TestNothingIsLeftOfAServerThatIsStopped(t *testing.T) {
	t.Parallel()
	mark := markOf(t)
	s := server(t, family(own(t), mark))
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(marked(mark)); n < 6 {
		t.Errorf("only %d processes were started: %q", n, marked(mark))
	}
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left := marked(mark); len(left) > 0 {
		t.Errorf("still there: %q", left)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestNothingIsLeftOfAServerThatEndsByItself(t *testing.T) {
	t.Parallel()
	mark := markOf(t)
	s := server(t, family(own(t), mark))
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := attempt(t.Context(), s, "die", `{}`); err == nil {
		t.Error("the server did not die")
	}
	until(t, "the end of its children", 10*time.Second, func() bool { return len(marked(mark)) == 0 })
}

func TestNothingIsLeftWhenThisProgramIsKilled(t *testing.T) {
	t.Parallel()
	mark := markOf(t)
	cmd := exec.Command(own(t), holdArg, mark)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Errorf("it said %q, error %v", line, err)
	}
	if n := len(marked(mark)); n < 6 {
		t.Errorf("only %d processes were started: %q", n, marked(mark))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	until(t, "the end of everything", 15*time.Second, func() bool { return len(marked(mark)) == 0 })
}

func TestServersAreStoppedSoonWhenTheyEndWithTheirInput(t *testing.T) {
	t.Parallel()
	s := scripted(t, fakeserver.Tools{}, func(c *Config) { c.Timeouts.Stop = 20 * time.Second })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stopping took %s", took)
	}
}
