package engine_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// byHand is a line that says nothing but what the earlier tool's did, all in one second.
func byHand(tool, payload string) string {
	return fmt.Sprintf(`{"tool":%q,"timestamp":"2026-01-15T11:05:12+00:00","payload":%s}`, tool, payload) + "\n"
}

// handMade is a session whose coders and fixers are a person that writes lines by hand, and
// whose reviewers fail the first rounds.
func handMade(t *testing.T, fails int) *world {
	w := newWorld(t, "feature", func(st *orchestrator.State) { st.Settings.AgentRetries = 0 })
	w.play = func(w *world, e orchestrator.Effect) {
		switch role := e.Args.Role; {
		case role == "coder":
		case strings.HasPrefix(role, "reviewer") && !strings.HasSuffix(e.Args.PromptFile, "summary_prompt.md") && fails > 0:
			fails--
			w.write(artifact.ReviewFile("07_review", role), "verdict: fail\nsummary: No.\nfindings: [{issue: a, recommendation: b}]\n")
			w.submit(e.Args.Launch, "submit_review", `{"role":"`+role+`","verdict":"fail"}`)
		default:
			honest(w, e)
		}
	}
	return w
}

// J10: a line that a person writes again in another visit is another one, also within the
// same second; what is said twice in one visit is said once.
func TestProtocolJ10EqualLinesOfOneSecond(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := handMade(t, 2)
		h := w.start(engine.Options{})
		active := func(id string) func(*orchestrator.State) bool {
			return func(st *orchestrator.State) bool {
				return slices.Contains(st.ActivePlanIDs, id) && len(st.Pending) == 0
			}
		}
		done := byHand("submit_done", `{"subplan_index":1}`)
		w.until("the first coder is at work", active("1"))
		status := byHand("report_status", `{"message":"hi"}`)
		w.append(status + status + done + done)
		w.until("the next are at work", active("2"))
		if got := len(w.events(orchestrator.EvAgentStatus)); got != 1 {
			t.Errorf("said %d times", got)
		}
		w.append(byHand("submit_done", `{"subplan_index":2}`) + byHand("submit_done", `{"subplan_index":3}`))
		for round := 1; round <= 2; round++ {
			w.until("the fixer is at work", func(st *orchestrator.State) bool {
				return st.Phase == "fixing" && st.ReviewIteration == round && len(st.Pending) == 0
			})
			w.append(done)
		}
		st := h.wait()
		if st.Outcome != "done" || len(w.events(orchestrator.EvFixRound)) != 2 || len(w.events(orchestrator.EvAgentFailed)) != 0 {
			t.Errorf("ended %s %s after %d rounds", st.Outcome, st.OutcomeReason, len(w.events(orchestrator.EvFixRound)))
		}
		if got := len(w.events(orchestrator.EvSubplanDone)); got != 3 {
			t.Errorf("%d subplans done", got)
		}
	})
}

// J10, J4: a file that is read from its start again applies none of them twice.
func TestProtocolJ10EqualLinesAreReadAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := handMade(t, 1)
		h := w.start(engine.Options{})
		done := byHand("submit_done", `{"subplan_index":1}`)
		w.until("the first coder is at work", func(st *orchestrator.State) bool {
			return slices.Contains(st.ActivePlanIDs, "1") && len(st.Pending) == 0
		})
		w.append(done)
		w.until("the next are at work", func(st *orchestrator.State) bool {
			return slices.Contains(st.ActivePlanIDs, "2") && len(st.Pending) == 0
		})
		w.append(byHand("submit_done", `{"subplan_index":2}`) + byHand("submit_done", `{"subplan_index":3}`))
		w.until("the fixer is at work", func(st *orchestrator.State) bool { return st.Phase == "fixing" && len(st.Pending) == 0 })
		data, err := os.ReadFile(w.s.Path(session.ToolEvents))
		must(t, err)
		must(t, w.s.Replace(session.ToolEvents, append([]byte("\n"), data...)))
		w.pass(3 * time.Second)
		if st := w.state(); st.Phase != "fixing" || len(w.events(orchestrator.EvInputRewound)) != 1 {
			t.Fatalf("phase %s, %d rewinds", st.Phase, len(w.events(orchestrator.EvInputRewound)))
		}
		w.append(done)
		if st := h.wait(); st.Outcome != "done" {
			t.Errorf("ended %s %s", st.Outcome, st.OutcomeReason)
		}
	})
}

// J10: a reviewer that is asked once more hands in with the same line, also within the second.
func TestProtocolJ10ASecondReviewOfOneSecond(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "feature", nil)
		failed := false
		w.play = func(w *world, e orchestrator.Effect) {
			role, verdict := e.Args.Role, "pass"
			switch {
			case role == "architect":
				w.write("02_architecting/architecture.md", "# Architecture\n")
				w.submit(e.Args.Launch, "submit_architecture", `{"reviewers":["reviewer_logic","reviewer_quality"]}`)
				return
			case !strings.HasPrefix(role, "reviewer"), strings.HasSuffix(e.Args.PromptFile, "summary_prompt.md"):
				honest(w, e)
				return
			case role == "reviewer_logic" && !failed:
				failed, verdict = true, "fail"
			}
			w.write(artifact.ReviewFile("07_review", role), "verdict: "+verdict+"\nsummary: Said.\nfindings: [{issue: a, recommendation: b}]\n")
			w.append(byHand("submit_review", `{"role":"`+role+`","verdict":"`+verdict+`"}`))
		}
		st := w.start(engine.Options{}).wait()
		if st.Outcome != "done" || len(w.events(orchestrator.EvVerdict)) != 4 || len(w.events(orchestrator.EvAgentFailed)) != 0 {
			t.Errorf("ended %s %s, %d verdicts", st.Outcome, st.OutcomeReason, len(w.events(orchestrator.EvVerdict)))
		}
	})
}
