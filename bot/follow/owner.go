package follow

import (
	"context"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/orchestrator"
)

// Owner is who has the sessions of the repository. What it is asked to do may be asked again after
// a kill, and is then as once.
type Owner interface {
	// Pulls returns the open pull requests of sessions that this host may continue.
	Pulls(ctx context.Context) ([]Pull, error)
	// Deliver records a command to the session of a pull request, unless one of its source id is
	// there, and has the session run.
	Deliver(ctx context.Context, p Pull, command orchestrator.Payload) error
	// Tell records a note with a reason, unless one of its source id is there, and has it shown. It
	// means that a person has to decide.
	Tell(ctx context.Context, p Pull, note orchestrator.Payload, reason string) error
}

// Pull is an open pull request of a session.
type Pull struct {
	Number int
	Dir    string // of the session
	Head   string // the commit that the session pushed last; empty: not known
	State  *orchestrator.State
	Rules  config.Followup // of the session's configuration
}
