package main

import (
	"github.com/agentmux/agentmux/cmd/internal/setup"
	"github.com/spf13/cobra"
)

func newInitCmd(a *app) *cobra.Command {
	f := setup.Options{Commit: commit}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Look at this clone and write a small configuration",
		Long: `Looks which coding-agent CLIs are installed, writes .agentmux/config.yaml where
there is none, makes the request label where the token may, and says what it did
and what comes next. What is there already is kept.

At a terminal it asks once whether CLIs that can only work unattended by skipping
every question may do so on this machine. The answer goes into your own
configuration, never into the repository.`,
		Example: "  agentmux init\n  agentmux init --defaults",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return setup.Run(cmd.Context(), a, f) },
	}
	cmd.Flags().BoolVar(&f.Force, "force", false, "replace an existing .agentmux/config.yaml")
	cmd.Flags().BoolVar(&f.Defaults, "defaults", false, "ask nothing")
	cmd.Flags().BoolVar(&f.Actions, "actions", false, "print a workflow for GitHub Actions runners")
	cmd.Flags().BoolVar(&f.Write, "write", false, "with --actions: write the workflow, unless there is one")
	cmd.Flags().BoolVar(&f.Check, "check", false, "with --actions: say what differs from the repository's workflow")
	return group(groupSetup, cmd)
}
