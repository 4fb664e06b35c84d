package main

import (
	"github.com/agentmux/agentmux/cmd/internal/cleanup"
	"github.com/spf13/cobra"
)

func newCleanCmd(a *app) *cobra.Command {
	var o cleanup.Options
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove ended sessions and their workspaces, never running ones",
		Long: `Remove sessions that ended, the oldest first, with their workspaces and what the host repository kept for them, and
what interrupted commands left behind, and directories whose sessions went on elsewhere. Running and parked sessions stay, without
--canceled those that were stopped, which resume goes on with, and without --force those whose end GitHub does not show yet. Work
that is in no branch stays, too: it is kept under a ref, and the ref is named; where that is impossible the session is not removed.
A corrupt session stays; --force ends what agents and tmux server it has left.`,
		Example: "  agentmux clean\n  agentmux clean --older-than 7d --force\n  agentmux clean --max-size '2 GB'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cleanup.Run(cmd.Context(), a, o) },
	}
	cmd.Flags().BoolVar(&o.Force, "force", false, "do not ask, and remove sessions whose end GitHub does not show yet, too")
	cmd.Flags().Var(&o.OlderThan, "older-than", "only sessions that ended this long ago, such as 3d or 36h")
	cmd.Flags().Lookup("older-than").DefValue = "" // any
	cmd.Flags().BoolVar(&o.Canceled, "canceled", false, "sessions that were stopped and could go on, too")
	cmd.Flags().BoolVar(&o.AsJSON, "json", false, "machine-readable output, see docs/commands.md")
	cmd.Flags().StringVar(&o.MaxSize, "max-size", "", "only as many, the oldest first, as leave the sessions of the project this large, such as '2 GB'")
	return group(groupSetup, cmd)
}
