package main

import (
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

func newAttachCmd(a *app) *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use:     "attach [S] [ROLE]",
		Short:   "Join a session's tmux; detaching changes nothing",
		Example: "  agentmux attach\n  agentmux attach '#42' coder",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, err := steer.FindFor(cmd.Context(), a, "attach", args[:min(len(args), 1)], site.Live)
			if exit.As[*session.NotFoundError](err) && len(args) == 1 && slices.Contains(workflows.Roles(), args[0]) {
				return exit.Usage(fmt.Errorf("no session %q; agentmux attach --role %s shows that agent of the only session", args[0], args[0]))
			}
			if err != nil {
				return err
			}
			if len(args) == 2 {
				role = args[1]
			}
			if !a.Terminal {
				return exit.UsageText("attach needs a terminal; agentmux status " + entry.Name + " and agentmux logs " + entry.Name + " work without")
			}
			return hosting.Attach(cmd.Context(), a, entry, role)
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "show this agent's window, as `role` or role/task")
	return group(groupStart, cmd)
}

func newLogsCmd(a *app) *cobra.Command {
	var follow bool
	last := -1
	cmd := &cobra.Command{
		Use:     "logs [S]",
		Short:   "Show the log of a session's host",
		Example: "  agentmux logs --follow\n  agentmux logs -n 50",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("lines") && last < 0 {
				return exit.Usage(fmt.Errorf("--lines: expected a number of lines, found %d", last))
			}
			entry, err := a.Find(args, nil)
			if err != nil {
				return err
			}
			s, err := session.Open(entry.Dir)
			if err != nil {
				return err
			}
			return hosting.CopyLog(cmd.Context(), a, s, last, follow)
		},
	}
	cmd.Flags().IntVarP(&last, "lines", "n", -1, "only the last `N` lines")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on as the log grows, until the host ends")
	return group(groupStart, cmd)
}
