package main

import (
	"context"
	"fmt"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

type logsOptions struct {
	follow bool
	last   int  // lines; -1: all
	given  bool // how many
}

func newLogsCmd(a *app) *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:     "logs [S]",
		Short:   "Show the log of a session's host",
		Example: "  agentmux logs --follow\n  agentmux logs -n 50",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.given = cmd.Flags().Changed("lines")
			return runLogs(cmd.Context(), a, args, o)
		},
	}
	cmd.Flags().IntVarP(&o.last, "lines", "n", -1, "only the last `N` lines")
	cmd.Flags().Lookup("lines").DefValue = "all"
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on as the log grows, until the host ends")
	return group(groupStart, cmd)
}

func runLogs(ctx context.Context, a *app, args []string, o logsOptions) error {
	if o.given && o.last < 0 {
		return exit.Usage(fmt.Errorf("--lines: expected a number of lines, found %d", o.last))
	}
	entry, err := a.Find(ctx, args, nil)
	if err != nil {
		return err
	}
	s, err := session.Open(entry.Dir)
	if err != nil {
		return err
	}
	return hosting.CopyLog(ctx, a, s, o.last, o.follow)
}
