package local

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

// TestMain lets the test program be its own child, as the real program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == ChildArg {
		os.Exit(ChildMain(os.Args[2:]))
	}
	if os.Getenv(holdChild) != "" {
		hold()
	}
	os.Exit(m.Run())
}

// holdChild makes the test program start a child, say where its socket is, and
// wait until it is killed.
const holdChild = "LOCAL_TEST_HOLD_CHILD"

func hold() {
	p := New(Config{})
	c, _, err := p.ensure(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.socket)
	select {}
}

// small and work pull a real model into the user's cache, once.
var (
	small = sync.OnceValue(func() error { return pullFor(SmallModel) })
	work  = sync.OnceValue(func() error { return pullFor(DefaultModel) })
)

func pullFor(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	_, err := Pull(ctx, name, PullOptions{})
	return err
}

func needSmall(t testing.TB) {
	t.Helper()
	if err := small(); err != nil {
		t.Fatalf("the small model cannot be had: %v", err)
	}
}

func needWork(t testing.TB) {
	t.Helper()
	if err := work(); err != nil {
		t.Fatalf("the default model cannot be had: %v", err)
	}
}
