package durable_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentmux/agentmux/internal/durable"
)

// lines is a check that accepts.
func lines(text string) func(durable.Tail) ([]byte, error) {
	return func(durable.Tail) ([]byte, error) { return []byte(text), nil }
}

func TestAppendAddsWholeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	for _, text := range []string{"one\n", "", "two\nthree\n"} {
		if err := durable.Append(path, lines(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, path); got != "one\ntwo\nthree\n" {
		t.Errorf("file holds %q", got)
	}
	if err := durable.Append(path, lines("torn")); err == nil {
		t.Error("a line without its end was accepted")
	}
	if got := mode(t, path); got != 0o600 {
		t.Errorf("mode is %v, want 0600", got)
	}
}

func TestAppendEndsATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	write(t, path, "one\n{\"torn")
	err := durable.Append(path, func(tail durable.Tail) ([]byte, error) {
		seen, err := tail.Since(4)
		if err != nil {
			return nil, err
		}
		if string(seen) != "{\"torn\n" || tail.Size != 11 {
			return nil, fmt.Errorf("check saw %q, size %d", seen, tail.Size)
		}
		return []byte("two\n"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "one\n{\"torn\ntwo\n" {
		t.Errorf("file holds %q", got)
	}
}

func TestTailSince(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	write(t, path, "one\ntwo\n")
	want := map[int64]string{0: "one\ntwo\n", 4: "two\n", 8: "", 9: "one\ntwo\n", -1: "one\ntwo\n"}
	err := durable.Append(path, func(tail durable.Tail) ([]byte, error) {
		for offset, text := range want {
			got, err := tail.Since(offset)
			if err != nil || string(got) != text {
				t.Errorf("since %d: %q, %v, want %q", offset, got, err, text)
			}
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAppendRefusedByItsCheckWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	write(t, path, "one\n")
	refusal := errors.New("already submitted")
	err := durable.Append(path, func(durable.Tail) ([]byte, error) { return []byte("two\n"), refusal })
	if err != refusal {
		t.Errorf("error is %v, want that of the check", err)
	}
	if got := read(t, path); got != "one\n" {
		t.Errorf("file holds %q", got)
	}
}

func TestAppendChecksRunOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	const writers, each = 8, 25
	var wait sync.WaitGroup
	for range writers {
		wait.Go(func() {
			for range each {
				err := durable.Append(path, func(tail durable.Tail) ([]byte, error) {
					all, err := tail.Since(0)
					return fmt.Appendf(nil, "%d\n", bytes.Count(all, []byte("\n"))), err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	var want strings.Builder
	for n := range writers * each {
		fmt.Fprintln(&want, n)
	}
	if read(t, path) != want.String() {
		t.Error("the lines are not numbered in order: checks ran side by side")
	}
}

func TestAppendGoesToTheFileThatHasTheName(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "events.jsonl")
	write(t, path, "old\n")
	replaced := make(chan struct{})
	done := make(chan error)
	err := durable.Append(path, func(durable.Tail) ([]byte, error) {
		go func() { done <- durable.Append(path, lines("new\n")) }()
		err := durable.Replace(path, []byte("fresh\n"))
		close(replaced)
		return nil, err
	})
	<-replaced
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "fresh\nnew\n" {
		t.Errorf("file holds %q", got)
	}
}

func TestLogEndsItsLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "orchestrator.log")
	backing := []byte("oneX")
	for _, line := range [][]byte{backing[:3], []byte("two\n"), nil} {
		if err := durable.Log(path, line); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, path); got != "one\ntwo\n\n" {
		t.Errorf("file holds %q", got)
	}
	if string(backing) != "oneX" {
		t.Error("the caller's bytes were changed")
	}
}

// TestMain lets a test start this binary again as a process of its own.
func TestMain(m *testing.M) {
	if play, ok := map[string]func(string){
		"append": appendForever,
		"lock":   lockUntilStdinEnds,
	}[os.Getenv("DURABLE_TEST_PLAY")]; ok {
		play(os.Getenv("DURABLE_TEST_PATH"))
		return
	}
	os.Exit(m.Run())
}

// play starts this binary as another process that plays a part on path.
func play(t *testing.T, part, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DURABLE_TEST_PLAY="+part, "DURABLE_TEST_PATH="+path)
	return cmd
}

// appendForever appends lines and prints each one that was answered.
func appendForever(path string) {
	for n := 0; ; n++ {
		line := fmt.Sprintf("%d/%d\n", os.Getpid(), n)
		if err := durable.Append(path, lines(line)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Print(line)
	}
}

func TestEveryAnsweredLineOfAKilledWriterIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	var answered bytes.Buffer
	var lock sync.Mutex
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for round := range 3 {
				out := killAfter(t, play(t, "append", path), 20+round)
				lock.Lock()
				answered.WriteString(out)
				lock.Unlock()
			}
		})
	}
	wait.Wait()
	if err := durable.Append(path, lines("last\n")); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(read(t, path)) {
		count[line]++
	}
	for line := range strings.Lines(answered.String()) {
		if strings.HasSuffix(line, "\n") && count[line] != 1 {
			t.Errorf("answered line %q is there %d times", line, count[line])
		}
	}
	if count["last\n"] != 1 {
		t.Error("the line after the kills is missing")
	}
}

// killAfter runs cmd until it has printed n lines, kills it, and returns what it
// printed in all.
func killAfter(t *testing.T, cmd *exec.Cmd, n int) string {
	t.Helper()
	out := &killer{after: n, cmd: cmd}
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return ""
	}
	_ = cmd.Wait()
	if cmd.ProcessState.Exited() {
		t.Error("the writer ended by itself")
	}
	return out.text.String()
}

// killer takes the output of a process and kills it after some lines.
type killer struct {
	text  bytes.Buffer
	after int
	cmd   *exec.Cmd
}

func (k *killer) Write(p []byte) (int, error) {
	k.text.Write(p)
	if bytes.Count(k.text.Bytes(), []byte("\n")) >= k.after {
		_ = k.cmd.Process.Kill()
	}
	return len(p), nil
}
