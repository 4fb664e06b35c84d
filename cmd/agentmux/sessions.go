package main

import (
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

type sessionsOptions struct {
	json bool
}

func newSessionsCmd(a *app) *cobra.Command {
	var o sessionsOptions
	cmd := &cobra.Command{
		Use:     "sessions",
		Short:   "List the sessions of this project",
		Example: "  agentmux sessions\n  agentmux sessions --json",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runSessions(a, o) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "machine-readable output")
	return group(groupStart, cmd)
}

func runSessions(a *app, o sessionsOptions) error {
	project, err := a.ProjectDir()
	if err != nil {
		return err
	}
	entries, err := session.List(project)
	if err != nil {
		return err
	}
	if o.json {
		return a.PrintJSON(show.ListJSON(entries))
	}
	show.PrintSessions(a, entries)
	return nil
}
