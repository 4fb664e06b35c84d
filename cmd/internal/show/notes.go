package show

import (
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// SetupNote says that the project's sandbox.setup is not run because it was not allowed; "" if it
// is run or there is none.
func SetupNote(dir string, c *config.Config) string {
	request, open := project.OpenSetup(site.StateHome(), dir, c)
	if !open {
		return ""
	}
	return "sandbox.setup is not run, it is not allowed on this machine yet: " + console.Words(request.Argv) + "; a run at a terminal asks"
}

// setupOf is SetupNote for a session that runs or can continue. s may be nil.
func setupOf(a *site.Finder, s *site.Site, e session.Entry) string {
	if e.State.Ended() && !e.State.Parked() {
		return ""
	}
	project := site.ProjectOf(e)
	if s != nil {
		return SetupNote(project, s.Config)
	}
	c, problems := config.Load(a.Sources(project))
	if problems.Err() != nil {
		return "" // the session continues with what it began with
	}
	return SetupNote(project, c)
}

// agentSettingsOf returns the agent settings that the host of a session found, if the session
// runs or can continue.
func agentSettingsOf(e session.Entry) project.AgentSettings {
	if e.State.Ended() && !e.State.Parked() {
		return project.AgentSettings{}
	}
	return project.FoundAgentSettings(e.Dir)
}
