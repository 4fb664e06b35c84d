package main

import (
	"context"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/cmd/internal/steer"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/spf13/cobra"
)

type sayOptions struct {
	role    string
	session string
}

func newSayCmd(a *app) *cobra.Command {
	var o sayOptions
	cmd := &cobra.Command{
		Use:     "say TEXT",
		Short:   "Tell an agent something",
		Example: "  agentmux say 'use the existing retry helper' --role coder",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runSay(cmd.Context(), a, args, o) },
	}
	cmd.Flags().StringVar(&o.role, "role", "", "the agent's `role` (default: the one at work)")
	sessionFlag(cmd, &o.session)
	return group(groupSteer, cmd)
}

func runSay(ctx context.Context, a *app, args []string, o sayOptions) error {
	p := orchestrator.Payload{Name: "say", Args: orchestrator.CommandArgs{Text: args[0], Role: o.role}}
	return steer.Give(ctx, a, o.session, site.Live, p)
}
