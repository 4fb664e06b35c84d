package session_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/durable/powertest"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// calls counts the calls that change the disk while do runs.
func calls(t *testing.T, disk *powertest.Disk, do func() error) int {
	t.Helper()
	n := 0
	disk.Fault = func(string, string) error { n++; return nil }
	if err := do(); err != nil {
		t.Fatal(err)
	}
	disk.Fault = nil
	return n
}

// failAt makes the n-th call fail, counted from 0, and with all set every later one.
func failAt(disk *powertest.Disk, n int, all bool, cause error) {
	disk.Fault = func(string, string) error {
		n--
		if n == -1 || all && n < 0 {
			return cause
		}
		return nil
	}
}

// on makes a session on a disk of its own.
func on(t *testing.T) (*session.Session, *powertest.Disk) {
	t.Helper()
	project := t.TempDir()
	disk := powertest.New(project)
	sp := spec(t, project)
	sp.Disk = disk.Disk()
	return create(t, sp), disk
}

// A commit that fails at any of its calls, once or until the disk has room again, leaves
// the state before, and the same step commits when it is tried again.
func TestProtocolJ8CommitOnAFullDisk(t *testing.T) {
	step := func(s *session.Session) decide.Step {
		step := next(state(t, s), orchestrator.EvPhaseEntered)
		step.Blobs = map[string][]byte{"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae": []byte("foo")}
		return step
	}
	s, disk := on(t)
	total := calls(t, disk, func() error { return s.Commit(step(s)) })
	if total < 15 {
		t.Fatalf("a commit makes only %d calls", total)
	}
	for _, all := range []bool{false, true} {
		for n := range total {
			if testing.Short() && (all == (n%2 == 0) || n%4 > 1) {
				continue
			}
			s, disk := on(t)
			step := step(s)
			failAt(disk, n, all, syscall.ENOSPC)
			err := s.Commit(step)
			if err != nil && !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("call %d: %v", n, err)
			}
			disk.Fault = nil
			if err != nil {
				if got := state(t, s); got.Seq != 2 && got.Seq != 3 {
					t.Errorf("call %d: state at %d", n, got.Seq)
				}
				if err := s.Commit(step); err != nil {
					t.Errorf("call %d, again: %v", n, err)
				}
			}
			records, bad, err := s.Events(0)
			if err != nil || bad > 0 || len(records) != 3 || state(t, s).Seq != 3 {
				t.Errorf("call %d: %d records, %d bad, %v", n, len(records), bad, err)
			}
			if got, err := s.Blob("2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"); err != nil || string(got) != "foo" {
				t.Errorf("call %d: blob %q, %v", n, got, err)
			}
		}
	}
}

// A tool on a full disk hears an error, never that its line is there.
func TestProtocolJ8LineOnAFullDisk(t *testing.T) {
	compose := func(session.Tail) (*session.NewLine, error) {
		return &session.NewLine{Tool: "submit_plan", Payload: map[string]any{}}, nil
	}
	s, disk := on(t)
	total := calls(t, disk, func() error { return s.Append(session.ToolEvents, noon, compose) })
	for n := range total {
		s, disk := on(t)
		failAt(disk, n, true, syscall.ENOSPC)
		if err := s.Append(session.ToolEvents, noon, compose); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("call %d was answered: %v", n, err)
		}
		disk.Fault = nil
		if err := s.Append(session.ToolEvents, noon, compose); err != nil {
			t.Errorf("call %d, again: %v", n, err)
		}
		got := slices.DeleteFunc(lines(t, s, orchestrator.Cursor{}), func(l orchestrator.Line) bool { return l.Corrupt != "" })
		if len(got) == 0 || len(got) > 2 || got[len(got)-1].Tool != "submit_plan" {
			t.Errorf("call %d: %+v", n, got)
		}
	}
}

// A creation that fails at any of its calls leaves no listed session, or a whole one.
func TestProtocolD1CreateOnAFullDisk(t *testing.T) {
	project := t.TempDir()
	disk := powertest.New(project)
	sp := spec(t, project)
	sp.Disk = disk.Disk()
	total := calls(t, disk, func() error {
		s, err := session.Create(sp)
		if err == nil {
			err = s.Close()
		}
		return err
	})
	every := 1
	if testing.Short() {
		every = 4
	}
	for n := 0; n < total; n += every {
		project := t.TempDir()
		disk := powertest.New(project)
		sp := spec(t, project)
		sp.Disk = disk.Disk()
		failAt(disk, n, true, syscall.ENOSPC)
		s, err := session.Create(sp)
		if err == nil {
			s.Close() // only the text of the lock is missing
		} else if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("call %d: %v", n, err)
		}
		disk.Fault = nil
		entries, listed := session.List(project)
		if listed != nil || len(entries) > 1 || len(entries) == 1 && session.CheckDir(entries[0].Dir).Err() != nil {
			t.Errorf("call %d: %+v, %v", n, entries, listed)
		}
		if s, err := session.Create(sp); err != nil {
			t.Errorf("call %d, again: %v", n, err)
		} else {
			s.Close()
		}
	}
}

// On a disk that nobody may write to, a session can be read and nothing is lost.
func TestAReadOnlyDisk(t *testing.T) {
	s, disk := on(t)
	sha, err := s.PutBlob([]byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	entry := next(state(t, s), orchestrator.EvPhaseEntered)
	entry.Events[0].Data = orchestrator.PhaseEnteredRecord{Phase: entry.State.Phase}
	commit(t, s, entry)
	before := read(t, s, session.StateFile) + read(t, s, session.EventsFile)
	failAt(disk, 0, true, syscall.EROFS)
	compose := func(session.Tail) (*session.NewLine, error) {
		return &session.NewLine{Tool: "x", Payload: map[string]any{}}, nil
	}
	for name, do := range map[string]func() error{
		"commit":  func() error { return s.Commit(next(state(t, s), orchestrator.EvPaused)) },
		"append":  func() error { return s.Append(session.Commands, noon, compose) },
		"replace": func() error { return s.Replace("07_review/review.md", nil) },
		"view":    func() error { return s.View("runtime", nil) },
		"mark":    func() error { return s.Mark("06_implementation/done_1") },
		"dirs":    func() error { return s.EnsureDirs("a/b") },
		"blob":    func() error { _, err := s.PutBlob([]byte("other")); return err },
		"write":   func() error { return s.WriteBlob("a.md", sha) },
		"remove":  func() error { return s.Remove("context.md") },
		"aside":   func() error { return s.MoveAside(1, "context.md") },
		"orphan":  func() error { return s.Orphan("context.md") },
		"runtime": func() error { return s.WriteRuntime(session.Runtime{}) },
		"backup":  s.FromBackup,
		"created": func() error { return errors.Join(os.WriteFile(s.Path("new.md"), nil, 0o600), s.LogCreated(noon)) },
		"read": func() error {
			_, err := s.ReadArtifact("requirements.md", duty.ArtifactText)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := do(); !errors.Is(err, syscall.EROFS) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	other, err := session.OpenOn(s.Dir, disk.Disk())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	if err := other.Lock(0); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "lock") {
		t.Errorf("lock: %v", err)
	}
	disk.Fault = nil
	if after := read(t, s, session.StateFile) + read(t, s, session.EventsFile); after != before {
		t.Error("something was written")
	}
	if err := session.CheckDir(s.Dir).Err(); err != nil {
		t.Error(err)
	}
}

// A view of the cursor that cannot be written does not fail the commit it belongs to: the
// records would be written twice.
func TestCommitWithoutItsViews(t *testing.T) {
	for _, file := range []string{session.ToolCursorFile, session.StateBackup} {
		s, _ := on(t)
		if err := os.RemoveAll(s.Path(file)); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(s.Path(file, "in the way"), 0o700); err != nil {
			t.Fatal(err)
		}
		st := state(t, s)
		for n := range 3 {
			st = commit(t, s, next(st, orchestrator.EvPhaseEntered))
			if records, _, err := s.Events(0); err != nil || len(records) != 3+n {
				t.Fatalf("%s: %d records, %v", file, len(records), err)
			}
		}
		if _, err := s.Recover(noon); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		report := session.CheckDir(s.Dir)
		if got := fmt.Sprint(report.Problems, report.Notes); !strings.Contains(got, file) {
			t.Errorf("%s: the checker says %s", file, got)
		}
	}
}
