package main

import (
	"context"

	"github.com/agentmux/agentmux/cmd/internal/demo"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/spf13/cobra"
)

type demoOptions struct {
	agents bool
	mesh   bool
	fast   bool
	keep   bool
	serve  bool
}

func newDemoCmd(a *app) *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:     "demo",
		Short:   "Show the bot at work: no token, no model, less than a minute",
		Example: "  agentmux demo\n  agentmux demo --agents\n  agentmux demo --mesh\n  agentmux demo --keep",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), a, o) },
	}
	cmd.Flags().BoolVar(&o.agents, "agents", false, "show an agents file at work instead: one agent fails and gets another try")
	cmd.Flags().BoolVar(&o.mesh, "mesh", false, "show agents that write to one another instead: one message is refused, one asks the person")
	cmd.Flags().BoolVar(&o.fast, "fast", false, "make no pauses")
	cmd.Flags().BoolVar(&o.keep, "keep", false, "keep the directory and say how to look around")
	cmd.Flags().BoolVar(&o.serve, "serve", false, "serve the fake GitHub (internal)")
	_ = cmd.Flags().MarkHidden("serve") // the flag exists
	return group(groupSetup, cmd)
}

func runDemo(ctx context.Context, a *app, o demoOptions) error {
	if o.serve {
		return demo.Serve(ctx, a.In, a.Raw)
	}
	if o.agents && o.mesh {
		return exit.UsageText("--agents and --mesh exclude each other")
	}
	own, err := site.Self()
	if err != nil {
		return err
	}
	play := demo.Run
	if o.agents {
		play = demo.RunAgents
	}
	if o.mesh {
		play = demo.RunMesh
	}
	return play(ctx, demo.Options{Self: own, Out: a.Raw, Fast: o.fast, Keep: o.keep})
}
