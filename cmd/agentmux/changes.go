package main

import (
	"context"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/cmd/internal/steer"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/spf13/cobra"
)

type changesOptions struct {
	session string
}

func newChangesCmd(a *app) *cobra.Command {
	var o changesOptions
	cmd := &cobra.Command{
		Use:     "changes TEXT [S]",
		Short:   "Say what is to be changed at a gate, a park or an open pull request",
		Example: "  agentmux changes 'keep the old flag as an alias' '#42'",
		Args:    cobra.RangeArgs(1, 2),
		RunE:    func(cmd *cobra.Command, args []string) error { return runChanges(cmd.Context(), a, args, o) },
	}
	sessionFlag(cmd, &o.session)
	return group(groupSteer, cmd)
}

func runChanges(ctx context.Context, a *app, args []string, o changesOptions) error {
	s, err := chosen(args[1:], o.session)
	if err != nil {
		return err
	}
	if err := steer.CheckQuoted(ctx, a, args); err != nil {
		return err
	}
	return steer.Give(ctx, a, s, site.Changeable, orchestrator.Payload{
		Name: "changes", Args: orchestrator.CommandArgs{Text: args[0]},
	})
}
