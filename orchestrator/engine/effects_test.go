package engine_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// at returns where in the log of tries an entry stands.
func (w *world) at(entry string) int {
	w.t.Helper()
	i := slices.IndexFunc(w.entries(), func(s string) bool { return strings.HasPrefix(s, entry) })
	if i < 0 {
		w.t.Fatalf("no %q in\n%s", entry, strings.Join(w.entries(), "\n"))
	}
	return i
}

func TestAnEffectWaitsForWhatItNeeds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.start(engine.Options{}).wait()
		orders := [][2]string{
			{"end ensure_dirs 04_planning", "begin start_agent 1.planner.1"},
			{"end ensure_workspace 1.view/planner", "begin start_agent 1.planner.1"},
			{"end take 2.1", "begin integrate"},
			{"end ensure_commit", "begin ensure_push"},
		}
		for _, o := range orders {
			if w.at(o[0]) > w.at(o[1]) {
				t.Errorf("%q came before %q", o[1], o[0])
			}
		}
	})
}

func TestEffectsOfOneKeyNeverRunSideBySide(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.hold = func(orchestrator.Effect) <-chan struct{} { // every effect takes a while
			done := make(chan struct{})
			time.AfterFunc(100*time.Millisecond, func() { close(done) })
			return done
		}
		w.start(engine.Options{}).wait()
		open := map[string]string{}
		for _, entry := range w.entries() {
			verb, rest, _ := strings.Cut(entry, " ")
			_, key, _ := strings.Cut(rest, " ")
			if verb == "end" {
				delete(open, key)
				continue
			}
			if other, busy := open[key]; busy {
				t.Errorf("%s while %s", entry, other)
			}
			open[key] = entry
		}
	})
}

// What stops an agent does not overtake what was starting it.
func TestAStopWaitsForTheStartItUndoes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		var slow sync.Once
		started := make(chan struct{})
		w.hold = func(e orchestrator.Effect) <-chan struct{} {
			var wait chan struct{}
			if e.Type == orchestrator.EffStartAgent {
				slow.Do(func() { wait = make(chan struct{}); close(started) })
			}
			return wait
		}
		h := w.start(engine.Options{})
		<-started
		h.cancel(engine.Signal{Name: "terminated"})
		h.wait()
		if w.at("end start_agent 1.planner.1") > w.at("begin stop_agent 1.planner.1") || len(w.panes) != 0 {
			t.Errorf("panes are %v, tries\n%s", w.panes, strings.Join(w.entries(), "\n"))
		}
	})
}

func TestAFailedTryIsRepeatedWithPauses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		var times []time.Time
		w.fail = func(e orchestrator.Effect) error {
			if e.Type != orchestrator.EffStartAgent || e.Args.Role != "planner" {
				return nil
			}
			if times = append(times, time.Now()); len(times) <= 3 {
				return errors.New("no room")
			}
			return nil
		}
		var log lockedBuffer
		st := w.start(engine.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}).wait()
		if st.Outcome != "done" || len(times) != 4 {
			t.Fatalf("ended %s after %d tries", st.Outcome, len(times))
		}
		for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			if got := times[i+1].Sub(times[i]); got < want || got > want+time.Second {
				t.Errorf("pause %d was %s, want %s", i, got, want)
			}
		}
		if n := len(w.events(orchestrator.EvEffectFailed)); n != 3 {
			t.Errorf("%d records of failed tries", n)
		}
		for _, wait := range []string{"1s", "2s", "4s"} {
			if !strings.Contains(log.String(), `effect=start_agent err="no room" wait=`+wait) {
				t.Errorf("the log does not say what failed, why, and when it is tried again: %s", wait)
			}
		}
	})
}

func TestTheClassOfAnErrorDecidesAboutTheNextTry(t *testing.T) {
	cases := map[string]struct {
		err         error
		after, till time.Duration
	}{
		"never":               {engine.Never(errors.New("no such ref")), 0, time.Second},
		"remote":              {engine.Remote(errors.New("502"), 0), 30 * time.Minute, 36 * time.Minute},
		"remote, with a wait": {fmt.Errorf("push: %w", engine.Remote(errors.New("429"), 10*time.Minute)), 30 * time.Minute, 41 * time.Minute},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, "quick", nil)
				w.watched = true
				var first time.Time
				w.fail = func(e orchestrator.Effect) error {
					if e.Type != orchestrator.EffPush {
						return nil
					}
					if first.IsZero() {
						first = time.Now()
					}
					return c.err
				}
				st := w.start(engine.Options{}).wait()
				took := time.Since(first)
				if st.OutcomeReason != "push_rejected" || took < c.after || took > c.till {
					t.Errorf("ended %s %s after %s", st.Outcome, st.OutcomeReason, took)
				}
				failed := w.events(orchestrator.EvEffectFailed)
				if last := failed[len(failed)-1]; !last.Data.(orchestrator.EffectFailedRecord).Final {
					t.Errorf("the last failure is %v", last.Data)
				}
			})
		})
	}
}

func TestAPanicInAnEffectEndsOnlyItsSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.fail = func(e orchestrator.Effect) error {
			if e.Type == orchestrator.EffStartAgent {
				panic("a bug")
			}
			return nil
		}
		st := w.start(engine.Options{}).wait()
		if st.Outcome != "failed" || !strings.Contains(string(st.Cause), "a bug") {
			t.Errorf("ended %s: %s", st.Outcome, st.Cause)
		}
	})
}

// C8: work that was taken is integrated beside the end of its agent.
func TestProtocolC8TakenWorkDoesNotWaitForTheAgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		stopped := make(chan struct{})
		w.hold = func(e orchestrator.Effect) <-chan struct{} {
			if e.Type == orchestrator.EffStopAgent && e.Args.Role == "coder" {
				return stopped
			}
			if e.Type == orchestrator.EffIntegrate && !strings.HasPrefix(e.Args.Tree, "work of ") {
				t.Errorf("what is integrated is %+v", e.Args)
			}
			return nil
		}
		h := w.start(engine.Options{})
		w.until("reviewed", func(st *orchestrator.State) bool { return st.Outcome == orchestrator.OutcomeDone })
		if n := len(w.taken()); n != 3 {
			t.Errorf("work is taken %d times", n)
		}
		close(stopped)
		if st := h.wait(); st.Outcome != "done" || len(st.Leaving) > 0 {
			t.Errorf("ended %s, leaving %v", st.Outcome, st.Leaving)
		}
	})
}

// C8: work that is not taken before is not integrated while the agent that wrote it is still
// there.
func TestProtocolC8NoIntegrationBeforeTheAgentIsGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.untaken = true
		stopped := make(chan struct{})
		w.hold = func(e orchestrator.Effect) <-chan struct{} {
			if e.Type == orchestrator.EffStopAgent && e.Args.Role == "coder" {
				return stopped
			}
			return nil
		}
		h := w.start(engine.Options{})
		w.until("stopping", func(st *orchestrator.State) bool { return st.SubplanStatus["1"] == "submitted" })
		w.pass(time.Minute)
		if entries := w.entries(); slices.ContainsFunc(entries, func(s string) bool { return strings.HasPrefix(s, "begin integrate") }) {
			t.Error("integrated while the agent was there")
		}
		close(stopped)
		if st := h.wait(); st.Outcome != "done" {
			t.Errorf("ended %s", st.Outcome)
		}
	})
}

// A commit that fails does nothing and is tried again; the session survives a
// disk that is full for a while.
func TestAFailedCommitIsRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		free time.Duration
		ok   bool
	}{"the disk has room again": {20 * time.Second, true}, "it never has": {time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, "quick", nil)
				w.play = idle
				h := w.start(engine.Options{})
				w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
				w.pass(5 * time.Second)
				before := w.state().Seq
				block(t, w.s)
				w.append(`{"tool":"report_status","payload":{"message":"hi"}}` + "\n")
				time.AfterFunc(c.free, func() { free(t, w.s) })
				w.pass(10 * time.Second)
				if n, _, _ := w.s.Events(0); len(n) > before {
					t.Error("a failed commit left records")
				}
				w.pass(3 * time.Minute)
				select {
				case <-h.done:
					if c.ok || h.err == nil {
						t.Errorf("the host ended: %v", h.err)
					}
					w.broken = true
				default:
					if !c.ok || len(w.events(orchestrator.EvAgentStatus)) != 1 {
						t.Errorf("still running, %d records", len(w.events(orchestrator.EvAgentStatus)))
					}
				}
			})
		})
	}
}

// What has ended is not begun again when its end could not be written down.
func TestNothingBeginsAfterACommitThatFailed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, disk := full(t)
		w.broken = true
		w.play = idle
		var noRoom atomic.Bool
		disk.Fault = func(string, string) error {
			if noRoom.Load() {
				return syscall.ENOSPC
			}
			return nil
		}
		w.fail = func(e orchestrator.Effect) error {
			noRoom.Store(noRoom.Load() || e.Type == orchestrator.EffStartAgent)
			return nil
		}
		h := w.start(engine.Options{})
		<-h.done
		if h.err == nil || !errors.Is(h.err, syscall.ENOSPC) {
			t.Fatalf("the host ended: %v", h.err)
		}
		begun := map[string]int{}
		for _, entry := range w.entries() {
			if begun[entry]++; begun[entry] > 1 {
				t.Errorf("%s again", entry)
			}
		}
		if begun["begin start_agent 1.planner.1"] != 1 {
			t.Errorf("begun: %v", begun)
		}
	})
}

// block puts a directory in the way of the state's replacement.
func block(t *testing.T, s *session.Session) {
	t.Helper()
	if err := os.Rename(s.Path(session.StateFile), s.Path("kept")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(s.Path(session.StateFile, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func free(t *testing.T, s *session.Session) {
	if err := os.RemoveAll(s.Path(session.StateFile)); err != nil {
		t.Error(err)
	}
	if err := os.Rename(s.Path("kept"), s.Path(session.StateFile)); err != nil {
		t.Error(err)
	}
}
