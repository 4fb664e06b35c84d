package bell_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/bell"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator/watch"
)

// hear opens the bell of a project, and returns the names that are rung for and what closes it.
func hear(t *testing.T, dir string) (rung <-chan string, end func()) {
	t.Helper()
	b, err := bell.Open(dir, watch.New(watch.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	names, done := make(chan string, 8), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		b.Run(ctx, func(name string) { names <- name }, slog.New(slog.DiscardHandler))
	}()
	return names, func() {
		cancel()
		<-done
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A ring is heard while the bell is open, and one before it was open by the next who opens it; none
// is heard twice.
func TestEachRingIsHeardOnce(t *testing.T) {
	dir := t.TempDir()
	if bell.Heard(dir) {
		t.Error("heard by nobody")
	}
	ring := func(name string) {
		t.Helper()
		if err := bell.Ring(dir, name); err != nil {
			t.Fatal(err)
		}
	}
	ring("one")
	rung, end := hear(t, dir)
	if !bell.Heard(dir) {
		t.Error("not heard although it is open")
	}
	if name := <-rung; name != "one" {
		t.Errorf("%s", name)
	}
	ring("two")
	if name := <-rung; name != "two" {
		t.Errorf("%s", name)
	}
	ring("one")
	if name := <-rung; name != "one" {
		t.Errorf("%s", name)
	}
	end()
	if bell.Heard(dir) {
		t.Error("heard after its end")
	}
	ring("three")
	rung, end = hear(t, dir)
	if name := <-rung; name != "three" {
		t.Errorf("after a start: %s", name)
	}
	end()
	if left, err := os.ReadDir(filepath.Join(dir, "wakes")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// What is said while a session is woken rings again: the ring before it is forgotten by then.
func TestARingWhileTheBotWakesASessionIsHeard(t *testing.T) {
	dir := t.TempDir()
	b, err := bell.Open(dir, watch.New(watch.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := bell.Ring(dir, "one"); err != nil {
		t.Fatal(err)
	}
	heard := 0
	b.Run(ctx, func(name string) {
		if heard++; heard == 2 {
			cancel()
			return
		}
		if err := bell.Ring(dir, name); err != nil {
			t.Error(err)
		}
	}, slog.New(slog.DiscardHandler))
	if heard != 2 {
		t.Errorf("heard %d times", heard)
	}
}

// One process has a bell open.
func TestABellHasOneBot(t *testing.T) {
	dir := t.TempDir()
	_, end := hear(t, dir)
	defer end()
	if _, err := bell.Open(dir, watch.New(watch.Options{})); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
}
