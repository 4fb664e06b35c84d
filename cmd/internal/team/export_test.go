package team

import (
	"time"

	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Show prints the status of a session.
func Show(a *site.Finder, e session.Entry, of *agents.Team) {
	run{e, of}.status(a.Shown(), time.Now()).print(a)
}

// Ink is how a status is shown.
func Ink(status string) paint.Ink { return AgentJSON{Status: status}.ink() }
