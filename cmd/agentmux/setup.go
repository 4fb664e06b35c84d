package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// askSetup shows the person at the terminal the command that the project wants to have
// run in each new workspace. It asks until it is allowed; without that the command is not
// run, and the session goes on.
func (a *app) askSetup(ctx context.Context, s *site, dir string) error {
	request, open := project.OpenSetup(stateHome(), dir, s.config)
	if !open {
		return nil
	}
	a.say("This project names a command to prepare each new workspace with (sandbox.setup):\n\n  %s\n", words(request.Argv))
	a.say("It would run as you, before the agents start. Your answer holds for this command in this project.")
	yes, err := a.ask(ctx, "Allow it on this machine?")
	if err != nil || !yes {
		return err
	}
	return request.Allow()
}

// setupNote says that a session's workspaces are not prepared as its project wants; ""
// if they are.
func setupNote(dir string, c *config.Config) string {
	request, open := project.OpenSetup(stateHome(), dir, c)
	if !open {
		return ""
	}
	return "sandbox.setup is not run, nobody has allowed it on this machine: " + words(request.Argv) + "; a run at a terminal asks"
}

// setupOf is setupNote for a session that still runs or could.
func (a *app) setupOf(e session.Entry) string {
	if e.State.Ended() && !e.State.Parked() {
		return ""
	}
	project := projectOf(e)
	c, problems := config.Load(a.sources(project))
	if problems.Err() != nil {
		return "" // the session goes on with what it began with
	}
	return setupNote(project, c)
}

// askAgentSettings names the agent settings of the repository that were found. It asks, once
// for what they hold, before an interactive session loads them.
func (a *app) askAgentSettings(ctx context.Context, s *site, project *project.Project, base string) error {
	found, err := project.AgentSettings(ctx, s.config, base, true)
	if err != nil {
		return err
	}
	if !found.Open() {
		if note := found.Note(); note != "" {
			a.say("%s", note)
		}
		return nil
	}
	a.say("Your configuration loads the agent settings of this repository's base commit (agents.project_config):\n\n  %s\n", strings.Join(found.Paths, "\n  "))
	a.say("Hooks and tool servers in them run as you. Your answer holds for them as they are now, in this project.")
	yes, err := a.ask(ctx, "Load them on this machine?")
	if err != nil || !yes {
		return err
	}
	return found.Allow()
}

// askAgentSettingsAgain asks for a session that goes on, which named them when it began.
func (a *app) askAgentSettingsAgain(ctx context.Context, s *site, e session.Entry) error {
	if s.config.Agents.ProjectConfig != "base" || e.State == nil || !e.State.Interactive || e.State.BaseSHA == "" {
		return nil
	}
	project, err := s.host.Project(ctx, projectOf(e), s.config)
	if err != nil {
		return err
	}
	return a.askAgentSettings(ctx, s, project, e.State.BaseSHA)
}

// agentSettingsOf is what the host of a session that still runs or could has found of agent
// settings.
func agentSettingsOf(e session.Entry) project.AgentSettings {
	if e.State.Ended() && !e.State.Parked() {
		return project.AgentSettings{}
	}
	return project.FoundAgentSettings(e.Dir)
}

// words shows a command as it would be typed, with nothing a terminal obeys.
func words(argv []string) string {
	quoted := make([]string, len(argv))
	for i, word := range argv {
		if quoted[i] = fmt.Sprintf("%q", word); quoted[i] == `"`+word+`"` && word != "" && !strings.ContainsAny(word, " \t*?;&|<>()'`$~#!") {
			quoted[i] = word
		}
	}
	return strings.Join(quoted, " ")
}
