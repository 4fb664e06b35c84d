// Package substitute says when another provider takes over from the one that an agent waits for. It is
// pure; the reducer decides by it, and who holds a start back asks whether there is something to decide.
package substitute

import "github.com/agentmux/agentmux/orchestrator"

// Of returns the first of the usable providers, or "" while the agent waits on: as long as its wait, from the
// first refusal to the time until which more is refused, is not longer than limits.provider_wait, where 0
// is without end. An agent that waits for an answer needs no provider.
func Of(s *orchestrator.State, key orchestrator.AgentKey, until orchestrator.Time, usable []string) string {
	a, longest := s.Agents[key], s.Settings.ProviderWait.D()
	if s.Paused || s.Ended() || len(usable) == 0 || !a.Limited || a.Waiting != "" || longest <= 0 || until.IsZero() {
		return ""
	}
	if until.Sub(a.LimitedSince.Time) <= longest {
		return ""
	}
	return usable[0]
}
