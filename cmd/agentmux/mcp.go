package main

import (
	"os"

	"github.com/agentmux/agentmux/orchestrator/mcp"
	"github.com/spf13/cobra"
)

func newMCPCmd(a *app) *cobra.Command {
	f := &callerFlags{}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an agent's tools over the Model Context Protocol on standard input and output",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			who, err := f.caller(cmd.Context(), a)
			if err != nil {
				return err
			}
			return mcp.Serve(cmd.Context(), who, version, os.Stdin, os.Stdout)
		},
	}
	f.add(cmd)
	return hidden(cmd)
}
