package team

import (
	"time"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Show prints the status of a session.
func Show(a *site.Finder, e session.Entry, of *agents.Team) {
	run{e, of}.status(a.Shown(), time.Now()).print(a)
}
