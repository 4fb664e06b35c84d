package post

import "github.com/agentmux/agentmux/orchestrator"

// Withheld says why no message that is queued is delivered now; "" where the session delivers them. A run
// that failed or was stopped keeps them, since it may continue: only the end of a session that is done
// makes orphans of them.
func Withheld(s *orchestrator.State) string {
	switch {
	case s.Phase == orchestrator.PhaseDone:
		return "the session has ended"
	case s.Ended():
		return "the session has ended (" + string(s.Outcome) + "); it is delivered if the session continues"
	case s.Paused:
		return "the session is paused"
	}
	return ""
}

// Undelivered is how many messages wait for agents and are withheld, and why.
func Undelivered(s *orchestrator.State) (n int, why string) {
	if why = Withheld(s); why == "" {
		return 0, ""
	}
	for _, m := range s.Messages {
		if m.State == orchestrator.MessageQueued {
			n++
		}
	}
	return n, why
}
