package main

import (
	"context"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

type sessionsOptions struct {
	json bool
	all  bool
}

func newSessionsCmd(a *app) *cobra.Command {
	var o sessionsOptions
	cmd := &cobra.Command{
		Use:     "sessions",
		Short:   "List the sessions of this project",
		Example: "  agentmux sessions\n  agentmux sessions --all\n  agentmux sessions --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSessions(cmd.Context(), a, o) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "machine-readable output")
	cmd.Flags().BoolVar(&o.all, "all", false, "also those of the bot of this machine, in all repositories, and what waits for a slot")
	return group(groupStart, cmd)
}

func runSessions(ctx context.Context, a *app, o sessionsOptions) error {
	if o.all {
		entries, queue, err := a.Everything(ctx)
		switch {
		case err != nil:
			return err
		case o.json:
			return a.PrintJSON(show.ListEverything(entries, queue))
		}
		show.PrintEverything(a, entries, queue, time.Now())
		return nil
	}
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
