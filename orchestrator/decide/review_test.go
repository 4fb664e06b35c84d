package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
)

func TestProtocolP8FixRoundsWithinTheCap(t *testing.T) {
	for _, cap := range []int{0, 1, 3} {
		t.Run(fmt.Sprint("cap ", cap), func(t *testing.T) {
			m := newSim(t, "feature", func(s *orchestrator.State) { s.Settings.MaxReviewIterations = cap })
			m.toReview("serial", 1)
			for range cap {
				m.fails("reviewer_logic")
				m.phase("fixing")
				m.fixed()
				m.phase("reviewing")
			}
			m.fails("reviewer_logic")
			m.phase(orchestrator.PhaseDone)
			if m.s.Outcome != orchestrator.OutcomeNeedsHuman || !m.s.Completion.Draft || !m.s.Completion.Exhausted {
				t.Errorf("outcome %q, completion %+v", m.s.Outcome, m.s.Completion)
			}
			if got := m.count(orchestrator.EvReviewStarted); got != cap+1 {
				t.Errorf("%d reviews, want %d", got, cap+1)
			}
			if got := m.count(orchestrator.EvFixRound); got != cap {
				t.Errorf("%d fix rounds, want %d", got, cap)
			}

			m = newSim(t, "feature", func(s *orchestrator.State) { s.Settings.MaxReviewIterations = cap })
			m.toReview("serial", 1)
			for range cap {
				m.fails("reviewer_logic")
				m.fixed()
			}
			m.pass("reviewer_logic")
			m.summary("reviewer_logic")
			m.phase(orchestrator.PhaseDone)
			if m.s.Outcome != orchestrator.OutcomeDone || m.s.Completion.Draft {
				t.Errorf("outcome %q draft %v", m.s.Outcome, m.s.Completion.Draft)
			}
		})
	}
}

// rerun walks two reviewers, of whom logic failed, to the review after the fix.
func rerun(t *testing.T, setting string) *sim {
	m := newSim(t, "feature", func(s *orchestrator.State) { s.Settings.ReviewRerun = setting })
	m.architecture("reviewer_quality", "reviewer_logic")
	m.planned("serial", 1)
	m.coded(1)
	m.pass("reviewer_quality")
	m.fails("reviewer_logic")
	m.phase("fixing")
	m.fixed()
	return m
}

// pending lists the roles that owe a verdict.
func (m *sim) pending() []string {
	var roles []string
	for role, status := range m.s.ActiveReviews {
		if status == orchestrator.ReviewPending {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return roles
}

func TestProtocolP9RerunOfTwoReviewers(t *testing.T) {
	t.Run("failed", func(t *testing.T) {
		m := rerun(t, "failed")
		if got := m.pending(); !slices.Equal(got, []string{"reviewer_logic"}) {
			t.Fatalf("pending %v", got)
		}
		m.pass("reviewer_logic")
		if got := m.pending(); !slices.Equal(got, []string{"reviewer_quality"}) {
			t.Fatalf("second step: %v", got)
		}
		m.fails("reviewer_quality") // a normal fail of this iteration
		m.phase("fixing")
		m.fixed()
		m.pass("reviewer_quality")
		m.pass("reviewer_logic")
		m.summary("reviewer_logic")
		m.phase(orchestrator.PhaseDone)
		if m.s.Completion.Draft || m.s.ReviewIteration != 2 {
			t.Errorf("draft %v, iteration %d", m.s.Completion.Draft, m.s.ReviewIteration)
		}
	})
	t.Run("the second step is told what it passed before", func(t *testing.T) {
		m := rerun(t, "failed")
		m.pass("reviewer_logic")
		for _, e := range m.done {
			if e.Type == orchestrator.EffStartAgent && e.Args.Launch == m.s.Agents["reviewer_quality"].Launch {
				if e.Args.Since != m.s.ReviewResults["reviewer_quality"].Tree {
					t.Errorf("since %q", e.Args.Since)
				}
			}
		}
	})
	t.Run("all", func(t *testing.T) {
		m := rerun(t, "all")
		if got := m.pending(); !slices.Equal(got, []string{"reviewer_logic", "reviewer_quality"}) {
			t.Fatalf("pending %v", got)
		}
	})
	t.Run("trust", func(t *testing.T) {
		m := rerun(t, "trust")
		m.pass("reviewer_logic")
		m.summary("reviewer_logic")
		m.phase(orchestrator.PhaseDone)
		if !m.s.Completion.Draft {
			t.Error("a trusted pass made a draft ready")
		}
	})
	t.Run("a reviewer that timed out runs again after the fix", func(t *testing.T) {
		m := newSim(t, "feature", nil)
		m.architecture("reviewer_quality", "reviewer_logic")
		m.planned("serial", 1)
		m.coded(1)
		m.pass("reviewer_quality")
		m.fails("reviewer_logic")
		m.fixed()
		m.pass("reviewer_logic")
		m.timer("review") // the second step is silent: asked once more
		m.fails("reviewer_quality")
		m.fixed()
		if got := m.pending(); !slices.Equal(got, []string{"reviewer_quality"}) {
			t.Fatalf("pending %v", got)
		}
	})
}

func TestProtocolP10SilentReviewerAndMissingSummary(t *testing.T) {
	t.Run("silent reviewer", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.toReview("serial", 1)
		m.timer("review")
		if got := m.s.Agents["reviewer_logic"]; got.Attempt != 2 || m.s.ActiveReviews["reviewer_logic"] != orchestrator.ReviewPending {
			t.Fatalf("not asked again: %+v %v", got, m.s.ActiveReviews)
		}
		m.timer("review")
		m.parked(orchestrator.ReasonReviewTimeout)
		m.resume("")
		if m.s.Agents["reviewer_logic"].Launch == "" {
			t.Fatal("not asked after the resume")
		}
		m.pass("reviewer_logic")
	})
	t.Run("any fail counts although another is silent", func(t *testing.T) {
		m := newSim(t, "feature", nil)
		m.architecture("reviewer_quality", "reviewer_logic")
		m.planned("serial", 1)
		m.coded(1)
		m.fails("reviewer_quality")
		m.timer("review")
		m.phase("fixing")
	})
	t.Run("summary never written", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.toReview("serial", 1)
		m.pass("reviewer_logic")
		m.timer("summary")
		m.phase(orchestrator.PhaseDone)
		m.fallback()
	})
	t.Run("the summary's agent gone twice, without retries", func(t *testing.T) {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.AgentRetries = 0 })
		m.toReview("serial", 1)
		m.pass("reviewer_logic")
		m.exit("reviewer_logic", 1)
		m.timer("relaunch/reviewer_logic")
		m.exit("reviewer_logic", 1)
		m.phase(orchestrator.PhaseDone)
		m.fallback()
	})
}

func (m *sim) fallback() {
	m.t.Helper()
	for _, e := range m.done {
		if e.Args.Material == orchestrator.MaterialSummary {
			return
		}
	}
	m.t.Error("no fallback summary")
}

func TestProtocolP11ExhaustedReviewIsNeverApprovedByItself(t *testing.T) {
	exhausted := func(t *testing.T, change func(*orchestrator.State)) *sim {
		m := newSim(t, "quick", change)
		m.toReview("serial", 1)
		m.fails("reviewer_logic")
		for _, e := range m.done {
			if strings.HasSuffix(e.Args.Path, "approval.json") {
				t.Error("an approval was written")
			}
		}
		return m
	}
	for _, skip := range []bool{false, true} {
		t.Run(fmt.Sprint("interactive, skip ", skip), func(t *testing.T) {
			m := exhausted(t, func(s *orchestrator.State) { s.Interactive, s.Settings.SkipFinalApproval = true, skip })
			m.phase("completing")
			if m.s.Gate == nil {
				t.Fatal("no gate")
			}
			m.command("approve", nil)
			m.phase(orchestrator.PhaseDone)
			if m.s.Outcome != orchestrator.OutcomeDone || !m.s.Completion.Draft {
				t.Errorf("outcome %q, draft %v", m.s.Outcome, m.s.Completion.Draft)
			}
		})
	}
	t.Run("unattended", func(t *testing.T) {
		m := exhausted(t, nil)
		m.phase(orchestrator.PhaseDone)
		if m.s.Outcome != orchestrator.OutcomeNeedsHuman || m.s.OutcomeReason != orchestrator.ReasonReviewExhausted || !m.s.Completion.Draft {
			t.Errorf("outcome %q %q", m.s.Outcome, m.s.OutcomeReason)
		}
	})
	t.Run("unattended, stop", func(t *testing.T) {
		m := exhausted(t, func(s *orchestrator.State) { s.Settings.OnExhausted = "stop" })
		m.parked(orchestrator.ReasonReviewExhausted)
		m.resume("")
		if m.s.Gate == nil {
			t.Fatal("no gate after the resume")
		}
		m.command("approve", nil)
		m.phase(orchestrator.PhaseDone)
	})
}
