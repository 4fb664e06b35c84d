package durable_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
)

func probe(t *testing.T, path string) bool {
	t.Helper()
	held, err := durable.Probe(path)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func TestLockIsHeldByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if probe(t, path) {
		t.Error("a missing lock is held")
	}
	held, err := durable.Lock(path, "pid 1, the longer text")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := durable.Lock(path, "pid 2"); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("second lock: %v, want ErrLocked", err)
	}
	if !probe(t, path) {
		t.Error("the probe does not see the holder")
	}
	if got := read(t, path); got != "pid 1, the longer text" {
		t.Errorf("lock says %q", got)
	}
	for range 2 {
		if err := held.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if probe(t, path) {
		t.Error("still held after Close")
	}
	held, err = durable.Lock(path, "pid 2")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if got := read(t, path); got != "pid 2" {
		t.Errorf("lock says %q", got)
	}
}

func TestLockWithinWaitsForTheHandOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := durable.Lock(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := durable.LockWithin(path, "", 50*time.Millisecond); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("while held: %v, want ErrLocked", err)
	}
	time.AfterFunc(50*time.Millisecond, func() { first.Close() })
	second, err := durable.LockWithin(path, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}

func TestProbersNeverKeepALockFromItsTaker(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	write(t, path, "")
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for ctx.Err() == nil {
				if _, err := durable.Probe(path); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 100 {
		held, err := durable.Lock(path, "")
		if err != nil {
			t.Error(err)
			break
		}
		held.Close()
	}
	cancel()
	wait.Wait()
}

func TestLockWaitsForAProbe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	write(t, path, "")
	prober, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(prober.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { prober.Close() })
	held, err := durable.Lock(path, "")
	if err != nil {
		t.Fatal(err)
	}
	held.Close()
}

func lockUntilStdinEnds(path string) {
	held, err := durable.Lock(path, "")
	if err != nil {
		os.Exit(1)
	}
	child := exec.Command("sleep", "60") // outlives this process
	if err := child.Start(); err != nil {
		os.Exit(1)
	}
	os.Stdout.WriteString(itoa(child.Process.Pid) + "\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = held.Close()
}

func TestLockOfAKilledProcessIsFreeWhileItsChildLives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder := play(t, "lock", path)
	stdin, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := os.FindProcess(atoi(t, line))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Kill() })
	if !probe(t, path) {
		t.Error("the lock is not held")
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	if probe(t, path) {
		t.Error("a dead process holds the lock, or its child does")
	}
}
