package main

import (
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

func newSessionsCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "sessions",
		Short:   "List the sessions of this project",
		Example: "  agentmux sessions\n  agentmux sessions --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			project, err := a.ProjectDir()
			if err != nil {
				return err
			}
			entries, err := session.List(project)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(show.ListJSON(entries))
			}
			show.PrintSessions(a, entries)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "machine-readable output")
	return group(groupStart, cmd)
}
