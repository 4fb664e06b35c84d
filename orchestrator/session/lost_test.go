package session_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A host whose lock file is removed or replaced writes nothing more: another host may have
// taken the new one.
func TestAHostWithoutItsLockFileCommitsNothing(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"removed":  os.Remove,
		"replaced": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := create(t, spec(t, t.TempDir())) // its maker has the lock
			defer s.Close()
			st, err := s.ReadState()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Recover(time.Now()); err != nil {
				t.Fatal(err)
			}
			if err := lose(s.Path(session.LockFile)); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(s.Path(session.EventsFile))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Commit(next(st, orchestrator.EvPaused)); !errors.Is(err, session.ErrLockLost) {
				t.Errorf("commit: %v", err)
			}
			if after, err := os.ReadFile(s.Path(session.EventsFile)); err != nil || string(after) != string(before) {
				t.Errorf("records were written: %v", err)
			}
			other, err := session.Open(s.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := other.Lock(0); err != nil {
				t.Errorf("the next host: %v", err)
			}
			if err := other.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A host was killed while it started a program: until that child has become its program it
// holds a copy of the lock, and the session is not taken.
func TestALockThatOutlivesItsHolderIsAskedForAgain(t *testing.T) {
	s := create(t, spec(t, t.TempDir()))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(session.Owner{PID: gone.Process.Pid, PIDStart: "1", Host: host})
	if err != nil {
		t.Fatal(err)
	}
	inherited := func() {
		t.Helper()
		f, err := os.OpenFile(s.Path(session.LockFile), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := errors.Join(f.Truncate(0), syscall.Flock(int(f.Fd()), syscall.LOCK_EX)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(text); err != nil {
			t.Fatal(err)
		}
		child := exec.Command("sleep", "0.3")
		child.ExtraFiles = []*os.File{f}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = child.Wait() })
	}
	inherited()
	if session.Running(s.Dir) {
		t.Error("a session whose host is gone is said to run")
	}
	inherited()
	if err := s.Lock(0); err != nil {
		t.Fatalf("the next host: %v", err)
	}
	if !session.Running(s.Dir) {
		t.Error("the next host is not seen")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
