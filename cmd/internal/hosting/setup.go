package hosting

import (
	"context"
	"strings"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// AskSetup shows the person at the terminal the command that the project wants to run in each
// new workspace, and asks whether it may. A command that is not allowed is not run, the session
// continues without it, and the next session asks again.
func AskSetup(ctx context.Context, a *site.Finder, s *site.Site, dir string) error {
	request, open := project.OpenSetup(site.StateHome(), dir, s.Config)
	if !open {
		return nil
	}
	return askCommand(ctx, a, request, "prepare each new workspace with", "before the agents start")
}

// AskTest is AskSetup for the command with which the work of each agent of an agents file is tested.
func AskTest(ctx context.Context, a *site.Finder, s *site.Site, dir string) error {
	request, open := project.OpenTest(site.StateHome(), dir, s.Config)
	if !open {
		return nil
	}
	return askCommand(ctx, a, request, "test the work of each agent with", "in its workspace")
}

func askCommand(ctx context.Context, a *site.Finder, request project.CommandRequest, what, when string) error {
	a.Say("This project names a command to %s (%s):\n\n  %s\n", what, request.Key, console.Words(request.Argv))
	a.Say("It would run as you, %s. Your answer holds for this command in this project.", when)
	yes, err := a.Ask(ctx, "Allow it on this machine?")
	if err != nil || !yes {
		return err
	}
	return request.Allow()
}

// AskAgentSettings names the agent settings of the repository that were found. It asks, once
// for what they hold, before an interactive session loads them.
func AskAgentSettings(ctx context.Context, a *site.Finder, s *site.Site, project *project.Project, base string) error {
	found, err := project.AgentSettings(ctx, s.Config, base, true)
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

// AskAgentSettingsAgain asks for a session that is resumed, which named them when it began.
func AskAgentSettingsAgain(ctx context.Context, a *site.Finder, s *site.Site, e session.Entry) error {
	if s.Config.Agents.ProjectConfig != "base" || e.State == nil || !e.State.Interactive || e.State.BaseSHA == "" {
		return nil
	}
	project, err := s.OpenProject(ctx)
	if err != nil {
		return err
	}
	return AskAgentSettings(ctx, a, s, project, e.State.BaseSHA)
}
