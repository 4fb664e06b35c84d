package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/artifact"
)

func TestASessionRunsToItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "feature", nil)
		commits := 0
		st := w.start(engine.Options{OnCommit: func(*orchestrator.State) { commits++ }}).wait()
		if st.Phase != "done" || st.Outcome != "done" || len(st.Pending) != 0 {
			t.Fatalf("ended in %s, %s, pending %v", st.Phase, st.Outcome, st.Pending)
		}
		if disk := w.state(); disk.Seq != st.Seq || disk.Phase != st.Phase {
			t.Errorf("on disk: %s at %d, returned %d", disk.Phase, disk.Seq, st.Seq)
		}
		var phases []string
		for _, e := range w.events(orchestrator.EvPhaseEntered) {
			phases = append(phases, e.Phase)
		}
		want := []string{"architecting", "planning", "implementing", "reviewing", "completing"}
		if !slices.Equal(phases, want) {
			t.Errorf("phases were %v", phases)
		}
		if len(w.panes) != 0 {
			t.Errorf("panes are left: %v", w.panes)
		}
		if commits == 0 || len(w.commits) != 4 {
			t.Errorf("%d commits of state, work commits %v", commits, w.commits)
		}
	})
}

// A host that ends anywhere is followed by one that reaches the same end.
func TestProtocolC1AHostThatEndsAnywhereIsFollowedByOne(t *testing.T) {
	var want string
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.start(engine.Options{}).wait()
		want = w.story()
	})
	every := 1
	if testing.Short() {
		every = 5
	}
	for n := 1; n <= 40; n += every {
		t.Run(fmt.Sprintf("after commit %d", n), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, "quick", nil)
				w.untaken = n%4 == 0
				commits, reached := 0, make(chan struct{})
				h := w.start(engine.Options{OnCommit: func(*orchestrator.State) {
					if commits++; commits == n {
						close(reached)
					}
				}})
				select {
				case <-reached:
					h.cancel(errors.New("killed"))
				case <-h.done:
				}
				<-h.done
				w.start(engine.Options{}).wait()
				if got := w.story(); got != want {
					t.Errorf("the story is\n%s\nwant\n%s", got, want)
				}
			})
		})
	}
}

// story is what a session's end must not depend on: what was accepted, and what
// exists once.
func (w *world) story() string {
	st := w.state()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s visit %d, groups %v, subplans %d\n", st.Phase, st.Outcome, st.Visit, st.CompletedGroups, len(st.CompletedSubplans))
	for _, e := range w.events("") {
		switch e.Type {
		case orchestrator.EvPhaseEntered, orchestrator.EvArtifactAccepted, orchestrator.EvVerdict, orchestrator.EvDone:
			fmt.Fprintf(&b, "%s %s\n", e.Type, e.Phase)
		}
	}
	launches := w.launches()
	slices.Sort(launches)
	fmt.Fprintf(&b, "launches %v, panes %d, commits %d\n", launches, len(w.panes), len(w.commits))
	return b.String()
}

// R5: a daemon that restarts finds its agents at work and starts none.
func TestProtocolR5ARestartAdoptsLiveAgents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		h := w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.pass(time.Second)
		h.stop()
		before := w.state().Seq
		h = w.start(engine.Options{})
		w.pass(time.Minute)
		if got := w.launches(); len(got) != 1 {
			t.Errorf("launches are %v", got)
		}
		if st := w.state(); st.Seq != before || st.ResumeCount != 0 {
			t.Errorf("the restart left records: %d, was %d", st.Seq, before)
		}
		h.stop()
	})
}

// R6: what was submitted before a resume comes before any launch.
func TestProtocolR6AResumeReadsBeforeItLaunches(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		h := w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.pass(time.Second)
		h.stop()
		w.panes = map[orchestrator.Launch]orchestrator.AgentReport{} // the machine went down
		w.write("04_planning/plan.yaml", plan)
		w.submit("1.planner.1", "submit_plan", `{}`)
		w.start(engine.Options{Start: orchestrator.Start{Mode: orchestrator.StartResume}})
		st := w.until("implementing", func(st *orchestrator.State) bool { return st.Phase == "implementing" })
		if st.ResumeCount != 1 || !slices.Equal(w.launches()[:1], []orchestrator.Launch{"1.planner.1"}) || slices.Contains(w.launches(), "1.planner.2") {
			t.Errorf("resumes %d, launches %v", st.ResumeCount, w.launches())
		}
	})
}

func TestAResumeStartsWhatIsOwed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		h := w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.pass(time.Second)
		h.stop()
		w.panes = map[orchestrator.Launch]orchestrator.AgentReport{}
		w.start(engine.Options{Start: orchestrator.Start{Mode: orchestrator.StartResume}})
		w.until("at work again", func(*orchestrator.State) bool { return len(w.launches()) == 2 })
		w.pass(time.Minute)
		if got := w.launches(); !slices.Equal(got, []orchestrator.Launch{"1.planner.1", "1.planner.2"}) {
			t.Errorf("launches are %v", got)
		}
		if retries := w.state().Agents["planner"].Retries; retries != 0 {
			t.Errorf("a resume counted %d retries", retries)
		}
	})
}

// R2: a verdict that was written but never read leads to the fix phase.
func TestProtocolR2AnUnreadVerdictCountsAtAResume(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "feature", nil)
		w.play = func(w *world, e orchestrator.Effect) {
			if e.Args.Role != "reviewer_logic" && !strings.HasSuffix(e.Args.PromptFile, "fix_prompt.md") {
				honest(w, e)
			}
		}
		h := w.start(engine.Options{})
		st := w.until("reviewing", func(st *orchestrator.State) bool { return st.Phase == "reviewing" && len(st.Pending) == 0 })
		h.stop()
		w.panes = map[orchestrator.Launch]orchestrator.AgentReport{}
		w.write(artifact.ReviewFile("07_review", "reviewer_logic"), "verdict: fail\nsummary: No.\nfindings: [{issue: none, recommendation: some}]\n")
		w.start(engine.Options{Start: orchestrator.Start{Mode: orchestrator.StartResume}})
		now := w.until("fixing", func(st *orchestrator.State) bool { return st.Phase == "fixing" })
		if got := w.launches(); slices.Contains(got, orchestrator.Launch(fmt.Sprintf("%d.reviewer_logic.2", st.Visit))) || now.ReviewIteration != 1 {
			t.Errorf("launches are %v, iteration %d", got, now.ReviewIteration)
		}
	})
}

// E3: a signal is on disk at once, and the agents are stopped.
func TestProtocolE3ASignalCancelsTheRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		h := w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.pass(time.Second)
		begin := time.Now()
		h.cancel(engine.Signal{Name: "terminated"})
		st := h.wait()
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it took %s", took)
		}
		if st.Outcome != "canceled" || st.Phase != "failed" || st.InterruptedPhase != "planning" || len(st.Pending) != 0 || len(w.panes) != 0 {
			t.Errorf("state is %s %s, pending %v, panes %v", st.Phase, st.Outcome, st.Pending, w.panes)
		}
		if n := len(w.events(orchestrator.EvCanceled)); n != 1 {
			t.Errorf("%d records of the end", n)
		}
		w.play = honest
		st = w.start(engine.Options{Start: orchestrator.Start{Mode: orchestrator.StartResume}}).wait()
		if st.Outcome != "done" {
			t.Errorf("the resumed session ended %s", st.Outcome)
		}
	})
}

func TestASignalDoesNotWaitForeverForEffects(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		w.hold = func(e orchestrator.Effect) <-chan struct{} {
			if e.Type == orchestrator.EffStopAgent {
				return make(chan struct{})
			}
			return nil
		}
		h := w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		begin := time.Now()
		h.cancel(engine.Signal{Name: "interrupt"})
		st := h.wait()
		if took := time.Since(begin); took > 11*time.Second {
			t.Errorf("it took %s", took)
		}
		if len(st.Pending) != 2 || st.Pending[0].Type != orchestrator.EffStopAgent || st.Pending[1].Type != orchestrator.EffCheckpoint {
			t.Errorf("pending is %+v", st.Pending)
		}
		w.hold = nil
		st = w.start(engine.Options{}).wait() // the next start does what is left and ends
		if len(st.Pending) != 0 || st.Outcome != "canceled" || st.ResumeCount != 0 {
			t.Errorf("after the next start: %+v", st)
		}
	})
}

// The end of a daemon is none of its sessions.
func TestProtocolE3AnyOtherCauseOnlyLetsGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		h := w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		cause := errors.New("daemon stops")
		h.cancel(cause)
		<-h.done
		if !errors.Is(h.err, cause) || h.st.Ended() || len(w.panes) != 1 {
			t.Errorf("ended with %v, outcome %q, panes %v", h.err, h.st.Outcome, w.panes)
		}
	})
}

// C5: when a submission and the exit of its agent are there together, the
// submission wins.
func TestProtocolC5ASubmissionBeatsTheExit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		w.looks = func(s *orchestrator.State) { // the agent submits and dies just before it is looked at
			a := s.Agents["planner"]
			if s.Phase != "planning" || a.Launch == "" || len(w.started) == 0 {
				return
			}
			w.play, w.looks = honest, nil
			honest(w, orchestrator.Effect{Args: orchestrator.Args{Role: "planner", Launch: a.Launch}})
			code := 1
			w.panes[a.Launch] = orchestrator.AgentReport{Key: "planner", Launch: a.Launch, Condition: orchestrator.AgentDead, ExitCode: &code}
		}
		st := w.start(engine.Options{}).wait()
		if st.Outcome != "done" || !slices.Contains(w.launches(), "1.planner.1") || slices.Contains(w.launches(), "1.planner.2") {
			t.Errorf("ended %s %s, launches %v", st.Outcome, st.OutcomeReason, w.launches())
		}
	})
}

func TestAMissingPaneCountsAfterTwoSeconds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.pass(3100 * time.Millisecond) // between two looks
		w.mu.Lock()
		pane := w.panes["1.planner.1"]
		delete(w.panes, "1.planner.1")
		w.mu.Unlock()
		w.pass(2050 * time.Millisecond) // seen missing at least twice, but not for two seconds
		w.pane("1.planner.1", func(r *orchestrator.AgentReport) { *r = pane })
		w.pass(30 * time.Second)
		if n := len(w.launches()); n != 1 {
			t.Fatalf("a pane that came back was given up: %v", w.launches())
		}
		w.mu.Lock()
		delete(w.panes, "1.planner.1")
		w.mu.Unlock()
		w.pass(30 * time.Second)
		if got := w.launches(); len(got) != 2 {
			t.Errorf("launches are %v", got)
		}
	})
}

func TestTmuxThatCannotBeAskedSaysNothingAboutAgents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.mu.Lock()
		w.lookErr = errors.New("no answer")
		w.mu.Unlock()
		w.pass(time.Minute)
		if n := len(w.launches()); n != 1 {
			t.Errorf("launches are %v", w.launches())
		}
	})
}

// J1, J2: halves of lines, and what a torn one leaves.
func TestProtocolJ1HalfALineIsAppliedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.append(`{"tool":"report_status","pay`)
		w.pass(time.Second)
		w.append(`load":{"message":"half"}}` + "\n")
		w.pass(3 * time.Second)
		if n := len(w.events(orchestrator.EvAgentStatus)); n != 1 {
			t.Errorf("%d records of the status", n)
		}
		w.append("torn\n" + `{"tool":"nothing"}` + "\n")
		w.pass(3 * time.Second)
		if c, u := len(w.events(orchestrator.EvInputCorrupt)), len(w.events(orchestrator.EvInputUnknown)); c != 1 || u != 1 {
			t.Errorf("%d corrupt, %d unknown", c, u)
		}
	})
}

// J4: a file that was replaced is read again; what is known is not applied twice.
func TestProtocolJ4AReplacedFileIsNotAppliedTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		status := func(n int) string {
			return fmt.Sprintf(`{"tool":"report_status","id":"s%d","payload":{"message":"%d"}}`+"\n", n, n)
		}
		w.append(status(1) + status(2))
		w.pass(3 * time.Second)
		if err := os.WriteFile(w.s.Path(session.ToolEvents), []byte(status(2)+status(3)), 0o600); err != nil {
			t.Fatal(err)
		}
		w.pass(3 * time.Second)
		if n := len(w.events(orchestrator.EvInputRewound)); n != 1 {
			t.Errorf("%d rewinds", n)
		}
		if n := len(w.events(orchestrator.EvAgentStatus)); n != 3 {
			t.Errorf("%d records of a status, want 3", n)
		}
	})
}

// S4: the host's own state wins over an edit.
func TestProtocolS4AnEditedStateIsPutBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		w.start(engine.Options{})
		st := w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.pass(1100 * time.Millisecond) // no commit is under way
		if err := os.WriteFile(w.s.Path(session.StateFile), []byte(`{"phase":"done"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		w.pass(10 * time.Second)
		if now := w.state(); now.Phase != st.Phase || len(w.events(orchestrator.EvStateOverwritten)) != 1 {
			t.Errorf("phase is %s, %d records", now.Phase, len(w.events(orchestrator.EvStateOverwritten)))
		}
	})
}

func TestAPausedSessionKeepsToolLinesForLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.watched = true
		w.play = idle
		w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.command(`{"name":"pause","actor":"ann"}`)
		w.until("paused", func(st *orchestrator.State) bool { return st.Paused })
		w.write("04_planning/plan.yaml", plan)
		w.submit("1.planner.1", "submit_plan", `{}`)
		w.pass(time.Hour * 3) // longer than any limit
		if st := w.state(); st.Phase != "planning" || st.ToolCursor.Offset != 0 || st.Ended() {
			t.Fatalf("phase %s, cursor %+v, outcome %q", st.Phase, st.ToolCursor, st.Outcome)
		}
		w.command(`{"name":"resume","actor":"ann"}`)
		w.until("implementing", func(st *orchestrator.State) bool { return st.Phase == "implementing" })
	})
}

func TestALimitEndsTheRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", func(st *orchestrator.State) { st.Settings.LimitPhase = orchestrator.Duration(time.Hour) })
		w.watched = true
		w.play = idle
		begin := time.Now()
		st := w.start(engine.Options{}).wait()
		if st.Outcome != "failed" || len(w.events(orchestrator.EvLimitReached)) != 1 {
			t.Errorf("ended %s", st.Outcome)
		}
		if took := time.Since(begin); took < time.Hour || took > time.Hour+5*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAnIdleSessionCommitsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", func(st *orchestrator.State) { st.Settings.LimitStall = 0 })
		w.play = idle
		var commits atomic.Int64
		h := w.start(engine.Options{OnCommit: func(*orchestrator.State) { commits.Add(1) }})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.pass(5 * time.Second)
		before, looks := commits.Load(), w.seen()
		for i := range 100 {
			w.pane("1.planner.1", func(r *orchestrator.AgentReport) {
				r.Silence = orchestrator.Duration(i) * orchestrator.Duration(time.Second)
			})
			w.pass(time.Second)
		}
		if n := commits.Load() - before; n != 0 {
			t.Errorf("%d commits", n)
		}
		if n := w.seen() - looks; n < 45 || n > 55 {
			t.Errorf("%d looks at the agents in 100 seconds", n)
		}
		h.stop()
	})
}

func TestWakesAreTakenAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		wakes := make(chan struct{}, 1)
		w.start(engine.Options{Wakes: wakes})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.pass(3 * time.Second)
		w.append(`{"tool":"report_status","payload":{"message":"hi"}}` + "\n")
		wakes <- struct{}{}
		w.pass(10 * time.Millisecond)
		if n := len(w.events(orchestrator.EvAgentStatus)); n != 1 {
			t.Errorf("%d records after the wake", n)
		}
		close(wakes)
		w.append(`{"tool":"report_status","payload":{"message":"ho"}}` + "\n")
		w.pass(3 * time.Second)
		if n := len(w.events(orchestrator.EvAgentStatus)); n != 2 {
			t.Errorf("%d records without wakes", n)
		}
	})
}

// C16: at rest there are safety looks and nothing else; a report may ask for an earlier one.
func TestProtocolC16AtRestNothingIsPolled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		w.start(engine.Options{Wakes: make(chan struct{})})
		w.until("at work", func(st *orchestrator.State) bool { return len(w.launches()) == 1 && len(st.Pending) == 0 })
		w.pass(time.Minute)
		looks, records := w.seen(), len(w.events(""))
		w.pass(10 * time.Minute)
		if n := w.seen() - looks; n < 19 || n > 21 {
			t.Errorf("%d looks at the agents in 10 minutes", n)
		}
		if n := len(w.events("")) - records; n != 0 {
			t.Errorf("%d records in 10 minutes", n)
		}
		w.mu.Lock()
		w.next = 2 * time.Second // a screen decides
		w.mu.Unlock()
		w.pass(time.Minute)
		looks = w.seen()
		w.pass(time.Minute)
		if n := w.seen() - looks; n < 29 || n > 31 {
			t.Errorf("%d looks in a minute in which a screen decides", n)
		}
	})
}

func TestRunNeedsASessionItCanRead(t *testing.T) {
	w := newWorld(t, "quick", nil)
	w.broken = true
	if err := os.WriteFile(w.s.Path(session.StateFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var corrupt *session.CorruptError
	if _, err := engine.Run(context.Background(), engine.Options{Session: w.s, Effects: w, Agents: w}); !errors.As(err, &corrupt) {
		t.Errorf("run: %v", err)
	}
}
