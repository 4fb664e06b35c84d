package decide_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

// A1: which role may hand in with which tool in which phase of the feature workflow.
// The cell names the role that is accepted; every other role, and every other phase,
// is refused with the tool that is expected instead.
func TestProtocolA1ToolRoleAndPhase(t *testing.T) {
	roles := []string{
		"architect", "product-manager", "planner", "designer", "coder", "code-researcher", "web-researcher",
		"reviewer", "reviewer_logic", "reviewer_quality", "reviewer_expert",
	}
	tools := []string{"submit_pm_done", "submit_architecture", "submit_plan", "submit_design", "submit_done", "submit_review", "submit_summary"}
	accepted := map[string]string{ // phase and tool -> role
		"product_management submit_pm_done": "product-manager", "architecting submit_architecture": "architect",
		"planning submit_plan": "planner", "designing submit_design": "designer", "implementing submit_done": "coder",
		"reviewing submit_review": "reviewer_quality", "fixing submit_done": "coder",
	}
	expected := map[string]string{
		"product_management": "submit_pm_done", "architecting": "submit_architecture", "planning": "submit_plan", "designing": "submit_design",
		"implementing": "submit_done", "reviewing": "submit_review", "fixing": "submit_done",
	}
	m := newSim(t, "feature", func(s *orchestrator.State) { s.ProductManager, s.Interactive = true, true })
	for _, stage := range stages {
		stage.reach(m)
		m.phase(stage.phase)
		for _, tool := range tools {
			for _, role := range roles {
				visit := m.s.Visit
				c := duty.Call{Tool: tool, Role: role, Visit: &visit}
				if tool == "submit_done" {
					index := orchestrator.Index("2")
					c.Payload.SubplanIndex = &index
				}
				j := duty.Accepts(m.def, m.s, c)
				if want := accepted[stage.phase+" "+tool] == role; j.OK != want {
					t.Errorf("%s by %s in %s: %+v", tool, role, stage.phase, j)
				}
				if !j.OK && j.Reason == "" {
					t.Errorf("%s by %s in %s is refused without a reason", tool, role, stage.phase)
				}
				if works := accepted[stage.phase+" "+expected[stage.phase]] == role; works && !j.OK && !slices.Equal(j.Expected, []string{expected[stage.phase]}) {
					t.Errorf("%s by %s in %s: expected %v", tool, role, stage.phase, j.Expected)
				}
			}
		}
	}
}

func TestProtocolA1SubmissionsMadeBefore(t *testing.T) {
	old := func(tool, role string, visit int, index string) duty.Call {
		c := duty.Call{Tool: tool, Role: role, Visit: &visit}
		if index != "" {
			i := orchestrator.Index(index)
			c.Payload.SubplanIndex = &i
		}
		return c
	}
	m := newSim(t, "feature", nil)
	m.architecture()
	m.planned("serial", 1)
	m.coded(1)
	m.fails("reviewer_logic")
	m.fixed()
	calls := []duty.Call{
		old("submit_architecture", "architect", 1, ""), old("submit_plan", "planner", 2, ""), old("submit_done", "coder", 3, "1"),
		old("submit_review", "reviewer_logic", 4, ""), old("submit_done", "coder", 5, "1"),
	}
	for _, c := range calls {
		if j := duty.Accepts(m.def, m.s, c); !j.Already {
			t.Errorf("%s of visit %d: %+v", c.Tool, *c.Visit, j)
		}
	}
	m.pass("reviewer_logic")
	calls = append(calls, old("submit_review", "reviewer_logic", 6, ""))
	m.summary("reviewer_logic")
	calls = append(calls, old("submit_summary", "reviewer_logic", 6, ""))
	for _, c := range calls {
		if j := duty.Accepts(m.def, m.s, c); !j.Already {
			t.Errorf("%s of visit %d at the end: %+v", c.Tool, *c.Visit, j)
		}
	}
	visit := 7
	if j := duty.Accepts(m.def, m.s, duty.Call{Tool: "submit_everything", Visit: &visit}); j.OK || !strings.Contains(j.Reason, "unknown") {
		t.Errorf("unknown tool: %+v", j)
	}
}

func TestReviewersSubmitForThemselves(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.architecture("reviewer_quality", "reviewer_logic")
	m.planned("serial", 1)
	m.coded(1)
	accepts := func(role, of string) duty.Judgement {
		return duty.Accepts(m.def, m.s, duty.Call{Tool: "submit_review", Role: role, Payload: orchestrator.Payload{Role: of}})
	}
	if j := accepts("reviewer_logic", "reviewer_quality"); j.OK || j.Already {
		t.Errorf("for another: %+v", j)
	}
	if j := accepts("reviewer_expert", ""); j.OK || !strings.Contains(j.Reason, "reviewer_logic, reviewer_quality") {
		t.Errorf("not asked: %+v", j)
	}
	m.pass("reviewer_logic")
	if j := accepts("reviewer_logic", "reviewer_logic"); !j.Already {
		t.Errorf("twice: %+v", j)
	}
	m.pass("reviewer_quality")
	if j := duty.Accepts(m.def, m.s, duty.Call{Tool: "submit_summary", Role: "reviewer_quality"}); j.OK {
		t.Errorf("not the coordinator: %+v", j)
	}
}

func TestResearchersSubmitTheirTopic(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.tool("research_dispatch_web", "planner", map[string]any{
		"topic": "auth", "context": "tokens", "questions": []string{"where?", "how?"}, "scope_hints": "cmd/",
	}, nil)
	done := func(role, task, topic, kind string) duty.Judgement {
		return duty.Accepts(m.def, m.s, duty.Call{Tool: "submit_research_done", Role: role, Task: task,
			Payload: orchestrator.Payload{Topic: topic, Type: kind}})
	}
	for name, j := range map[string]duty.Judgement{
		"another type":  done("code-researcher", "auth", "auth", "web"),
		"another topic": done("web-researcher", "auth", "login", "web"),
		"no such topic": done("web-researcher", "", "login", "web"),
	} {
		if j.OK || j.Already || j.Reason == "" {
			t.Errorf("%s: %+v", name, j)
		}
	}
	if j := done("web-researcher", "auth", "auth", "web"); !j.OK {
		t.Errorf("its own: %+v", j)
	}
	m.tool("submit_research_done", "web-researcher/auth", map[string]any{"topic": "auth", "type": "web"}, textArtifact("03_research/web-auth/summary.md"))
	if j := done("web-researcher", "auth", "auth", "web"); !j.Already {
		t.Errorf("twice: %+v", j)
	}
	if _, kept := m.s.Workspaces["view/web-researcher/auth"]; kept {
		t.Error("the researcher's view outlived it")
	}
	m.tool("research_dispatch_web", "planner", map[string]any{"topic": "auth", "questions": []string{"?"}}, nil)
	if reason := m.last(orchestrator.EvInputIgnored).Data.(orchestrator.InputIgnoredRecord).Reason; !strings.Contains(reason, "03_research/web-auth/summary.md") {
		t.Errorf("reason %q", reason)
	}
}

func TestResearchEndsWithTheWork(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.tool("research_dispatch_code", "planner", map[string]any{"topic": "slow", "questions": []string{"?"}}, nil)
	m.toEnd()
	m.phase(orchestrator.PhaseDone)
	if m.s.ResearchTasks["slow"] != orchestrator.ResearchFailed || m.count(orchestrator.EvResearchFailed) != 1 {
		t.Errorf("research %v", m.s.ResearchTasks)
	}
}
