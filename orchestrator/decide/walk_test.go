package decide_test

import (
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
)

func TestFeatureWorkflowEndsInAPullRequest(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.phase("architecting")
	m.toReview("parallel", 2)
	m.fails("reviewer_logic")
	m.phase("fixing")
	m.tool("submit_done", "coder", map[string]any{"subplan_index": 1}, nil)
	m.phase("reviewing")
	m.pass("reviewer_logic")
	if !m.s.AwaitingSummary {
		t.Fatal("no summary was asked for after the pass")
	}
	m.summary("reviewer_logic")
	m.phase(orchestrator.PhaseDone)
	if m.s.Outcome != orchestrator.OutcomeDone || m.s.Completion.PRNumber != 7 || m.s.Completion.Draft {
		t.Fatalf("outcome %q, completion %+v", m.s.Outcome, m.s.Completion)
	}
	if len(m.s.Pending) != 0 {
		t.Fatalf("pending at the end: %+v", m.s.Pending)
	}
	for i, e := range m.events {
		if e.Seq != i+1 {
			t.Fatalf("event %d has seq %d", i, e.Seq)
		}
	}
}

func TestSecurity20TwoReviewersSecondStepOnTheFinalTree(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.tool("submit_architecture", "architect", map[string]any{"reviewers": []string{"reviewer_quality", "reviewer_logic"}}, textArtifact("02_architecting/architecture.md"))
	m.toReview("serial", 2)
	m.pass("reviewer_quality")
	m.fails("reviewer_logic")
	m.phase("fixing")
	m.tool("submit_done", "coder", map[string]any{"subplan_index": 1}, nil)
	m.pass("reviewer_logic")
	m.phase("reviewing")
	if m.s.ActiveReviews["reviewer_quality"] != orchestrator.ReviewPending {
		t.Fatalf("the pass for an older tree was not asked again: %v", m.s.ActiveReviews)
	}
	m.pass("reviewer_quality")
	m.summary("reviewer_logic")
	m.phase(orchestrator.PhaseDone)
}

func TestConflictIsResolvedByItsCoder(t *testing.T) {
	m := newSim(t, "feature", nil)
	first := true
	m.result = func(e orchestrator.Effect) orchestrator.Result {
		if e.Type == orchestrator.EffIntegrate && e.Args.Task == "2" && first {
			first = false
			return orchestrator.Result{Conflicts: []string{"a.go"}}
		}
		return orchestrator.Result{}
	}
	m.tool("submit_architecture", "architect", map[string]any{}, textArtifact("02_architecting/architecture.md"))
	m.tool("submit_plan", "planner", map[string]any{}, plan("parallel", 2, false))
	m.tool("submit_done", "coder/2", map[string]any{"subplan_index": 2}, nil)
	m.tool("submit_done", "coder/1", map[string]any{"subplan_index": 1}, nil)
	if m.s.Agents["coder/resolve-2"].Launch == "" {
		t.Fatalf("no resolving coder: %+v", m.s.Agents)
	}
	m.tool("submit_done", "coder/resolve-2", map[string]any{"subplan_index": 2}, nil)
	m.phase("reviewing")
	if m.count(orchestrator.EvMergeConflict) != 1 {
		t.Fatal("no merge_conflict record")
	}
}

func TestQuickFailedReviewIsADraftThatNeedsAHuman(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.toReview("serial", 1)
	m.fails("reviewer_logic")
	m.phase(orchestrator.PhaseDone)
	if m.s.Outcome != orchestrator.OutcomeNeedsHuman || !m.s.Completion.Draft {
		t.Fatalf("outcome %q draft %v", m.s.Outcome, m.s.Completion.Draft)
	}
}

func TestParkedSessionGoesOnAfterAResume(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.exit("planner", 0)
	m.timer("relaunch/planner")
	m.exit("planner", 1)
	if !m.s.Parked() || m.s.OutcomeReason != orchestrator.ReasonAgentStalled {
		t.Fatalf("not parked: %q %q", m.s.Outcome, m.s.OutcomeReason)
	}
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartResume}})
	m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{}})
	m.toReview("serial", 1)
	m.pass("reviewer_logic")
	m.summary("reviewer_logic")
	m.phase(orchestrator.PhaseDone)
}

func TestResumeOfASubmittedSubplanIntegratesIt(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.tool("submit_plan", "planner", map[string]any{}, plan("serial", 1, false))
	visit := m.s.Visit
	m.reduce(orchestrator.Input{Kind: orchestrator.InTool, Line: &orchestrator.Line{
		Tool: "submit_done", ID: "x", Role: "coder", Task: "1", Launch: m.s.Agents["coder/1"].Launch, Visit: &visit,
		Payload: []byte(`{"subplan_index":"1"}`),
	}})
	m.reduce(orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{Signal: "terminated"}})
	m.phase(orchestrator.PhaseFailed)
	m.settle()
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartResume}})
	m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{}})
	m.phase("reviewing")
}

func TestQuestionKeepsAnAgentWaitingAndItsAnswerGoesOn(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?", "options": []string{"a", "b"}}, nil)
	m.exit("planner", 0)
	if m.s.Agents["planner"].Waiting != "question" {
		t.Fatalf("agent: %+v", m.s.Agents["planner"])
	}
	m.command("answer", map[string]any{"text": "2"})
	if got := m.s.Questions[0].Answer; got != "b" {
		t.Fatalf("answer %q", got)
	}
	if m.s.Agents["planner"].Launch == "" {
		t.Fatal("the planner was not started again")
	}
	m.toReview("serial", 1)
}

func TestInteractiveGateChangesPlanAgain(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Interactive = true })
	m.toReview("serial", 1)
	m.pass("reviewer_logic")
	m.summary("reviewer_logic")
	if m.s.Gate == nil {
		t.Fatal("no gate")
	}
	m.command("changes", map[string]any{"text": "more"})
	m.phase("planning")
	if m.s.ChangeRequest != "more" || m.s.ChangeRound != 1 {
		t.Fatalf("%q %d", m.s.ChangeRequest, m.s.ChangeRound)
	}
	m.toReview("serial", 1)
	m.pass("reviewer_logic")
	m.summary("reviewer_logic")
	m.command("approve", nil)
	m.phase(orchestrator.PhaseDone)
}
