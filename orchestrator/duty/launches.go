package duty

import "github.com/agentmux/agentmux/orchestrator"

// Launches returns the launches that should have a pane, by agent key.
func Launches(s *orchestrator.State) map[orchestrator.AgentKey]orchestrator.Launch {
	expected := map[orchestrator.AgentKey]orchestrator.Launch{}
	for key, a := range s.Agents {
		if a.Launch != "" {
			expected[key] = a.Launch
		}
	}
	for _, e := range s.Pending {
		if e.Type == orchestrator.EffStartAgent {
			delete(expected, orchestrator.KeyOf(e.Args.Role, e.Args.Task))
		}
	}
	return expected
}
