package main

import (
	"context"

	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/spf13/cobra"
)

type statusOptions struct{ json bool }

func newStatusCmd(a *app) *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status [S]",
		Short: "Show a session: phase, agents, questions, what to do next",
		Long: `Shows a session: where it is or how it ended and why, who works, what waits for a
person, what keeps it from going on, what it still owes, and what can be done next.
Without S it shows the one that runs, else the newest; where several run, it lists them.`,
		Example: "  agentmux status\n  agentmux status '#42' --json",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runStatus(cmd.Context(), a, args, o) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "machine-readable output, see docs/commands.md")
	return group(groupStart, cmd)
}

func runStatus(ctx context.Context, a *app, args []string, o statusOptions) error {
	entry, running, err := show.Entry(ctx, a, args)
	switch {
	case err != nil:
		return err
	case len(running) > 0 && o.json:
		return a.PrintJSON(show.ListJSON(running))
	case len(running) > 0:
		show.PrintSessions(a, running)
		a.Say("several sessions run; agentmux status NAME shows one")
		return nil
	case entry.Err != nil:
		return entry.Err
	case o.json:
		return a.PrintJSON(show.StatusOf(ctx, a, entry))
	}
	show.PrintStatus(ctx, a, nil, a.Out, entry)
	return nil
}
