package main

import (
	"github.com/agentmux/agentmux/cmd/internal/team"
	"github.com/spf13/cobra"
)

func newAgentsCmd(a *app) *cobra.Command {
	cmd := group(groupSetup, &cobra.Command{
		Use: "agents", Short: "Write an agents file: several agents of one run", Args: unknownCommand, RunE: needsSubcommand,
		Example: "  agentmux agents init",
	})
	var o team.Options
	init := &cobra.Command{
		Use:   "init",
		Short: "Write .dmux-agents.yml from your answers, or from issues",
		Long: `Asks for the session, the parent of the worktrees and a pane for you, then for each
agent its name, role, branch, task and the agents it waits for, and writes
.dmux-agents.yml. With --from-issue it asks nothing: each issue becomes an agent.
A file that is there is kept.`,
		Example: "  agentmux agents init\n  agentmux agents init --from-issue 12,15",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return team.Init(cmd.Context(), a, o) },
	}
	init.Flags().StringSliceVar(&o.Issues, "from-issue", nil, "an agent for each of these issues: `N,N`")
	init.Flags().BoolVar(&o.Force, "force", false, "replace an existing .dmux-agents.yml")
	cmd.AddCommand(init)
	return cmd
}
