package main

import (
	"github.com/agentmux/agentmux/cmd/internal/start"
	"github.com/spf13/cobra"
)

func newRunCmd(a *app) *cobra.Command {
	f := &start.Options{}
	cmd := &cobra.Command{
		Use:     "run \"PROMPT\" | FILE.md",
		Short:   "Work on a request without an issue",
		Example: "  agentmux run 'Refuse expired tokens with a clear message'\n  agentmux run feature.md --headless\n  agentmux run feature.md --dry-run",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return start.Text(cmd.Context(), a, args[0], f) },
	}
	addStartFlags(cmd, f)
	return group(groupStart, cmd)
}
