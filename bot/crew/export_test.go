package crew

import (
	"context"
	"time"

	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/tmux"
)

// Server returns the one whose panes the crew uses.
func (r *Crew) Server() *tmux.Server { return r.panes.server }

// LookAtScreen reads the screen of a pane that was silent for a minute when it was listed, and returns the evidence of
// a turn's end.
func (r *Crew) LookAtScreen(ctx context.Context, launch orchestrator.Launch, listed tmux.Pane) (turnEnded string) {
	out := orchestrator.AgentReport{Launch: launch, Silence: orchestrator.Duration(time.Minute)}
	(&observer{Crew: r}).lookAtScreen(ctx, &out, listed, signal.Status{State: signal.Working})
	return out.TurnEnded
}

// Report describes an agent whose pane was listed.
func (r *Crew) Report(ctx context.Context, key orchestrator.AgentKey, launch orchestrator.Launch, listed tmux.Pane) *orchestrator.AgentReport {
	return (&observer{Crew: r}).report(ctx, key, launch, listed, true)
}
