package story

import (
	"fmt"

	"github.com/agentmux/agentmux/orchestrator"
)

// DebtKind says what a session with an outcome still has to do.
type DebtKind string

// Kinds of debts.
const (
	DebtSteps  DebtKind = "steps"  // effects that its end left to do
	DebtGitHub DebtKind = "github" // its end on the issue
	DebtServer DebtKind = "tmux"   // the end of its tmux server, with what still runs in it
	DebtClaim  DebtKind = "claim"  // the claim of its issues
)

// Debt is something that a session with an outcome still has to do. The next host does it.
type Debt struct {
	Kind DebtKind `json:"kind"`
	Text string   `json:"text"`
}

// owed lists what the end of a session left behind, because its host was killed, or because
// GitHub did not take it. A running host still does it, so nothing is owed then.
func owed(s *orchestrator.State, f Facts) []Debt {
	if f.Running || !s.Ended() {
		return nil
	}
	var list []Debt
	if n := len(s.Pending); n > 0 {
		steps := "steps"
		if n == 1 {
			steps = "step"
		}
		list = append(list, Debt{DebtSteps, fmt.Sprintf("%d last %s of its host", n, steps)})
	}
	if f.Unshown {
		text := "GitHub does not show its end yet"
		if f.Trouble != "" {
			text += ": " + f.Trouble
		}
		list = append(list, Debt{DebtGitHub, text})
	}
	if f.Server {
		list = append(list, Debt{DebtServer, "its tmux server still runs"})
	}
	if f.Claimed && s.Phase == orchestrator.PhaseDone { // one that failed is continued under it
		list = append(list, Debt{DebtClaim, "the claim of its issues was not given back"})
	}
	return list
}
