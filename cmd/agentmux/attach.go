package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/cmd/internal/steer"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
	"github.com/spf13/cobra"
)

type attachOptions struct {
	role string
}

func newAttachCmd(a *app) *cobra.Command {
	var o attachOptions
	cmd := &cobra.Command{
		Use:     "attach [S] [ROLE]",
		Short:   "Join a session's tmux; detaching changes nothing",
		Example: "  agentmux attach\n  agentmux attach '#42' coder",
		Args:    cobra.MaximumNArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return runAttach(cmd.Context(), a, args, o) },
	}
	cmd.Flags().StringVar(&o.role, "role", "", "show this agent's window, as `role` or role/task")
	return group(groupStart, cmd)
}

func runAttach(ctx context.Context, a *app, args []string, o attachOptions) error {
	entry, err := steer.FindFor(ctx, a, "attach", args[:min(len(args), 1)], site.Live)
	if exit.As[*session.NotFoundError](err) && len(args) == 1 && slices.Contains(workflows.Roles(), args[0]) {
		return exit.Usage(fmt.Errorf("no session %q; agentmux attach --role %s shows that agent of the only session", args[0], args[0]))
	}
	if err != nil {
		return err
	}
	if len(args) == 2 {
		o.role = args[1]
	}
	if !a.Terminal {
		return exit.UsageText("attach needs a terminal; agentmux status " + entry.Name + " and agentmux logs " + entry.Name + " work without")
	}
	return hosting.Attach(ctx, a, nil, entry, o.role)
}
