package main

import (
	"context"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/cmd/internal/steer"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/spf13/cobra"
)

type approveOptions struct {
	exclude []string
	message string
	of      string
	session string
}

func newApproveCmd(a *app) *cobra.Command {
	var o approveOptions
	cmd := &cobra.Command{
		Use:     "approve [S]",
		Short:   "Answer an open gate with yes",
		Example: "  agentmux approve\n  agentmux approve '#42' --exclude tmp/notes.txt --message 'fix: refuse expired tokens'",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runApprove(cmd.Context(), a, args, o) },
	}
	sessionFlag(cmd, &o.session)
	cmd.Flags().StringArrayVar(&o.exclude, "exclude", nil, "leave this `path` out of the commit (repeatable)")
	cmd.Flags().StringVar(&o.message, "message", "", "commit `message`")
	cmd.Flags().StringVar(&o.of, "of", "", "only the plan or tree whose `digest` begins so, as it was shown to you")
	return group(groupSteer, cmd)
}

func runApprove(ctx context.Context, a *app, args []string, o approveOptions) error {
	p := orchestrator.Payload{Name: "approve", Args: orchestrator.CommandArgs{Exclude: o.exclude, Message: o.message, Of: o.of}}
	s, err := chosen(args, o.session)
	if err == nil && len(o.exclude) > 0 {
		err = steer.CheckExcluded(ctx, a, s, o.exclude)
	}
	if err != nil {
		return err
	}
	return steer.Give(ctx, a, s, site.Gated, p)
}
