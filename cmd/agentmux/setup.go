package main

import (
	"context"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// askSetup shows the person at the terminal the command that the project wants to have
// run in each new workspace. It asks until it is allowed; without that the command is not
// run, and the session goes on.
func askSetup(ctx context.Context, a *app, s *site.Site, project string) error {
	request, open := host.OpenSetup(site.StateHome(), project, s.Config)
	if !open {
		return nil
	}
	a.Say("This project names a command to prepare each new workspace with (sandbox.setup):\n\n  %s\n", console.Words(request.Argv))
	a.Say("It would run as you, before the agents start. Your answer holds for this command in this project.")
	yes, err := a.Ask(ctx, "Allow it on this machine?")
	if err != nil || !yes {
		return err
	}
	return request.Allow()
}

// setupNote says that a session's workspaces are not prepared as its project wants; ""
// if they are.
func setupNote(project string, c *config.Config) string {
	request, open := host.OpenSetup(site.StateHome(), project, c)
	if !open {
		return ""
	}
	return "sandbox.setup is not run, nobody has allowed it on this machine: " + console.Words(request.Argv) + "; a run at a terminal asks"
}

// setupOf is setupNote for a session that still runs or could.
func setupOf(a *app, e session.Entry) string {
	if e.State.Ended() && !e.State.Parked() {
		return ""
	}
	project := site.ProjectOf(e)
	c, problems := config.Load(a.Sources(project))
	if problems.Err() != nil {
		return "" // the session goes on with what it began with
	}
	return setupNote(project, c)
}

// askAgentSettings names the agent settings of the repository that were found. It asks, once
// for what they hold, before an interactive session loads them.
func askAgentSettings(ctx context.Context, a *app, s *site.Site, project *host.Project, base string) error {
	found, err := s.Host.AgentSettings(ctx, s.Config, project, base, true)
	if err != nil {
		return err
	}
	if !found.Open() {
		if note := found.Note(); note != "" {
			a.Say("%s", note)
		}
		return nil
	}
	a.Say("Your configuration loads the agent settings of this repository's base commit (agents.project_config):\n\n  %s\n", strings.Join(found.Paths, "\n  "))
	a.Say("Hooks and tool servers in them run as you. Your answer holds for them as they are now, in this project.")
	yes, err := a.Ask(ctx, "Load them on this machine?")
	if err != nil || !yes {
		return err
	}
	return found.Allow()
}

// askAgentSettingsAgain asks for a session that goes on, which named them when it began.
func askAgentSettingsAgain(ctx context.Context, a *app, s *site.Site, e session.Entry) error {
	if s.Config.Agents.ProjectConfig != "base" || e.State == nil || !e.State.Interactive || e.State.BaseSHA == "" {
		return nil
	}
	project, err := s.Host.Project(ctx, site.ProjectOf(e), s.Config)
	if err != nil {
		return err
	}
	return askAgentSettings(ctx, a, s, project, e.State.BaseSHA)
}

// agentSettingsOf is what the host of a session that still runs or could has found of agent
// settings.
func agentSettingsOf(e session.Entry) host.AgentSettings {
	if e.State.Ended() && !e.State.Parked() {
		return host.AgentSettings{}
	}
	return host.FoundAgentSettings(e.Dir)
}
