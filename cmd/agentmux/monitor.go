package main

import (
	"context"
	"os"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/monitor"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/steer"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

type monitorOptions struct {
	control bool
}

func newMonitorCmd(a *app) *cobra.Command {
	var o monitorOptions
	cmd := &cobra.Command{
		Use:     "monitor [S]",
		Short:   "Watch a session live and answer its gates and questions",
		Example: "  agentmux monitor '#42'",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runMonitor(cmd.Context(), a, args, o) },
	}
	cmd.Flags().BoolVar(&o.control, "control", false, "this is the window of the session's own tmux")
	_ = cmd.Flags().MarkHidden("control") // it is there
	return group(groupStart, cmd)
}

func runMonitor(ctx context.Context, a *app, args []string, o monitorOptions) error {
	entry, err := a.Find(ctx, args, nil)
	if err != nil {
		return err
	}
	if entry.Err != nil {
		return entry.Err
	}
	if !a.Terminal {
		return exit.UsageText("the monitor needs a terminal; agentmux status " + entry.Name + " works without")
	}
	ctx, stop, attached := hosting.WhileAttached(ctx, entry, o.control)
	defer stop()
	if !attached {
		return nil // tmux starts it again when a terminal attaches
	}
	_, sandbox := a.Sandbox(nil)
	return monitor.Run(ctx, monitor.Options{
		Dir: entry.Dir, Sandbox: sandbox, In: a.In, Out: a.Raw, Shown: a.Shown(), Detach: hosting.Detacher(ctx, entry, o.control),
		Changes: func(s *orchestrator.State) string {
			return show.ChangesText(ctx, a, session.Entry{Name: entry.Name, Dir: entry.Dir, State: s})
		},
		Send: func(p orchestrator.Payload) (string, error) {
			if err := hosting.TypedHere(ctx, entry, o.control); err != nil {
				return "", err
			}
			p.Actor, p.SourceID, p.PID, p.Origin = steer.Actor(), "monitor/"+steer.RandomID(), os.Getpid(), steer.Origin()
			return steer.Send(ctx, a, entry, p, !o.control)
		},
	})
}
