package decide_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

// A round that is given up before its push leaves the branch as it was: the next one takes
// over the commits of people, too.
func TestAChangeRoundGivenUpIsFollowedByOneFromTheBranch(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.AgentRetries = 0 })
	m.toEnd()
	m.phase(orchestrator.PhaseDone)
	m.command("changes", map[string]any{"text": "one more"})
	m.planned("serial", 1)
	m.exit("coder/1", 1)
	m.parked(orchestrator.ReasonAgentStalled)
	m.result = func(e orchestrator.Effect) orchestrator.Result {
		if e.Type == orchestrator.EffAdopt {
			return orchestrator.Result{Commit: "theirs", Tree: "their tree"}
		}
		return orchestrator.Result{}
	}
	m.command("changes", map[string]any{"text": "another way"})
	m.phase("planning")
	if n := len(m.effects(orchestrator.EffAdopt)); n != 2 || m.s.Integrated.Commit != "theirs" || m.s.Workspaces[m.view("planner")].Base != "theirs" {
		t.Errorf("%d looks at the branch, integrated %v, the planner works at %q", n, m.s.Integrated, m.s.Workspaces[m.view("planner")].Base)
	}
}

func TestProtocolP16ChangesTwice(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.architecture()
	m.planned("serial", 2)
	m.coded(1)
	m.coded(2)
	m.pass("reviewer_logic")
	m.summary("reviewer_logic")
	m.phase(orchestrator.PhaseDone)
	head, pr := m.s.Integrated.Commit, m.s.Completion.PRNumber
	m.command("changes", map[string]any{"text": "one more"})
	m.phase("planning")
	if m.s.ChangeRequest != "one more" || len(m.s.CompletedSubplans) != 0 || m.s.Schedule != nil || len(m.s.ReviewResults) != 0 || m.s.GroupTotal != 0 {
		t.Fatalf("change round starts with %q %v %v %v", m.s.ChangeRequest, m.s.CompletedSubplans, m.s.Schedule, m.s.ReviewResults)
	}
	refused := func(says string) {
		t.Helper()
		m.refused("changes", map[string]any{"text": "too soon"})
		if reason := m.last(orchestrator.EvCommandRefused).Data.(orchestrator.CommandRefusedRecord).Reason; !strings.Contains(reason, says) {
			t.Errorf("refused with %q, not with %q", reason, says)
		}
	}
	refused("a round on its pull request is under way")
	if m.s.Workspaces[m.view("planner")].Base != head {
		t.Errorf("the planner works at %q, integrated is %q", m.s.Workspaces[m.view("planner")].Base, head)
	}
	prompt := func() string {
		for i := len(m.done) - 1; i >= 0; i-- {
			if m.done[i].Type == orchestrator.EffStartAgent {
				return m.done[i].Args.PromptFile
			}
		}
		return ""
	}
	if prompt() != "04_planning/changes_prompt.md" {
		t.Errorf("prompt %q", prompt())
	}
	m.tool("submit_plan", "planner", map[string]any{}, plan("serial", 1, false))
	if m.s.ChangeRequest != "" {
		t.Error("an accepted plan does not clear the change request")
	}
	m.coded(1)
	m.pass("reviewer_logic")
	m.summary("reviewer_logic")
	m.phase(orchestrator.PhaseDone)
	if m.s.Completion.PRNumber != pr || m.s.ChangeRound != 1 || m.s.Integrated.Commit == head {
		t.Errorf("pull request %d, round %d", m.s.Completion.PRNumber, m.s.ChangeRound)
	}
	m.resume("and again")
	m.phase("planning")
	if m.s.ChangeRequest != "and again" || m.s.ChangeRound != 2 || m.s.ResumeCount != 1 {
		t.Errorf("%q round %d resumes %d", m.s.ChangeRequest, m.s.ChangeRound, m.s.ResumeCount)
	}
	m.command("stop", nil)
	refused("ended in the middle of its work: have it continue first")
	m.resume("")
	m.exit("planner", 1)
	m.timer("relaunch/planner")
	m.exit("planner", 1)
	m.parked(orchestrator.ReasonAgentStalled)
	m.command("changes", map[string]any{"text": "third"})
	if m.s.ChangeRequest != "and again\n\nthird" {
		t.Errorf("a request was lost: %q", m.s.ChangeRequest)
	}
}

func TestProtocolP18ViewsHoldAllResults(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.architecture()
	m.planned("parallel", 2)
	for _, id := range []string{"1", "2"} {
		if w := m.s.Workspaces[m.own(id)]; w.Base != "base" {
			t.Errorf("workspace %s at %q", id, w.Base)
		}
	}
	m.coded(1)
	m.coded(2)
	if w := m.s.Workspaces[m.view("reviewer_logic")]; w.Base != m.s.Integrated.Commit {
		t.Errorf("the reviewer sees %q, integrated is %q", w.Base, m.s.Integrated.Commit)
	}
	view := m.view("reviewer_logic")
	m.fails("reviewer_logic")
	if _, kept := m.s.Workspaces[view]; kept {
		t.Error("the view outlived its visit")
	}
	if w := m.s.Workspaces[m.own(orchestrator.FixTask)]; w.Base != m.s.Integrated.Commit {
		t.Errorf("the fixer works at %q, integrated is %q", w.Base, m.s.Integrated.Commit)
	}
	m.fixed()
	for _, e := range m.done {
		if e.Type == orchestrator.EffIntegrate && duty.IsView(e.Args.Workspace) {
			t.Errorf("a view was integrated: %+v", e.Args)
		}
	}
}

func TestUnsubmittedWorkOfAnotherPlanIsNotBuiltOn(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.planned("serial", 2)
	m.coded(1)
	name, half := m.own("2"), m.s.Workspaces[m.own("2")]
	if half.Base != m.s.Integrated.Commit || half.Base == "base" {
		t.Fatalf("the second coder works at %q, integrated is %q", half.Base, m.s.Integrated.Commit)
	}
	m.exit("coder/2", 1)
	m.timer("relaunch/coder/2")
	if got := m.s.Workspaces[name]; got != half || m.effects(orchestrator.EffStartAgent)[3].Args.Workspace != name {
		t.Fatalf("a relaunch does not go on in the same workspace: %+v", got)
	}
	m.exit("coder/2", 1)
	m.parked(orchestrator.ReasonAgentStalled)
	m.command("changes", map[string]any{"text": "otherwise"})
	m.planned("serial", 1)
	if got := m.s.Workspaces[m.own("1")]; m.own("1") == name || got.Visit != m.s.Visit || got.Base != m.s.Integrated.Commit {
		t.Fatalf("the new plan starts on unsubmitted work: %+v", got)
	}
}

func TestProtocolP16AChangeRoundStartsFromTheBranch(t *testing.T) {
	theirs := orchestrator.Result{Commit: "theirs", Tree: "treetheirs"}
	start := func(t *testing.T) *sim {
		m := newSim(t, "quick", nil)
		m.toEnd()
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffAdopt }
		m.command("changes", map[string]any{"text": "more"})
		m.phase("planning")
		if len(m.live()) != 0 {
			t.Fatal("the planner was started on an old base")
		}
		return m
	}
	t.Run("merged", func(t *testing.T) {
		m := start(t)
		m.hold, m.result = nil, completion(orchestrator.EffAdopt, theirs)
		m.settle()
		if w := m.s.Workspaces[m.view("planner")]; w.Base != "theirs" || m.s.Integrated.Tree != "treetheirs" {
			t.Errorf("the planner works at %q", w.Base)
		}
	})
	t.Run("paused, killed and taken up", func(t *testing.T) {
		m := start(t)
		m.command("pause", nil)
		m.command("resume", nil)
		m.command("stop", nil)
		m.hold, m.result = nil, completion(orchestrator.EffAdopt, theirs)
		m.resume("")
		if w := m.s.Workspaces[m.view("planner")]; w.Base != "theirs" || m.s.Agents["planner"].Launch == "" {
			t.Errorf("the planner works at %q: %+v", w.Base, m.s.Agents["planner"])
		}
	})
	t.Run("conflict, or no answer", func(t *testing.T) {
		m := start(t)
		base := m.s.Integrated.Commit
		m.hold, m.result = nil, completion(orchestrator.EffAdopt, orchestrator.Result{Conflicts: []string{"a"}})
		m.settle()
		if m.s.Integrated.Commit != base || m.s.Agents["planner"].Launch == "" || m.count(orchestrator.EvMergeConflict) != 1 {
			t.Errorf("integrated %q, planner %+v", m.s.Integrated.Commit, m.s.Agents["planner"])
		}
		m = start(t)
		m.failing(orchestrator.EffAdopt, orchestrator.FailNever)
		if m.s.Ended() || m.s.Agents["planner"].Launch == "" {
			t.Errorf("outcome %q", m.s.Outcome)
		}
	})
}

func TestProtocolG4TheServersFindingIsOne(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.result = completion(orchestrator.EffPush, orchestrator.Result{Refused: "x", Findings: []string{"secret: a.go"}})
	m.toEnd()
	m.parked(orchestrator.ReasonOutputGate)
	m.resume("")
	m.phase("planning")
}
