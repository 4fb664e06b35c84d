package duty

import (
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// StandsStill reports whether the limits do not count now: a gate is open, or
// every agent at work waits for an answer, for research or for its provider. A
// pause is not such a wait: it moves all deadlines when it ends.
func StandsStill(def *workflows.Definition, s *orchestrator.State) bool {
	if s.Paused || s.Ended() {
		return false
	}
	if s.Gate != nil {
		return true
	}
	waiting := 0
	for _, o := range Owed(def, s) {
		if Researches(o.Role) {
			continue
		}
		if !Idles(s, o.Key()) {
			return false
		}
		waiting++
	}
	return waiting > 0
}
