package show

import (
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// SetupNote says that a session's workspaces are not prepared as its project wants; ""
// if they are.
func SetupNote(dir string, c *config.Config) string {
	request, open := project.OpenSetup(site.StateHome(), dir, c)
	if !open {
		return ""
	}
	return "sandbox.setup is not run, nobody has allowed it on this machine: " + console.Words(request.Argv) + "; a run at a terminal asks"
}

// setupOf is SetupNote for a session that still runs or could.
func setupOf(a *site.Finder, e session.Entry) string {
	if e.State.Ended() && !e.State.Parked() {
		return ""
	}
	project := site.ProjectOf(e)
	c, problems := config.Load(a.Sources(project))
	if problems.Err() != nil {
		return "" // the session goes on with what it began with
	}
	return SetupNote(project, c)
}

// agentSettingsOf is what the host of a session that still runs or could has found of agent
// settings.
func agentSettingsOf(e session.Entry) project.AgentSettings {
	if e.State.Ended() && !e.State.Parked() {
		return project.AgentSettings{}
	}
	return project.FoundAgentSettings(e.Dir)
}
