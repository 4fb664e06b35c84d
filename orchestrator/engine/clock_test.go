package engine_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// silentSince lets the panes say how long nothing came from them, by the engine's clock.
func (w *world) silentSince() {
	since := map[orchestrator.Launch]time.Time{}
	w.looks = func(*orchestrator.State) {
		for launch, rep := range w.panes {
			if _, ok := since[launch]; !ok {
				since[launch] = time.Now()
			}
			rep.Silence = orchestrator.Duration(time.Since(since[launch]))
			w.panes[launch] = rep
		}
	}
}

func isPlanner(e orchestrator.Effect) bool { return e.Args.Role == "planner" }

// The whole ladder by the engine's clock: a nudge, a relaunch, a nudge, a person.
func TestProtocolP14TheLadderOfASilentAgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.watched = true
		w.play = idle
		w.silentSince()
		h := w.start(engine.Options{})
		var actions []string
		st := h.wait()
		for _, e := range w.events(orchestrator.EvAgentStalled) {
			actions = append(actions, e.Data.(orchestrator.AgentStalledRecord).Action)
		}
		if want := []string{"nudged", "relaunched", "nudged", "relaunched"}; !slices.Equal(actions, want) {
			t.Errorf("stalls: %v", actions)
		}
		first := w.events(orchestrator.EvAgentStalled)[0].TS.Sub(w.events("")[0].TS.Time)
		if first < 20*time.Minute || first > 20*time.Minute+10*time.Second {
			t.Errorf("nudged after %s", first)
		}
		if st.OutcomeReason != orchestrator.ReasonAgentStalled || !slices.Equal(w.launches(), []orchestrator.Launch{"1.planner.1", "1.planner.2"}) {
			t.Errorf("ended %s %s, launches %v", st.Outcome, st.OutcomeReason, w.launches())
		}
	})
}

func TestProtocolP14WhatIsNoStall(t *testing.T) {
	silent := func(t *testing.T, change func(*orchestrator.State)) *world {
		w := newWorld(t, "quick", change)
		w.watched = true
		w.play = idle
		w.silentSince()
		w.start(engine.Options{})
		w.until("at work", func(st *orchestrator.State) bool { return len(w.launches()) == 1 && len(st.Pending) == 0 })
		return w
	}
	still := func(t *testing.T, w *world, launches int) {
		t.Helper()
		if st := w.state(); st.Ended() || len(st.Messages) > 0 || len(w.launches()) != launches {
			t.Errorf("outcome %s %s, messages %+v, launches %v", st.Outcome, st.OutcomeReason, st.Messages, w.launches())
		}
	}
	t.Run("open question", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			w := silent(t, nil)
			w.submit("1.planner.1", "ask_human", `{"id":"q1","question":"Which?"}`)
			w.pass(130 * time.Minute) // longer than limits.phase
			still(t, w, 1)
			if n, waiting := len(w.events(orchestrator.EvAgentStalled)), len(w.events(orchestrator.EvAgentWaiting)); n != 0 || waiting != 1 {
				t.Errorf("%d stalls, %d times waiting", n, waiting)
			}
		})
	})
	t.Run("interactive: record only, limits too", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			w := silent(t, func(st *orchestrator.State) {
				st.Interactive, st.Settings.LimitTotal = true, orchestrator.Duration(150*time.Minute)
			})
			w.pane("1.planner.1", func(r *orchestrator.AgentReport) { r.Dialog = "May I?" })
			w.pass(160 * time.Minute)
			still(t, w, 1)
			if s, l := len(w.events(orchestrator.EvAgentStalled)), len(w.events(orchestrator.EvLimitReached)); s != 1 || l != 2 {
				t.Errorf("%d stalls, %d limits", s, l)
			}
		})
	})
	t.Run("unknown dialog: a person", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			w := silent(t, nil)
			w.pane("1.planner.1", func(r *orchestrator.AgentReport) { r.Dialog = "May I?" })
			st := w.until("parked", (*orchestrator.State).Parked)
			if st.OutcomeReason != orchestrator.ReasonAgentDialog {
				t.Errorf("reason %s", st.OutcomeReason)
			}
		})
	})
}

// A provider that lets an agent wait for hours costs no limit and no relaunch.
func TestProtocolP19FiveHoursOfRateLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", func(st *orchestrator.State) { st.Settings.LimitTotal = orchestrator.Duration(4 * time.Hour) })
		w.watched = true
		w.play = only(isPlanner)
		w.silentSince()
		h := w.start(engine.Options{})
		w.until("at work", func(st *orchestrator.State) bool { return len(w.launches()) == 1 && len(st.Pending) == 0 })
		w.pane("1.planner.1", func(r *orchestrator.AgentReport) { r.RateLimited = true })
		w.pass(5 * time.Hour)
		w.pane("1.planner.1", func(r *orchestrator.AgentReport) { r.RateLimited = false })
		w.pass(15 * time.Minute)
		if st := w.state(); st.Ended() || len(st.Messages) != 0 {
			t.Fatalf("ended %s %s %s, messages %+v", st.Outcome, st.OutcomeReason, st.Cause, st.Messages)
		}
		honest(w, orchestrator.Effect{Args: orchestrator.Args{Role: "planner", Launch: "1.planner.1"}})
		if st := h.wait(); st.Outcome != "done" || slices.Contains(w.launches(), "1.planner.2") {
			t.Errorf("ended %s, launches %v", st.Outcome, w.launches())
		}
	})
}

// The timers of a review and of its summary, by the engine's clock.
func TestProtocolP10NobodyAnswers(t *testing.T) {
	t.Run("reviewer", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, "quick", func(st *orchestrator.State) { st.Settings.LimitStall = 0 })
			w.watched = true
			w.play = only(func(e orchestrator.Effect) bool { return e.Args.Role == "reviewer_logic" })
			st := w.start(engine.Options{}).wait()
			asked := slices.DeleteFunc(w.launches(), func(l orchestrator.Launch) bool { return !strings.Contains(string(l), "reviewer") })
			if st.OutcomeReason != orchestrator.ReasonReviewTimeout || !slices.Equal(asked, []orchestrator.Launch{"3.reviewer_logic.1", "3.reviewer_logic.2"}) {
				t.Errorf("ended %s %s, asked %v", st.Outcome, st.OutcomeReason, asked)
			}
		})
	})
	t.Run("summary", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, "quick", nil)
			w.watched = true
			w.play = only(isSummary)
			st := w.start(engine.Options{}).wait()
			text, err := os.ReadFile(w.s.Path("08_completion/summary.md"))
			if st.Outcome != "done" || err != nil || string(text) != "fallback\n" {
				t.Errorf("ended %s, summary %q, %v", st.Outcome, text, err)
			}
		})
	})
}

// What an agent hands in during a pause is taken after it, and the deadline moves.
func TestProtocolP15ASubmissionWaitsForTheEndOfThePause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", func(st *orchestrator.State) {
			st.Settings.LimitStall, st.Settings.LimitPhase = 0, orchestrator.Duration(20*time.Minute)
			st.Settings.LimitTotal = orchestrator.Duration(30 * time.Minute)
		})
		w.play = only(isPlanner)
		w.watched = true
		h := w.start(engine.Options{})
		before := w.until("at work", func(st *orchestrator.State) bool { return len(w.launches()) == 1 && len(st.Pending) == 0 })
		w.command(`{"name":"pause","actor":"ann","source":"cli"}`)
		w.until("paused", func(st *orchestrator.State) bool { return st.Paused })
		honest(w, orchestrator.Effect{Args: orchestrator.Args{Role: "planner", Launch: "1.planner.1"}})
		w.pass(time.Hour) // past limits.phase and limits.total
		if st := w.state(); st.Phase != "planning" || st.Ended() || st.ToolCursor != before.ToolCursor {
			t.Fatalf("phase %s, outcome %s, cursor %+v", st.Phase, st.Outcome, st.ToolCursor)
		}
		w.command(`{"name":"resume","actor":"ann","source":"cli"}`)
		st := h.wait()
		if st.Outcome != "done" || slices.Contains(w.launches(), "1.planner.2") {
			t.Errorf("ended %s %s, launches %v", st.Outcome, st.Cause, w.launches())
		}
	})
}

// design.md counts when it is whole: not blank, not in parts, not from before.
func TestProtocolP2AWholeDesignCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "feature", nil)
		w.play = func(w *world, e orchestrator.Effect) {
			switch e.Args.Role {
			case "planner":
				w.write("04_planning/plan.yaml", strings.Replace(plan, "needs_design: false", "needs_design: true", 1))
				w.submit(e.Args.Launch, "submit_plan", `{}`)
			case "designer":
			default:
				honest(w, e)
			}
		}
		const file = "05_design/design.md"
		if err := w.s.EnsureDirs("05_design"); err != nil {
			t.Fatal(err)
		}
		w.write(file, "# Of an earlier plan\n")
		h := w.start(engine.Options{})
		w.until("designing", func(st *orchestrator.State) bool { return st.Phase == "designing" && len(st.Pending) == 0 })
		waits := func(why string) {
			t.Helper()
			if st := w.state(); st.Phase != "designing" {
				t.Fatalf("accepted %s", why)
			}
		}
		w.pass(10 * time.Second)
		waits("the design of an earlier plan")
		w.write(file, "\n \n")
		w.pass(10 * time.Second)
		waits("a blank file")
		for i := range 10 {
			w.write(file, "# Design\n"+strings.Repeat("more\n", i))
			w.pass(400 * time.Millisecond)
			waits("half a file")
		}
		if err := os.Chtimes(w.s.Path(file), time.Now().Add(-time.Hour), time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		w.pass(10 * time.Second)
		waits("a file from before the phase")
		w.write(file, "# Design\n\nWhole.\n")
		if st := h.wait(); st.Outcome != "done" {
			t.Errorf("ended %s", st.Outcome)
		}
	})
}

// A lock of the issue is heard of without any record or file.
func TestProtocolA5ALockedIssueIsLookedAtAgainAndAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.watched = true
		w.play = only(isPlanner)
		at := time.Now().Add(time.Hour)
		w.start(engine.Options{Locked: func() bool { return !time.Now().Before(at) }})
		w.until("at work", func(st *orchestrator.State) bool { return len(w.launches()) == 1 && len(st.Pending) == 0 })
		w.submit("1.planner.1", "ask_human", `{"id":"q1","question":"Which?"}`)
		w.pass(50 * time.Minute)
		if st := w.state(); len(st.Questions) != 1 || !st.Questions[0].Open() {
			t.Fatalf("questions %+v", st.Questions)
		}
		w.pass(11 * time.Minute)
		if st := w.state(); st.Questions[0].Open() || st.Settings.Reachable {
			t.Errorf("question %+v", st.Questions[0])
		}
	})
}
