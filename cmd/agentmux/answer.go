package main

import (
	"context"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/cmd/internal/steer"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/spf13/cobra"
)

type answerOptions struct {
	session string
}

func newAnswerCmd(a *app) *cobra.Command {
	var o answerOptions
	cmd := &cobra.Command{
		Use:     "answer [ID] TEXT",
		Short:   "Answer an agent's question; a number picks an option",
		Example: "  agentmux answer 2\n  agentmux answer q1 'use the v2 endpoint' --session '#42'",
		Args:    cobra.RangeArgs(1, 3),
		RunE:    func(cmd *cobra.Command, args []string) error { return runAnswer(cmd.Context(), a, args, o) },
	}
	sessionFlag(cmd, &o.session)
	return group(groupSteer, cmd)
}

func runAnswer(ctx context.Context, a *app, args []string, o answerOptions) error {
	p := orchestrator.Payload{Name: "answer", Args: orchestrator.CommandArgs{Text: args[len(args)-1]}}
	switch len(args) {
	case 2:
		p.Args.ID = args[0]
	case 3: // ID TEXT S
		if err := steer.CheckQuoted(ctx, a, args); err != nil {
			return err
		}
		p.Args.ID, p.Args.Text, o.session = args[0], args[1], args[2]
	}
	return steer.Give(ctx, a, o.session, site.Asking, p)
}
