package decide_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
)

func TestProtocolP13ResearchIsLostAndAskedAgain(t *testing.T) {
	m := newSim(t, "quick", nil)
	ask := map[string]any{"topic": "auth", "questions": []string{"where?"}}
	m.tool("research_dispatch_code", "planner", ask, nil)
	m.tool("research_dispatch_code", "planner", ask, nil)
	if m.count(orchestrator.EvInputIgnored) != 1 {
		t.Error("a running topic was dispatched again")
	}
	m.exit("code-researcher/auth", 1)
	if m.s.ResearchTasks["auth"] != orchestrator.ResearchFailed || m.s.Ended() || m.s.Agents["planner"].Launch == "" {
		t.Fatalf("topic %v, outcome %q", m.s.ResearchTasks, m.s.Outcome)
	}
	if n := len(m.s.Messages); n != 1 || m.s.Messages[0].To != "pipeline/planner" {
		t.Fatalf("the owner was not told: %+v", m.s.Messages)
	}
	m.tool("research_dispatch_code", "planner", ask, nil)
	if m.s.ResearchTasks["auth"] != orchestrator.ResearchDispatched {
		t.Fatal("a failed topic cannot be dispatched again")
	}
	m.planned("serial", 1)
	m.phase("implementing")
	if m.s.Agents["code-researcher/auth"].Launch == "" {
		t.Error("the researcher did not survive the phase change")
	}
	m.tool("submit_research_done", "code-researcher/auth", map[string]any{"topic": "auth", "type": "code"}, textArtifact("03_research/code-auth/summary.md"))
	if m.s.ResearchTasks["auth"] != orchestrator.ResearchDone || m.count(orchestrator.EvResearchDone) != 1 {
		t.Error("a submission of an earlier visit's researcher was not taken")
	}
	m.coded(1)
	m.phase("reviewing")
}

// A researcher that cannot be started ends its topic only, and the agent that waits for it goes on.
func TestProtocolP13AResearcherThatCannotStartEndsItsTopic(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.hold = func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffStartAgent && e.Args.Role == "code-researcher"
	}
	m.tool("research_dispatch_code", "planner", map[string]any{"topic": "auth", "questions": []string{"where?"}}, nil)
	m.exit("planner", 0)
	m.failing(orchestrator.EffStartAgent, orchestrator.FailNever)
	if m.s.ResearchTasks["auth"] != orchestrator.ResearchFailed || m.s.Ended() || m.count(orchestrator.EvResearchFailed) != 1 {
		t.Fatalf("topic %v, outcome %q", m.s.ResearchTasks, m.s.Outcome)
	}
	if a := m.s.Agents["planner"]; a.Launch == "" || a.Attempt != 2 || a.Retries != 0 {
		t.Errorf("the planner: %+v", a)
	}
	if a := m.s.Agents["code-researcher/auth"]; a.Launch != "" || m.s.Workspaces["view/code-researcher/auth"].Path != "" {
		t.Errorf("left of the researcher: %+v, %v", a, m.s.Workspaces)
	}
}

// A topic is asked for again while the place of its first researcher is being removed.
func TestProtocolP13ResearchAskedAgainWaitsForItsPlace(t *testing.T) {
	m := newSim(t, "quick", nil)
	ask := map[string]any{"topic": "auth", "questions": []string{"where?"}}
	m.tool("research_dispatch_code", "planner", ask, nil)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffRemoveWorkspace }
	m.exit("code-researcher/auth", 1)
	m.tool("research_dispatch_code", "planner", ask, nil)
	const place = "view/code-researcher/auth"
	if m.s.Workspaces[place].Path != "" {
		t.Error("the new workspace was made before the old one was removed")
	}
	m.hold = nil
	m.settle()
	if m.s.Workspaces[place].Path == "" || m.s.Agents["code-researcher/auth"].Launch == "" {
		t.Errorf("workspaces %v, agent %+v", m.s.Workspaces, m.s.Agents["code-researcher/auth"])
	}
}

func TestProtocolP13ResearchersAreLimited(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.Research = 1 })
	m.tool("research_dispatch_code", "planner", map[string]any{"topic": "a", "questions": []string{"?"}}, nil)
	m.tool("research_dispatch_web", "planner", map[string]any{"topic": "b", "questions": []string{"?"}}, nil)
	if len(m.s.WebResearchTasks) != 0 || !strings.Contains(m.last(orchestrator.EvInputIgnored).Data.(orchestrator.InputIgnoredRecord).Reason, "wait") {
		t.Error("more researchers than allowed")
	}
}

// The host was killed before it read that an agent asked for research and ended its turn.
func TestResumeLetsAnAgentWaitForItsResearch(t *testing.T) {
	for name, c := range map[string]struct {
		code, attempts int
	}{
		"ended its turn": {0, 1},
		"crashed":        {1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "quick", nil)
			launch := m.s.Agents["planner"].Launch
			settings := m.s.Settings
			m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartResume, Settings: &settings}})
			m.tool("research_dispatch_code", "planner", map[string]any{"topic": "auth", "questions": []string{"where?"}}, nil)
			researcher := m.s.Agents["code-researcher/auth"].Launch
			m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{Live: []orchestrator.Launch{researcher}, Exited: []orchestrator.AgentReport{
				{Key: "planner", Launch: launch, Condition: orchestrator.AgentDead, ExitCode: &c.code},
			}}})
			if got := m.s.Agents["planner"]; got.Attempt != c.attempts || got.Retries != 0 {
				t.Fatalf("the planner after the resume: %+v", got)
			}
			m.tool("submit_research_done", "code-researcher/auth", map[string]any{"topic": "auth", "type": "code"}, textArtifact("03_research/code-auth/summary.md"))
			if got := m.s.Agents["planner"]; got.Attempt != 2 || got.Launch == "" {
				t.Errorf("the planner after the research: %+v", got)
			}
		})
	}
}
