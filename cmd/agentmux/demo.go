package main

import (
	"github.com/agentmux/agentmux/cmd/internal/demo"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/spf13/cobra"
)

func newDemoCmd(a *app) *cobra.Command {
	var fast, keep, serve bool
	cmd := &cobra.Command{
		Use:     "demo",
		Short:   "Show a whole run: no token, no model, about a minute",
		Example: "  agentmux demo\n  agentmux demo --keep",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if serve {
				return demo.Serve(cmd.Context(), a.In, a.Raw)
			}
			own, err := site.Self()
			if err != nil {
				return err
			}
			return demo.Run(cmd.Context(), demo.Options{Self: own, Out: a.Raw, Fast: fast, Keep: keep})
		},
	}
	cmd.Flags().BoolVar(&fast, "fast", false, "make no pauses")
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the directory and say how to look around")
	cmd.Flags().BoolVar(&serve, "serve", false, "serve the fake GitHub (internal)")
	_ = cmd.Flags().MarkHidden("serve") // the flag exists
	return group(groupSetup, cmd)
}
